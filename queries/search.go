package queries

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

const (
	defaultSearchLimit = 10
	// searchRestarts bounds how often the engine is asked anew, because what
	// it found has other content by now.
	searchRestarts = 20
)

// Search returns the passages that answer best, best first, of those that the
// user may read: the first page of them, or the one that s.Cursor names. An
// unknown or unreadable folder gives none. While the search engine is down the
// error is fault.Unavailable.
func (q *Queries) Search(ctx context.Context, user events.User, s Search) ([]Source, error) {
	sources, _, err := q.SearchPage(ctx, user, s)
	return sources, err
}

// SearchPage is Search that returns the cursor of the next page, too, "" at the
// end or where MaxSearchDepth is reached. Pages of one search neither repeat nor
// leave out a passage while nothing changes. The error for a cursor that is not
// one of the same user's same search is ErrCursor.
func (q *Queries) SearchPage(ctx context.Context, user events.User, s Search) (sources []Source, next string, err error) {
	if s.Limit <= 0 {
		s.Limit = q.SearchLimit
	}
	if s.Limit <= 0 {
		s.Limit = defaultSearchLimit
	}
	at, err := s.place(user.Principal)
	if err != nil {
		return nil, "", err
	}
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, "", err
	}
	if err := q.Models.Search.Away(); err != nil {
		return nil, "", err
	}
	if err := q.awaitLabels(ctx); err != nil {
		return nil, "", err
	}
	asked := s
	query, ok, err := q.engineQuery(ctx, v, &s)
	if !ok || err != nil {
		return []Source{}, "", wrap(err, "folders")
	}
	// An index that lacks what the log held at the start would tell of it that
	// there is nothing.
	if err := q.await(ctx, q.Models.Passages, q.Start); err != nil {
		return nil, "", cmp.Or(q.Models.Passages.Away(), err)
	}
	all, err := q.best(ctx, v, user, s, at.first, &query)
	if err != nil {
		return nil, "", err
	}
	end := min(at.shown+s.Limit, MaxSearchDepth)
	if at.shown > 0 && end >= len(all) {
		if all, err = q.deeper(ctx, user, s, end+1, query, all); err != nil {
			return nil, "", err
		}
	}
	if len(all) > end && end < MaxSearchDepth {
		next = asked.cursor(user.Principal, place{at.first, end})
	}
	sources = all[min(at.shown, len(all)):min(end, len(all))]
	return sources, next, v.addOwners(ctx, sources)
}

// best returns the passages that the engine finds best, in their final order:
// first those of a page of so many, then the others. More than a page are found
// if there are as many. It adds to the query what the second search looked for.
func (q *Queries) best(ctx context.Context, v *viewer, user events.User, s Search, first int, query *searchindex.Query) ([]Source, error) {
	s.Limit = first + 1
	query.Limit = max(s.Limit, searchindex.Candidates)
	found, err := q.fetch(ctx, user, s, *query)
	if err != nil {
		return nil, err
	}
	if query.More = searchindex.Expand(s.Query, candidates(found)); len(query.More) > 0 {
		if found, err = q.fetch(ctx, user, s, *query); err != nil {
			return nil, err
		}
	}
	named, err := q.named(ctx, v, user, s)
	return rank(s.Query, first, found, named), wrap(err, "names of documents")
}

// deeper returns the best passages, and behind them, in the engine's order, as
// many more as are needed for so many in all. The engine is always asked for as
// many, since its order may hang on that.
func (q *Queries) deeper(ctx context.Context, user events.User, s Search, most int, query searchindex.Query, best []Source) ([]Source, error) {
	s.Limit, query.Limit = most, MaxSearchDepth
	found, err := q.fetch(ctx, user, s, query)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(best))
	for _, b := range best {
		seen[b.id] = true
	}
	return append(best, slices.DeleteFunc(found, func(f Source) bool { return seen[f.id] })...), nil
}

// fetch returns at least s.Limit of the engine's best passages, if there are as
// many, that the user may read. It asks the engine for more as long as those
// that came may no longer be read, and is fault.Unavailable where what is shown
// changes faster than it can be looked at.
func (q *Queries) fetch(ctx context.Context, user events.User, s Search, query searchindex.Query) ([]Source, error) {
	var found []Source
	page := query
	c := check{Queries: q, user: user, search: s, versions: make(map[string]int)}
	for restarts := 0; page.Offset <= searchindex.MaxOffset; {
		generation := q.Models.Passages.Generation()
		hits, err := q.Models.Search.Search(ctx, page)
		if err != nil {
			return nil, unavailable(err)
		}
		some, err := c.winners(ctx, hits)
		if err == nil && q.Models.Passages.Generation() != generation {
			err = errOvertaken // what the hits name may be other pieces of the texts by now
		}
		if errors.Is(err, errOvertaken) {
			if restarts++; restarts > searchRestarts {
				return nil, fault.Errorf(fault.Unavailable, "what is searched changes too fast at the moment; try again")
			}
			found, page = nil, query
			continue
		}
		if err != nil {
			return nil, wrap(err, "passages")
		}
		for _, one := range some { // a page of an index that changed may repeat what was on the last
			if !slices.ContainsFunc(found, func(f Source) bool { return f.id == one.id }) {
				found = append(found, one)
			}
		}
		page.Offset += len(hits)
		if len(found) >= s.Limit || len(hits) < page.Limit {
			break
		}
		page.Limit = min(2*page.Limit, searchindex.MaxLimit)
	}
	return found, nil
}

func unavailable(err error) error {
	if k := fault.KindOf(err); k != fault.Internal {
		return err
	}
	return fault.Hide(fault.Unavailable, "the search engine does not answer at the moment", err)
}

// engineQuery tells the engine what the user asks and may read; ok is false
// where that is nothing. A folder that is named as the user is shown it goes by
// its whole path from then on.
func (q *Queries) engineQuery(ctx context.Context, v *viewer, s *Search) (query searchindex.Query, ok bool, err error) {
	query = searchindex.Query{Text: s.Query, All: v.user.Admin, Tags: s.Tags, AnyTag: s.AnyTag}
	if strings.TrimSpace(s.Query) == "" {
		return query, false, nil
	}
	if s.Document != uuid.Nil {
		query.Document = s.Document.String()
	}
	labelled, err := q.labelled(ctx)
	if err != nil {
		return query, false, err
	}
	if strings.Trim(s.Folder, "/ ") != "" {
		whole, scope, rest, err := v.wholePath(ctx, s.Folder)
		s.Folder = whole
		if err != nil || scope == "" || rest != "" {
			return query, false, err
		}
		// Who may read a folder may read all below it: no other grant
		// matters within it, but to what scores are counted in.
		query.Inside = true
		if query.Folders, err = v.withMoved(ctx, []string{scope}, labelled); err != nil {
			return query, false, err
		}
	}
	if query.All {
		return query, true, nil
	}
	if query.Granted, err = v.granted(ctx); err != nil || len(query.Granted) == 0 {
		return query, false, err
	}
	query.Granted, err = v.withMoved(ctx, query.Granted, labelled)
	return query, err == nil, err
}

// labelWait bounds how long a search waits for the index to show documents
// where they were put, and under the tags they were given, before it began.
const labelWait = time.Second

// awaitLabels returns once the index knows what the vault knows of documents
// that were moved or tagged one by one: the filters of a search hang on it. An
// index that is too slow is not waited for; what it finds is checked anyway.
func (q *Queries) awaitLabels(ctx context.Context) error {
	var at events.Position
	if err := q.Models.Vault.DB().QueryRowContext(ctx, `SELECT position FROM labels`).Scan(&at); err != nil {
		return wrap(err, "what was moved and tagged")
	}
	if at <= q.Models.Passages.Position() {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, labelWait)
	defer cancel()
	_ = q.Models.Passages.Wait(soon, at)
	return ctx.Err()
}

// labelled returns the position up to which the index's passages are labelled
// with the folders that they are below: moves that come after it may not show
// there yet.
func (q *Queries) labelled(ctx context.Context) (events.Position, error) {
	// The runner tells what the index was last brought to, the tables what it
	// lacks of that.
	indexed := q.Models.Passages.Position()
	var p events.Position
	err := q.Models.Passages.DB().QueryRowContext(ctx, `SELECT coalesce((SELECT min(position) - 1 FROM deferred), position) FROM checkpoint`).Scan(&p)
	return min(p, indexed), wrap(err, "moved folders")
}

// movedBelow finds folders that were moved after a position ($1) and are in or
// below one of some folders ($2, JSON) now.
const movedBelow = `WITH RECURSIVE up (moved, id, depth) AS (
		SELECT folder, folder, 0 FROM moved WHERE position > $1
		UNION ALL SELECT up.moved, f.parent, up.depth + 1 FROM up CROSS JOIN folders f WHERE f.id = up.id AND up.depth < 100)
	SELECT DISTINCT moved FROM up WHERE id IN (SELECT value FROM json_each($2))`

// withMoved adds to folders those that are below them since a move after a
// position. What is in those may be labelled with where they were before; but
// with themselves it is labelled always.
func (v *viewer) withMoved(ctx context.Context, folders []string, after events.Position) ([]string, error) {
	b, err := json.Marshal(folders)
	if err != nil {
		return nil, err
	}
	moved, err := projections.Column(ctx, v.db, movedBelow, after, string(b))
	return append(folders, moved...), err
}

func candidates(found []Source) []searchindex.Candidate {
	all := make([]searchindex.Candidate, len(found))
	for i, f := range found {
		all[i] = searchindex.Candidate{
			Hit:   searchindex.Hit{ID: f.id, Score: f.Score},
			Title: f.Title, Section: strings.Join(f.Path, " > "), Text: f.body,
		}
	}
	return all
}

// rank puts what was found into its final order, which heeds what the engine
// cannot see, with the documents that are named as the query asks: first a page
// of so many, then the others.
func rank(query string, first int, found []Source, named []named) []Source {
	byID := make(map[string]Source, len(found))
	for _, f := range found {
		byID[f.id] = f
	}
	hits := raise(searchindex.Rerank(query, candidates(found)), byID, named)
	documents := make(map[string]string, len(byID))
	for id, f := range byID {
		documents[id] = f.Document.String()
	}
	sources := make([]Source, 0, len(hits))
	add := func(h searchindex.Hit) {
		if f, waits := byID[h.ID]; waits {
			f.Score = h.Score
			sources = append(sources, f)
			delete(byID, h.ID)
		}
	}
	for _, h := range searchindex.Spread(hits, first, func(h searchindex.Hit) string { return documents[h.ID] }) {
		add(h)
	}
	for _, h := range hits {
		add(h)
	}
	return sources
}
