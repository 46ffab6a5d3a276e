package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"annals/events"
	"annals/projections"
	"annals/queries/accesslog"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// Kind selects changes, accesses or both.
type Kind string

// The kinds of entries of the audit trail.
const (
	Changes    Kind = "changes" // events
	Access     Kind = "access"  // sign-ins, refusals and reads
	Everything Kind = "all"
)

// markedEntry is an entry and its position in the trail.
type markedEntry struct {
	fullMark
	Entry
}

// auditAccess is like Audit, for accesses or for both kinds of entries. Administrators
// see all accesses; others see those of things that they own now, and their own
// sign-ins. Users do not see their own refused requests.
func (q *Auditor) auditAccess(ctx context.Context, user events.User, f Filter) (entries []Entry, next string, err error) {
	before, err := f.beforeAll()
	if err != nil {
		return nil, "", err
	}
	t, err := q.trail(ctx, user)
	if err != nil {
		return nil, "", err
	}
	limit := cmp.Or(f.Limit, defaultPageSize)
	all, last, err := t.accesses(ctx, f, before, limit+1)
	if err != nil {
		return nil, "", err
	}
	if f.Kind == Everything {
		changes, err := t.changes(ctx, f, before, limit+1)
		if err != nil {
			return nil, "", err
		}
		// If there are more accesses, they are older than last and belong on the next page.
		// So do changes that are older than last.
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
	entries = make([]Entry, len(all))
	for i, e := range all {
		entries[i] = e.Entry
	}
	return entries, next, nil
}

// changes returns entries of changes.
func (t *trail) changes(ctx context.Context, f Filter, before fullMark, limit int) ([]markedEntry, error) {
	mark := before.changes()
	if to := f.To.UnixMicro(); !f.To.IsZero() && to <= mark.time {
		mark = changeMark{time: to}
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
		return nil, freshness.Wrap(err, "audit trail")
	}
	all := make([]markedEntry, len(entries))
	for i, e := range entries {
		all[i] = markedEntry{marks[i], e}
	}
	return all, nil
}

// accessReads is the maximum number of reads for a page. Records of things that the user
// no longer owns are dropped, so a single read can leave room on the page.
const accessReads = 10

// accesses returns up to limit entries of accesses. last is the mark of the last record
// that was read, or nil if there are no older records.
func (t *trail) accesses(ctx context.Context, f Filter, before fullMark, limit int) (all []markedEntry, last *fullMark, err error) {
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
	case t.User.Admin && f.Folder == nil:
		filter.Everywhere = true
	default:
		filter.Places = places
	}
	for range accessReads {
		records, err := t.queries.Accesses.Records(ctx, filter)
		if err != nil {
			return nil, nil, freshness.Wrap(err, "access log")
		}
		some, err := t.visible(ctx, records)
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

// visible returns entries for the records about things that the user owns now.
func (t *trail) visible(ctx context.Context, records []accesslog.Record) ([]markedEntry, error) {
	found := map[string]accesslog.Found{}
	if !t.User.Admin {
		var things []string
		for _, r := range records {
			if strings.HasPrefix(r.Thing, "document-") {
				things = append(things, r.Thing)
			}
		}
		var err error
		if found, err = t.queries.Find(ctx, things); err != nil {
			return nil, freshness.Wrap(err, "folders of documents")
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

func (t *trail) accessEntry(r accesslog.Record) Entry {
	e := Entry{
		ID: r.ID, Time: time.UnixMicro(r.Time).UTC(), Actor: r.Actor, Via: r.Via, Correlation: r.Correlation, Type: string(r.Kind),
		What: r.Words(), Count: r.Count,
	}
	if t.User.Admin || r.Actor == t.User.Principal || r.Place == string(t.User.Principal) {
		e.Address = r.Address // owners must not see other users' addresses
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

// Queries for the locations and names of things. $1 is a JSON list of ids.
const (
	findDocuments = `SELECT d.id, d.folder, d.name, f.name FROM json_each($1) k CROSS JOIN documents d CROSS JOIN folders f WHERE d.id = k.value AND f.id = d.folder`
	findFolders   = `SELECT f.id, f.id, f.name, f.name FROM json_each($1) k CROSS JOIN folders f WHERE f.id = k.value AND f.deleted = 0`
	findJobs      = `SELECT j.id, j.owner, '', '' FROM json_each($1) k CROSS JOIN jobs j WHERE j.id = k.value`
)

// Find returns the locations and names of things. Things that do not exist are not in
// the result. It does not check permissions: use it only for the access log.
func (q *Auditor) Find(ctx context.Context, things []string) (map[string]accesslog.Found, error) {
	if err := q.Models.Trusted(ctx); err != nil {
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
		if err := q.Models.Usable(ctx, of.model); err != nil {
			return nil, err
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
