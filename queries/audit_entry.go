package queries

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// auditMark is the place of an entry in the trail: by time, then by position.
type auditMark struct {
	time     int64 // Unix microseconds
	position int64
}

// String is the cursor of the page after the entry.
func (m auditMark) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", m.time, m.position))
}

// before returns the mark that the first entry of f's page comes before.
func (f AuditFilter) before() (auditMark, error) {
	m := auditMark{math.MaxInt64, math.MaxInt64}
	if f.Cursor != "" {
		b, err := base64.RawURLEncoding.DecodeString(f.Cursor)
		if err == nil {
			_, err = fmt.Sscanf(string(b), "%d.%d", &m.time, &m.position)
		}
		if err != nil {
			return m, fault.Errorf(fault.Invalid, "cursor must come from a Link header of this listing")
		}
	}
	if to := f.To.UnixMicro(); !f.To.IsZero() && to <= m.time {
		m = auditMark{time: to} // no position is below 0
	}
	return m, nil
}

// auditSearch is a search in the trail: the first arguments are the mark that
// it begins before and the most rows, those of its conditions follow.
type auditSearch struct {
	where string
	args  []any
}

// and adds a condition on a value.
func (s *auditSearch) and(condition string, value any) {
	s.args = append(s.args, value)
	s.where += fmt.Sprintf(" AND "+condition, len(s.args))
}

const (
	newestFirst = ` ORDER BY e.time DESC, e.position DESC LIMIT `
	limited     = `CAST($3 AS INTEGER)`
)

// positions selects those of the newest entries, for which one more condition
// holds.
func (s *auditSearch) positions(condition, limit string) string {
	return `SELECT e.position FROM entries e WHERE (e.time, e.position) < ($1, $2)` + s.where + condition + newestFirst + limit
}

// everywhere is the search in the whole trail.
func (s *auditSearch) everywhere() string {
	return auditColumns + `FROM entries e WHERE e.position IN (` + s.positions("", limited) + `)` + newestFirst + limited
}

// inPlaces is the search in some places, however many they are: a page's
// entries are all in those few places that have the newest.
func (s *auditSearch) inPlaces(places []string) string {
	list, err := json.Marshal(places)
	if err != nil {
		panic("queries: a list of strings cannot be encoded: " + err.Error())
	}
	s.args = append(s.args, string(list))
	return fmt.Sprintf(`WITH newest (place) AS MATERIALIZED (SELECT k.value FROM json_each($%d) k CROSS JOIN entries e WHERE e.position = (`, len(s.args)) +
		s.positions(` AND e.place = k.value`, "1") + `)` + newestFirst + limited + `) ` +
		auditColumns + `FROM newest k CROSS JOIN entries e WHERE e.position IN (` + s.positions(` AND e.place = k.place`, limited) + `)` + newestFirst + limited
}

// auditRow is an entry as the tables hold it.
type auditRow struct {
	auditMark
	id, kind, actor, via, correlation, thing string
	name, oldName, parent, oldParent, detail string
	file                                     int
	parentName, oldParentName                string
	top                                      bool // it lay at the top level after the event
}

func (r *auditRow) fields() []any {
	return []any{&r.time, &r.position, &r.id, &r.kind, &r.actor, &r.via, &r.correlation, &r.thing, &r.name, &r.oldName, &r.parent, &r.oldParent, &r.detail, &r.file,
		&r.parentName, &r.oldParentName}
}

// auditColumns name the folders around a thing as they were called then.
var auditColumns = `SELECT e.time, e.position, e.id, e.type, e.actor, e.via, e.correlation, e.thing, e.name, e.old_name, e.parent, e.old_parent, e.detail, e.file, ` +
	nameThen("e.parent") + `, ` + nameThen("e.old_parent") + ` `

func nameThen(folder string) string {
	return `coalesce((SELECT f.name FROM entries f WHERE f.thing = 'folder-' || ` + folder + ` AND f.position <= e.position ORDER BY f.position DESC LIMIT 1), '')`
}

// entries makes of rows what the user is told.
func (t *trail) entries(ctx context.Context, rows []auditRow) ([]AuditEntry, error) {
	entries := make([]AuditEntry, 0, len(rows))
	for _, r := range rows {
		if r.kind == "FileFailed" {
			if err := t.nameFile(ctx, &r); err != nil {
				return nil, err
			}
		}
		r.top = r.parent == ""
		if !t.owns(r.parent) {
			r.parent, r.parentName = "", ""
		}
		if !t.owns(r.oldParent) {
			r.oldParent, r.oldParentName = "", ""
		}
		e, err := r.entry()
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// nameFile looks up what a job's file is called.
func (t *trail) nameFile(ctx context.Context, r *auditRow) error {
	jobs := t.queries.Models.Jobs
	if err := t.queries.await(ctx, jobs, events.Position(r.position)); err != nil {
		return err
	}
	job := strings.TrimPrefix(r.thing, "job-")
	return jobs.DB().QueryRowContext(ctx, `SELECT coalesce((SELECT name FROM files WHERE job = $1 AND file = $2), '')`, job, r.file).Scan(&r.name)
}

func (r *auditRow) entry() (AuditEntry, error) {
	e := AuditEntry{
		Time: time.UnixMicro(r.time).UTC(), Actor: events.Principal(r.actor), Via: r.via, Correlation: r.correlation, Type: r.kind, What: r.words(),
	}
	kind, text, _ := strings.Cut(r.thing, "-")
	id, err := uuid.Parse(text)
	if err == nil {
		e.ID, err = uuid.Parse(r.id)
	}
	if err != nil {
		return e, err
	}
	switch kind {
	case "document":
		e.Document, e.Name = id, r.name
		if r.parent != "" {
			e.FolderName = r.parentName
			e.Folder, err = uuid.Parse(r.parent)
		}
	case "folder":
		e.Folder, e.FolderName = id, r.name
	case "job":
		e.Job = id
	}
	return e, err
}
