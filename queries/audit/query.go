package audit

import (
	"encoding/json"
	"fmt"
)

// changeQuery builds an SQL query for changes. Its first arguments are the time and log
// position that the changes must precede, and the maximum number of rows. The arguments
// of the conditions follow.
type changeQuery struct {
	where string
	args  []any
}

// and adds a condition, in which %d is the number of the parameter for value.
func (s *changeQuery) and(condition string, value any) {
	s.args = append(s.args, value)
	s.where += fmt.Sprintf(" AND "+condition, len(s.args))
}

const (
	newestFirst = ` ORDER BY e.time DESC, e.position DESC LIMIT `
	limited     = `CAST($3 AS INTEGER)`
)

// positions selects the positions of the newest entries that meet all conditions added
// so far and the given one.
func (s *changeQuery) positions(condition, limit string) string {
	return `SELECT e.position FROM entries e WHERE (e.time, e.position) < ($1, $2)` + s.where + condition + newestFirst + limit
}

// everywhere returns the query over the whole trail.
func (s *changeQuery) everywhere() string {
	return columns + `FROM entries e WHERE e.position IN (` + s.positions("", limited) + `)` + newestFirst + limited
}

// inPlaces returns the query over the given places. It first finds the few places with
// the newest entries, because only these can have entries of the page.
func (s *changeQuery) inPlaces(places []string) string {
	s.args = append(s.args, jsonList(places))
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

// jsonList returns a list as JSON.
func jsonList(list []string) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic("queries: encode a list of strings: " + err.Error())
	}
	return string(b)
}
