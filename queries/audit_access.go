package queries

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/queries/accesslog"

	"github.com/google/uuid"
)

// AuditKind chooses between what changed and what was accessed.
type AuditKind string

// The kinds of entries of the audit trail.
const (
	Changes    AuditKind = "changes" // events
	Access     AuditKind = "access"  // sign-ins, refusals and reads
	Everything AuditKind = "all"
)

// fullMark is the place of an entry among those of both kinds: by time, an access
// before a change of the same time, then by number.
type fullMark struct {
	time   int64
	access bool
	number int64
}

func (m fullMark) compare(o fullMark) int {
	class := func(m fullMark) int {
		if m.access {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(m.time, o.time), cmp.Compare(class(m), class(o)), cmp.Compare(m.number, o.number))
}

// String is the cursor of the page after the entry.
func (m fullMark) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d.%t", m.time, m.number, m.access))
}

func (f AuditFilter) beforeAll() (fullMark, error) {
	m := fullMark{math.MaxInt64, true, math.MaxInt64}
	if f.Cursor == "" {
		return m, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(f.Cursor)
	if err == nil {
		_, err = fmt.Sscanf(string(b), "%d.%d.%t", &m.time, &m.number, &m.access)
	}
	if err != nil {
		return m, fault.Errorf(fault.Invalid, "cursor must come from a Link header of this listing")
	}
	return m, nil
}

// changes and accesses are the marks before which those entries come that are
// before m among all.
func (m fullMark) changes() auditMark {
	if m.access {
		return auditMark{m.time, math.MaxInt64}
	}
	return auditMark{m.time, m.number}
}

func (m fullMark) accesses() accesslog.Mark {
	if m.access {
		return accesslog.Mark{Time: m.time, Seq: m.number}
	}
	return accesslog.Mark{Time: m.time}
}

// markedEntry is an entry and its place.
type markedEntry struct {
	fullMark
	AuditEntry
}

// auditAccess is Audit of accesses, or of all entries. Administrators see all;
// others those that are about what they own now, and their own sign-ins. Who was
// refused something sees nothing of that.
func (q *Queries) auditAccess(ctx context.Context, user events.User, f AuditFilter) (entries []AuditEntry, next string, err error) {
	before, err := f.beforeAll()
	if err != nil {
		return nil, "", err
	}
	t, err := q.trail(ctx, user)
	if err != nil {
		return nil, "", err
	}
	limit := cmp.Or(f.Limit, auditPage)
	all, last, err := t.accesses(ctx, f, before, limit+1)
	if err != nil {
		return nil, "", err
	}
	if f.Kind == Everything {
		changes, err := t.changes(ctx, f, before, limit+1)
		if err != nil {
			return nil, "", err
		}
		// Accesses were looked at down to last: changes before it wait for the
		// next page.
		changes = slices.DeleteFunc(changes, func(e markedEntry) bool { return last != nil && e.compare(*last) < 0 })
		all = append(all, changes...)
		slices.SortFunc(all, func(a, b markedEntry) int { return b.compare(a.fullMark) })
	}
	if len(all) > limit {
		all = all[:limit]
		last = &all[limit-1].fullMark
	}
	if last != nil {
		next = last.String()
	}
	entries = make([]AuditEntry, len(all))
	for i, e := range all {
		entries[i] = e.AuditEntry
	}
	return entries, next, nil
}

// changes returns entries of what changed.
func (t *trail) changes(ctx context.Context, f AuditFilter, before fullMark, limit int) ([]markedEntry, error) {
	mark := before.changes()
	if to := f.To.UnixMicro(); !f.To.IsZero() && to <= mark.time {
		mark = auditMark{time: to}
	}
	rows, err := t.rows(ctx, f, mark, limit)
	if err != nil {
		return nil, err
	}
	marks := make([]fullMark, len(rows))
	for i, r := range rows {
		marks[i] = fullMark{time: r.time, number: r.position}
	}
	entries, err := t.entries(ctx, rows)
	if err != nil {
		return nil, wrap(err, "audit trail")
	}
	all := make([]markedEntry, len(entries))
	for i, e := range entries {
		all[i] = markedEntry{marks[i], e}
	}
	return all, nil
}

// accessLooks bounds how often one call looks for records, some of which are
// about what is the user's no longer.
const accessLooks = 10

// accesses returns records, up to limit. last is where it stopped looking, nil
// where it has seen them all.
func (t *trail) accesses(ctx context.Context, f AuditFilter, before fullMark, limit int) (all []markedEntry, last *fullMark, err error) {
	if t.queries.Accesses == nil {
		return nil, nil, nil
	}
	filter := accesslog.Filter{Actor: f.Actor, From: f.From, To: f.To, Before: before.accesses(), Limit: limit}
	places, err := t.places(ctx, f.Folder)
	if err == nil {
		err = t.catchUp(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	switch {
	case f.Document != nil:
		place, err := t.placeOf(ctx, *f.Document)
		if err != nil || f.Folder != nil && !slices.Contains(places, place) {
			return nil, nil, err
		}
		filter.Thing, filter.Everywhere = events.DocumentStream(*f.Document), true
	case t.user.Admin && f.Folder == nil:
		filter.Everywhere = true
	default:
		filter.Places = places
	}
	for range accessLooks {
		records, err := t.queries.Accesses.Records(ctx, filter)
		if err != nil {
			return nil, nil, wrap(err, "records of access")
		}
		some, err := t.shown(ctx, records)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, some...)
		if len(records) < limit {
			return all, nil, nil
		}
		end := records[len(records)-1].Mark
		filter.Before, last = end, &fullMark{end.Time, true, end.Seq}
		if len(all) >= limit {
			break
		}
	}
	return all, last, nil
}

// shown makes entries of those records that are about what the user owns now.
func (t *trail) shown(ctx context.Context, records []accesslog.Record) ([]markedEntry, error) {
	found := map[string]accesslog.Found{}
	if !t.user.Admin {
		var things []string
		for _, r := range records {
			if strings.HasPrefix(r.Thing, "document-") {
				things = append(things, r.Thing)
			}
		}
		var err error
		if found, err = t.queries.Find(ctx, things); err != nil {
			return nil, wrap(err, "places of documents")
		}
	}
	var all []markedEntry
	for _, r := range records {
		if now, ok := found[r.Thing]; ok && !t.owns(now.Place) {
			continue
		}
		all = append(all, markedEntry{fullMark{r.Time, true, r.Seq}, t.accessEntry(r)})
	}
	return all, nil
}

func (t *trail) accessEntry(r accesslog.Record) AuditEntry {
	e := AuditEntry{
		ID: r.ID, Time: time.UnixMicro(r.Time).UTC(), Actor: r.Actor, Via: r.Via, Correlation: r.Correlation, Type: string(r.Kind),
		What: r.Words(), Count: r.Count,
	}
	if t.user.Admin || r.Actor == t.user.Principal || r.Place == string(t.user.Principal) {
		e.Address = r.Address // where others are is no matter of an owner's
	}
	kind, text, _ := strings.Cut(r.Thing, "-")
	id, err := uuid.Parse(text)
	if err != nil {
		return e
	}
	switch kind {
	case "document":
		e.Document, e.Name = id, r.Name
		if folder, err := uuid.Parse(r.Place); err == nil && t.owns(r.Place) {
			e.Folder, e.FolderName = folder, r.PlaceName
		}
	case "folder":
		e.Folder, e.FolderName = id, r.Name
	case "job":
		e.Job = id
	}
	return e
}

// Where things are that records of access are about (ids in $1, JSON).
const (
	findDocuments = `SELECT d.id, d.folder, d.name, f.name FROM json_each($1) k CROSS JOIN documents d CROSS JOIN folders f WHERE d.id = k.value AND f.id = d.folder`
	findFolders   = `SELECT f.id, f.id, f.name, f.name FROM json_each($1) k CROSS JOIN folders f WHERE f.id = k.value AND f.deleted = 0`
	findJobs      = `SELECT j.id, j.owner, '', '' FROM json_each($1) k CROSS JOIN jobs j WHERE j.id = k.value`
)

// Find returns where things are, of those that there are, whoever may read
// them: it is for records of access alone.
func (q *Queries) Find(ctx context.Context, things []string) (map[string]accesslog.Found, error) {
	if err := q.trusted(ctx); err != nil {
		return nil, err
	}
	all := map[string]accesslog.Found{}
	for _, of := range []struct {
		kind  string
		model *projections.Runner
		query string
	}{
		{"document", q.Models.Vault, findDocuments}, {"folder", q.Models.Vault, findFolders}, {"job", q.Models.Jobs, findJobs},
	} {
		ids := []string{}
		for _, thing := range things {
			if id, ok := strings.CutPrefix(thing, of.kind+"-"); ok {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		list, err := json.Marshal(ids)
		if err != nil {
			return nil, err
		}
		type row struct {
			id string
			accesslog.Found
		}
		rows, err := projections.List(ctx, of.model.DB(), func(r *row) []any { return []any{&r.id, &r.Place, &r.Name, &r.PlaceName} }, of.query, string(list))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			all[of.kind+"-"+r.id] = r.Found
		}
	}
	return all, nil
}

// Granted reports whether a user may read what is in a folder otherwise than as
// an administrator.
func (q *Queries) Granted(ctx context.Context, user events.User, folder string) (bool, error) {
	user.Admin = false
	v, err := q.viewer(ctx, user)
	if err != nil {
		return false, err
	}
	return v.may(ctx, folder)
}
