package audit

import (
	"encoding/json"
	"fmt"
)

// changeQuery builds a query of the trail. Its first arguments are the mark before
// which it starts and the maximum number of rows. The arguments of the conditions
// follow.
type changeQuery struct {
	where string
	args  []any
}

// and adds a condition on a value.
func (s *changeQuery) and(condition string, value any) {
	s.args = append(s.args, value)
	s.where += fmt.Sprintf(" AND "+condition, len(s.args))
}

const (
	newestFirst = ` ORDER BY e.time DESC, e.position DESC LIMIT `
	limited     = `CAST($3 AS INTEGER)`
)

// positions selects the positions of the newest entries that also meet another
// condition.
func (s *changeQuery) positions(condition, limit string) string {
	return `SELECT e.position FROM entries e WHERE (e.time, e.position) < ($1, $2)` + s.where + condition + newestFirst + limit
}

// everywhere searches the whole trail.
func (s *changeQuery) everywhere() string {
	return columns + `FROM entries e WHERE e.position IN (` + s.positions("", limited) + `)` + newestFirst + limited
}

// inPlaces searches any number of places. It first finds the few places with the newest
// entries, because all entries of the page are in them.
func (s *changeQuery) inPlaces(places []string) string {
	list, err := json.Marshal(places)
	if err != nil {
		panic("queries: encode a list of strings: " + err.Error())
	}
	s.args = append(s.args, string(list))
	return fmt.Sprintf(`WITH newest (place) AS MATERIALIZED (SELECT k.value FROM json_each($%d) k CROSS JOIN entries e WHERE e.position = (`, len(s.args)) +
		s.positions(` AND e.place = k.value`, "1") + `)` + newestFirst + limited + `) ` +
		columns + `FROM newest k CROSS JOIN entries e WHERE e.position IN (` + s.positions(` AND e.place = k.place`, limited) + `)` + newestFirst + limited
}

// columns selects an entry, with the names that its folders had at the time.
var columns = `SELECT e.time, e.position, e.id, e.type, e.actor, e.via, e.correlation, e.thing, e.name, e.old_name, e.parent, e.old_parent, e.detail, e.file, ` +
	nameThen("e.parent") + `, ` + nameThen("e.old_parent") + ` `

// nameThen selects the name of a folder at the time of the entry.
func nameThen(folder string) string {
	return `coalesce((SELECT f.name FROM entries f WHERE f.thing = 'folder-' || ` + folder + ` AND f.position <= e.position ORDER BY f.position DESC LIMIT 1), '')`
}
