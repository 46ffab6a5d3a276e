package queries

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

	"github.com/google/uuid"
)

// AuditFilter chooses entries of the audit trail.
type AuditFilter struct {
	Document *uuid.UUID
	Folder   *uuid.UUID // it and all below it
	Actor    events.Principal
	From, To time.Time // from the one on, up to before the other; zero: without bound
	Limit    int       // 0: auditPage
	Cursor   string    // where the last page ended
	Kind     AuditKind // "" is Changes
}

// AuditEntry is one thing that somebody did. Names are those of then; of a
// folder that the caller does not own, neither id nor name is told, but where it
// is their own answer to an invitation.
type AuditEntry struct {
	ID          uuid.UUID // of the event
	Time        time.Time
	Actor       events.Principal
	Via         string // the part of the program that acted
	Correlation string // the request
	Type        string // of the event
	What        string // in plain words
	Document    uuid.UUID
	Name        string    // the document's
	Folder      uuid.UUID // that it happened to, or in which the document lay after it
	FolderName  string
	Job         uuid.UUID
	Address     string // from which a thing was accessed
	Count       int    // of accesses that are alike; 0 for changes
}

// auditPage is how many entries a page has that is not told.
const auditPage = 100

// Audit returns a page of who did what when, the newest first, and the cursor
// of the next, "" at the end. Admins are told everything; others what happened
// to the folders that they own now, to what lies in them or was deleted there,
// and in their own jobs, and their own answers to invitations. A document or folder that the user may read and does
// not own is fault.Forbidden, any other fault.NotFound.
func (q *Queries) Audit(ctx context.Context, user events.User, f AuditFilter) (entries []AuditEntry, next string, err error) {
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
	limit := cmp.Or(f.Limit, auditPage)
	rows, err := t.rows(ctx, f, before, limit+1) // one more tells whether there is a next page
	if err != nil {
		return nil, "", err
	}
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].auditMark.String()
	}
	entries, err = t.entries(ctx, rows)
	return entries, next, wrap(err, "audit trail")
}

// trail reads the audit trail for one user.
type trail struct {
	*viewer
	queries *Queries
	owned   map[string]bool // folders, deleted ones too; of no account for an admin
}

// trail looks up what the user owns.
func (q *Queries) trail(ctx context.Context, user events.User) (*trail, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	t := &trail{viewer: v, queries: q, owned: make(map[string]bool)}
	if user.Admin {
		return t, nil
	}
	folders, err := projections.Column(ctx, v.db, `WITH RECURSIVE own (id) AS (
			SELECT folder FROM permissions WHERE access = $1 AND principal IN (SELECT value FROM json_each($2))
			UNION SELECT f.id FROM own CROSS JOIN folders f WHERE f.parent = own.id)
		SELECT id FROM own`, int(events.Own), v.principals)
	for _, id := range folders {
		t.owned[id] = true
	}
	return t, wrap(err, "folders of "+string(user.Principal))
}

func (t *trail) owns(folder string) bool { return t.user.Admin || t.owned[folder] }

// catchUp waits until the audit trail knows all that the vault does. It comes
// after the vault was asked whose folders are, and before the trail is asked
// what lies in them: what was taken out of a folder before it was granted is
// not told.
func (t *trail) catchUp(ctx context.Context) error {
	at, err := passed(ctx, t.queries.Models.Vault)
	if err != nil {
		return err
	}
	return t.queries.await(ctx, t.queries.Models.Audit, at)
}

// rows reads the entries before a mark that f asks for and that the user may
// be told of.
func (t *trail) rows(ctx context.Context, f AuditFilter, before auditMark, limit int) ([]auditRow, error) {
	query, args, err := t.question(ctx, f, before, limit)
	if query == "" || err != nil {
		return nil, err
	}
	rows, err := projections.List(ctx, t.queries.Models.Audit.DB(), (*auditRow).fields, query, args...)
	if err == nil {
		rows, err = t.withAnswers(ctx, rows, f, before, limit)
	}
	return rows, wrap(err, "audit trail")
}

// withAnswers adds to rows the user's own answers to invitations, which stand
// in the trails of folders that others own.
func (t *trail) withAnswers(ctx context.Context, rows []auditRow, f AuditFilter, before auditMark, limit int) ([]auditRow, error) {
	if t.user.Admin || f.Document != nil || f.Folder != nil || f.Actor != "" && f.Actor != t.user.Principal {
		return rows, nil
	}
	search := auditSearch{args: []any{before.time, before.position, limit}}
	search.and(`e.actor = $%d AND e.type IN ('FolderInvitationAccepted', 'FolderLeft')`, string(t.user.Principal))
	if !f.From.IsZero() {
		search.and(`e.time >= $%d`, f.From.UnixMicro())
	}
	own, err := projections.List(ctx, t.queries.Models.Audit.DB(), (*auditRow).fields, search.everywhere(), search.args...)
	if err != nil {
		return nil, err
	}
	for _, r := range own {
		if !slices.ContainsFunc(rows, func(other auditRow) bool { return other.position == r.position }) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b auditRow) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(b.position, a.position))
	})
	return rows[:min(len(rows), limit)], nil
}

// question returns the query of rows, "" where nothing can come of it.
func (t *trail) question(ctx context.Context, f AuditFilter, before auditMark, limit int) (query string, args []any, err error) {
	places, err := t.places(ctx, f.Folder)
	if err == nil {
		err = t.catchUp(ctx)
	}
	if err != nil {
		return "", nil, err
	}
	search := auditSearch{args: []any{before.time, before.position, limit}}
	byActor := `e.actor = $%d`
	if f.Document != nil {
		byActor = `e.actor || '' = $%d` // by no index: he may have done most of what is in the trail
		place, err := t.placeOf(ctx, *f.Document)
		if err != nil || f.Folder != nil && !slices.Contains(places, place) {
			return "", nil, err
		}
		search.and(`e.thing = $%d`, events.DocumentStream(*f.Document))
	}
	if f.Actor != "" {
		search.and(byActor, string(f.Actor))
	}
	if !f.From.IsZero() {
		search.and(`e.time >= $%d`, f.From.UnixMicro())
	}
	if f.Document != nil || t.user.Admin && f.Folder == nil {
		query = search.everywhere()
	} else {
		query = search.inPlaces(places)
	}
	return query, search.args, nil
}

// places returns where the user may be told what happened: in a folder and all
// below it, or, without one, in all of his folders and in his jobs.
func (t *trail) places(ctx context.Context, folder *uuid.UUID) ([]string, error) {
	if folder == nil {
		return append(slices.Collect(maps.Keys(t.owned)), string(t.user.Principal)), nil
	}
	below, err := projections.Column(ctx, t.db, `WITH RECURSIVE below (id) AS (
			SELECT id FROM folders WHERE id = $1
			UNION SELECT f.id FROM below CROSS JOIN folders f WHERE f.parent = below.id)
		SELECT id FROM below`, folder.String())
	switch {
	case err != nil:
		return nil, wrap(err, "folders below "+folder.String())
	case len(below) > 0 && t.owns(below[0]):
		return below, nil
	}
	readable, err := t.may(ctx, folder.String())
	return nil, refused(err, readable, "folder", *folder)
}

// placeOf returns the folder that a document of the user's lies in, or lay in
// when it was deleted.
func (t *trail) placeOf(ctx context.Context, document uuid.UUID) (place string, err error) {
	err = t.queries.Models.Audit.DB().QueryRowContext(ctx, `SELECT place FROM entries WHERE thing = $1 LIMIT 1`, events.DocumentStream(document)).Scan(&place)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", notFound("document", document)
	case err != nil:
		return "", wrap(err, "place of document "+document.String())
	case t.owns(place):
		return place, nil
	}
	_, err = t.filed(ctx, document)
	readable := err == nil
	if fault.Is(err, fault.NotFound) {
		err = nil
	}
	return "", refused(err, readable, "document", document)
}

// refused is told of a thing that the user does not own.
func refused(err error, readable bool, what string, id uuid.UUID) error {
	switch {
	case err != nil:
		return wrap(err, what)
	case readable:
		return fault.Errorf(fault.Forbidden, "only an owner of this %s may see who did what to it", what)
	}
	return notFound(what, id)
}
