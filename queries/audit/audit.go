// Package audit reads the audit trail: changes by users, from the audit read model,
// and accesses, from the records of package accesslog. It imports
// projections, events, queries/access, queries/accesslog, queries/freshness and
// queries/vault.
package audit

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/queries/access"
	"annals/queries/accesslog"
	"annals/queries/freshness"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// Auditor reads the audit trail. Its methods are safe for concurrent use.
type Auditor struct {
	Models   *freshness.Models
	Accesses *accesslog.Log // sign-ins, refusals and reads; nil if none are recorded
}

// Filter chooses entries of the audit trail.
type Filter struct {
	Document *uuid.UUID
	Folder   *uuid.UUID // this folder and everything below it
	Actor    events.Principal
	From, To time.Time // From inclusive, To exclusive; zero means unbounded
	Limit    int       // page size; 0 means 100
	Cursor   string    // returned with the previous page; "" for the first page
	Kind     Kind      // "" is Changes
}

// Entry is one action of a user, with names as of that time. The id and name of a
// folder that the caller does not own are left out, unless the entry is the caller's
// own reply to an invitation.
type Entry struct {
	ID          uuid.UUID // of the event
	Time        time.Time
	Actor       events.Principal
	Via         string // the interface that was called, such as "tools"
	Correlation string // id of the request
	Type        string // of the event
	What        string // sentence in plain words, without its subject, the actor
	Document    uuid.UUID
	Name        string    // the document's
	Folder      uuid.UUID // the folder concerned, or the document's folder afterwards
	FolderName  string
	Job         uuid.UUID
	Address     string // the client's address; only for accesses
	Count       int    // number of equal accesses; 0 for changes
}

const defaultPageSize = 100

// Audit returns a page of entries, the newest first, and the cursor of the next page, ""
// at the end. Administrators see everything. Other users see the entries of folders that
// they own now, with all current and deleted contents, the entries of their own jobs,
// and their own replies to invitations. If f names a document or folder that the user
// does not own, the error is fault.Forbidden if the user may read that document or
// folder, otherwise fault.NotFound.
func (q *Auditor) Audit(ctx context.Context, user events.User, f Filter) (entries []Entry, next string, err error) {
	if f.Kind != "" && f.Kind != Changes {
		return q.auditAccess(ctx, user, f)
	}
	before, err := f.before()
	if err != nil {
		return nil, "", err
	}
	t, err := q.trail(ctx, user)
	if err != nil {
		return nil, "", err
	}
	limit := cmp.Or(f.Limit, defaultPageSize)
	rows, err := t.rows(ctx, f, before, limit+1) // one more, to detect a next page
	if err != nil {
		return nil, "", err
	}
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].changeMark.String()
	}
	entries, err = t.entries(ctx, rows)
	return entries, next, freshness.Wrap(err, "audit trail")
}

// trail reads the audit trail for one user.
type trail struct {
	*access.Viewer
	queries *Auditor
	owned   map[string]bool // ids of all folders that the user owns, deleted ones too; not used for an administrator
}

func (q *Auditor) trail(ctx context.Context, user events.User) (*trail, error) {
	v, err := access.New(ctx, q.Models, user)
	if err != nil {
		return nil, err
	}
	t := &trail{Viewer: v, queries: q, owned: make(map[string]bool)}
	if user.Admin {
		return t, nil
	}
	folders, err := projections.Column(ctx, v.DB, `WITH RECURSIVE own (id) AS (
			SELECT folder FROM permissions WHERE access = $1 AND principal IN (SELECT value FROM json_each($2))
			UNION SELECT f.id FROM own CROSS JOIN folders f WHERE f.parent = own.id)
		SELECT id FROM own`, int(events.Own), v.Principals)
	for _, id := range folders {
		t.owned[id] = true
	}
	return t, freshness.Wrap(err, "folders of "+string(user.Principal))
}

func (t *trail) owns(folder string) bool { return t.User.Admin || t.owned[folder] }

// catchUp waits until the audit trail has passed the vault's position. Call it after
// reading from the vault which folders the user owns, and before reading their entries
// from the trail. Otherwise the trail could still list a document that was moved out of
// a folder before the user became owner of that folder.
func (t *trail) catchUp(ctx context.Context) error {
	at, err := freshness.Passed(ctx, t.queries.Models.Vault)
	if err != nil {
		return err
	}
	return t.queries.Models.Await(ctx, t.queries.Models.Audit, at)
}

// rows reads the entries older than before that match f and that the user may see.
func (t *trail) rows(ctx context.Context, f Filter, before changeMark, limit int) ([]row, error) {
	query, args, err := t.query(ctx, f, before, limit)
	if query == "" || err != nil {
		return nil, err
	}
	rows, err := projections.List(ctx, t.queries.Models.Audit.DB(), (*row).fields, query, args...)
	if err == nil {
		rows, err = t.withReplies(ctx, rows, f, before, limit)
	}
	return rows, freshness.Wrap(err, "audit trail")
}

// withReplies adds the user's own replies to invitations to rows. They belong to
// folders of other owners.
func (t *trail) withReplies(ctx context.Context, rows []row, f Filter, before changeMark, limit int) ([]row, error) {
	if t.User.Admin || f.Document != nil || f.Folder != nil || f.Actor != "" && f.Actor != t.User.Principal {
		return rows, nil
	}
	search := changeQuery{args: []any{before.time, before.position, limit}}
	search.and(`e.actor = $%d AND e.type IN ('FolderInvitationAccepted', 'FolderLeft')`, string(t.User.Principal))
	if !f.From.IsZero() {
		search.and(`e.time >= $%d`, f.From.UnixMicro())
	}
	own, err := projections.List(ctx, t.queries.Models.Audit.DB(), (*row).fields, search.everywhere(), search.args...)
	if err != nil {
		return nil, err
	}
	for _, r := range own {
		if !slices.ContainsFunc(rows, func(other row) bool { return other.position == r.position }) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(b.position, a.position))
	})
	return rows[:min(len(rows), limit)], nil
}

// query returns the SQL query of rows, "" if its result would be empty.
func (t *trail) query(ctx context.Context, f Filter, before changeMark, limit int) (query string, args []any, err error) {
	places, err := t.places(ctx, f.Folder)
	if err == nil {
		err = t.catchUp(ctx)
	}
	if err != nil {
		return "", nil, err
	}
	search := changeQuery{args: []any{before.time, before.position, limit}}
	byActor := `e.actor = $%d`
	if f.Document != nil {
		byActor = `e.actor || '' = $%d` // || '' prevents use of the index: most entries may be by this actor
		place, err := t.placeOf(ctx, *f.Document)
		if err != nil || f.Folder != nil && !slices.Contains(places, place) {
			return "", nil, err
		}
		search.and(`e.thing IN (SELECT value FROM json_each($%d))`, aboutDocument(*f.Document))
	}
	if f.Actor != "" {
		search.and(byActor, string(f.Actor))
	}
	if !f.From.IsZero() {
		search.and(`e.time >= $%d`, f.From.UnixMicro())
	}
	if f.Document != nil || t.User.Admin && f.Folder == nil {
		query = search.everywhere()
	} else {
		query = search.inPlaces(places)
	}
	return query, search.args, nil
}

// aboutDocument returns the subjects of the entries about a document, as JSON: the document, and
// the jobs that restore it after its deletion.
func aboutDocument(id uuid.UUID) string {
	things := []string{events.DocumentStream(id)}
	for _, job := range events.RestoreJobs(id) {
		things = append(things, events.JobStream(job))
	}
	return jsonList(things)
}

// places returns the places whose entries the user may see: the given folder and
// everything below it, or, if it is nil, all folders that the user owns and the user's
// jobs.
func (t *trail) places(ctx context.Context, folder *uuid.UUID) ([]string, error) {
	if folder == nil {
		return append(slices.Collect(maps.Keys(t.owned)), string(t.User.Principal)), nil
	}
	below, err := projections.Column(ctx, t.DB, `WITH RECURSIVE below (id) AS (
			SELECT id FROM folders WHERE id = $1
			UNION SELECT f.id FROM below CROSS JOIN folders f WHERE f.parent = below.id)
		SELECT id FROM below`, folder.String())
	switch {
	case err != nil:
		return nil, freshness.Wrap(err, "folders below "+folder.String())
	case len(below) > 0 && t.owns(below[0]):
		return below, nil
	}
	readable, err := t.MayRead(ctx, folder.String())
	return nil, refused(err, readable, "folder", *folder)
}

// placeOf returns the folder of a document that the user owns. For a deleted document it
// is the folder from which the document was deleted.
func (t *trail) placeOf(ctx context.Context, document uuid.UUID) (place string, err error) {
	err = t.queries.Models.Audit.DB().QueryRowContext(ctx, `SELECT place FROM entries WHERE thing = $1 LIMIT 1`, events.DocumentStream(document)).Scan(&place)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", access.NotFound("document", document)
	case err != nil:
		return "", freshness.Wrap(err, "folder of document "+document.String())
	case t.owns(place):
		return place, nil
	}
	_, err = vault.Imported(ctx, t.Viewer, document)
	readable := err == nil
	if fault.Is(err, fault.NotFound) {
		err = nil
	}
	return "", refused(err, readable, "document", document)
}

// refused returns the error for a document or folder that the user does not own.
func refused(err error, readable bool, what string, id uuid.UUID) error {
	switch {
	case err != nil:
		return freshness.Wrap(err, what)
	case readable:
		return fault.Errorf(fault.Forbidden, "only an owner of this %s may see who did what to it", what)
	}
	return access.NotFound(what, id)
}
