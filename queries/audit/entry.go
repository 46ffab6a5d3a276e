package audit

import (
	"context"
	"strings"
	"time"

	"annals/events"

	"github.com/google/uuid"
)

// row is an entry as stored in the tables.
type row struct {
	changeMark
	id, kind, actor, via, correlation, thing string
	name, oldName, parent, oldParent, detail string
	file                                     int
	parentName, oldParentName                string
	top                                      bool   // it was at the top level after the event
	restored                                 string // document that a job restored; "" if it has not
}

func (r *row) fields() []any {
	return []any{&r.time, &r.position, &r.id, &r.kind, &r.actor, &r.via, &r.correlation, &r.thing, &r.name, &r.oldName, &r.parent, &r.oldParent, &r.detail, &r.file,
		&r.parentName, &r.oldParentName}
}

// entries converts rows to entries. It leaves out names that the user may not see.
func (t *trail) entries(ctx context.Context, rows []row) ([]Entry, error) {
	entries := make([]Entry, 0, len(rows))
	for _, r := range rows {
		if _, restore := events.RestoredIn(r.via); r.kind == "FileFailed" || restore && strings.HasPrefix(r.thing, "job-") {
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

// nameFile looks up the name of a job's file, and the document that it became if the job
// restores a document.
func (t *trail) nameFile(ctx context.Context, r *row) error {
	jobs := t.queries.Models.Jobs
	if err := t.queries.Models.Await(ctx, jobs, events.Position(r.position)); err != nil {
		return err
	}
	job := strings.TrimPrefix(r.thing, "job-")
	return jobs.DB().QueryRowContext(ctx, `SELECT coalesce(max(name), ''), coalesce(max(document), '') FROM files WHERE job = $1 AND file = $2`, job, max(0, r.file)).Scan(&r.name, &r.restored)
}

func (r *row) entry() (Entry, error) {
	e := Entry{
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
