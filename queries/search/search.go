// Package search finds the passages that match a query best, among those that the
// caller may read, and answers questions from them. It imports projections,
// projections/searchindex, events, queries/access, queries/answer, queries/answerlog,
// queries/compose, queries/followup, queries/freshness and queries/vault.
package search

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/projections/searchindex"
	"annals/queries/access"
	"annals/queries/answerlog"
	"annals/queries/compose"
	"annals/queries/freshness"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// Searcher runs searches. Its methods are safe for concurrent use.
type Searcher struct {
	Models *freshness.Models
	Limit  int // default number of passages in a result; 0 means 10
	// Embedder makes the vectors of queries; nil if searches use words alone.
	Embedder Embedder
	// Composer lets a language model write answers. If it is nil, answers are quotations.
	Composer *compose.Composer
	// Answers records the answers of the Composer. If it is nil, they are not recorded.
	Answers *answerlog.Log

	generation int // to which the searcher is bound; 0 means that it uses the active one
}

// Query is a search query and its filters.
type Query struct {
	Query    string    // with operators: "a phrase" is required, -word is excluded
	Literal  bool      // Query has no operators: quotation marks and hyphens are ordinary text
	Folder   string    // path, from the top level or as shown to the user; "" means everywhere
	Document uuid.UUID // uuid.Nil means all
	Tags     []string
	AnyTag   bool   // match documents with any of Tags, not only with all
	Limit    int    // page size, up to MaxLimit; 0 means Searcher.Limit
	Cursor   string // cursor returned with the previous page; "" for the first page
	// Generation is the number of the generation of the passages to search in, so that
	// administrators can compare two; 0 means the active one.
	Generation int

	syntax searchindex.Syntax // Query, parsed
	folder string             // the id of Folder; "" means everywhere
}

// MaxLimit is the maximum number of passages on a page.
const MaxLimit = 100

// MaxDepth is the maximum number of passages on all pages of a search.
const MaxDepth = searchindex.MaxLimit

// Source is a passage found by a search.
type Source struct {
	id        string // of the passage
	body      string // Text without the heading
	breaks    []int  // offsets in body at which the pages after StartPage begin
	document  vault.Document
	front     bool // it was read because its document begins with it, and not found
	Document  uuid.UUID
	Title     string   // of the document
	Folder    string   // path of the document's folder
	Owner     string   // owners of that folder, or of its nearest ancestor that has owners; "" if none
	LeafTitle string   // title of the section
	Path      []string // titles of the enclosing sections and the section
	StartPage int      // 0 if there are no pages
	EndPage   int
	Text      string // Markdown; a section's first passage begins with its heading
	Score     float64
	DeepLink  string // /documents/<id>.<ext>#page=<n>: the page of the passage that matches best
	// Confidence is that of the words in the passage's part of its section if they were
	// recognised in pictures of pages: above 0, and at most 1. Otherwise it is 0.
	Confidence float64
	// Duplicates are other passages with the same text and section title, at most
	// maxDuplicates. They are not sources themselves.
	Duplicates []Duplicate
}

// Duplicate is a passage that a search does not return because it has the same text and
// section title as another one.
type Duplicate struct {
	Document  uuid.UUID
	Title     string // of the document
	Folder    string // path of the document's folder
	StartPage int    // 0 if there are no pages
	DeepLink  string
}

const (
	// maxDuplicates is the maximum number of duplicates of a source that are named.
	maxDuplicates = 10
	defaultLimit  = 10
	// maxRestarts is how often the engine's search is repeated if documents change in the
	// meantime.
	maxRestarts = 20
)

// Search returns a page of the best passages that the user may read, best first. The
// result is empty if s.Folder does not exist or the user may not read it. The error is
// fault.Unavailable while the search engine is down.
func (q *Searcher) Search(ctx context.Context, user events.User, s Query) ([]Source, error) {
	sources, _, err := q.SearchPage(ctx, user, s)
	return sources, err
}

// SearchPage is like Search, but also returns the cursor of the next page, "" at the end
// or at MaxDepth. Unless documents change in the meantime, each passage is on exactly one
// page. The error wraps ErrCursor if the cursor belongs to another search or user.
func (q *Searcher) SearchPage(ctx context.Context, user events.User, s Query) (sources []Source, next string, err error) {
	q, release, err := q.in(ctx, user, s.Generation)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = cmp.Or(err, release()) }()
	if s.Limit <= 0 {
		s.Limit = q.Limit
	}
	if s.Limit <= 0 {
		s.Limit = defaultLimit
	}
	at, err := s.place(user.Principal)
	if err != nil {
		return nil, "", err
	}
	v, err := access.New(ctx, q.Models, user)
	if err != nil {
		return nil, "", err
	}
	if err := q.Models.Search.Unreachable(); err != nil {
		return nil, "", err
	}
	if err := q.awaitLabels(ctx); err != nil {
		return nil, "", err
	}
	original := s
	s.syntax = searchindex.Syntax{Text: s.Query}
	if !s.Literal {
		s.syntax = searchindex.ParseSyntax(s.Query)
	}
	s.Query = s.syntax.Text
	query, ok, err := q.engineQuery(ctx, v, &s)
	if !ok || err != nil {
		return []Source{}, "", freshness.Wrap(err, "folders")
	}
	// Results would be incomplete before the index has caught up since the start.
	if err := q.Models.Await(ctx, q.Models.Passages, q.Models.Start); err != nil {
		return nil, "", cmp.Or(q.Models.Passages.Unreachable(), err)
	}
	all, err := q.best(ctx, v, user, s, at.first, &query)
	if err != nil {
		return nil, "", err
	}
	end := min(at.shown+s.Limit, MaxDepth)
	if at.shown > 0 && end >= len(all) {
		if all, err = q.deeper(ctx, user, s, end+1, query, all); err != nil {
			return nil, "", err
		}
	}
	if len(all) > end && end < MaxDepth {
		next = original.cursor(user.Principal, place{at.first, end})
	}
	sources = all[min(at.shown, len(all)):min(end, len(all))]
	terms := searchindex.QueryTerms(original.Query)
	for i := range sources {
		sources[i].linkMatch(terms)
	}
	return sources, next, addOwners(ctx, v, sources)
}

// best returns the engine's best passages in their final order, with first as the size
// of the first page. It adds to query the terms that are raised for the engine's second
// search.
func (q *Searcher) best(ctx context.Context, v *access.Viewer, user events.User, s Query, first int, query *searchindex.Query) ([]Source, error) {
	s.Limit = first + 1
	query.Limit = max(s.Limit, searchindex.Candidates)
	if q.hybrid() {
		query.Limit = max(query.Limit, nearest)
	}
	meant, end := q.byMeaning(ctx, s.Query, *query)
	defer end()
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
	if err != nil {
		return nil, freshness.Wrap(err, "names of documents")
	}
	near, err := q.near(ctx, user, s, found, meant())
	return rank(s.Query, first, found, near, named), err
}

// deeper returns the best passages, followed by more in the engine's order, at least
// limit in total if there are that many. It always requests MaxDepth passages from the
// engine, because the engine's order may depend on that number.
func (q *Searcher) deeper(ctx context.Context, user events.User, s Query, limit int, query searchindex.Query, best []Source) ([]Source, error) {
	s.Limit, query.Limit = limit, MaxDepth
	found, err := q.fetch(ctx, user, s, query)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(best))
	for _, b := range best {
		seen[b.id], seen[b.content()] = true, true
	}
	return append(best, slices.DeleteFunc(found, func(f Source) bool { return seen[f.id] || seen[f.content()] })...), nil
}

// addOwners sets the owners of the sources' folders.
func addOwners(ctx context.Context, v *access.Viewer, sources []Source) error {
	folders := make([]string, len(sources))
	for i, s := range sources {
		folders[i] = s.document.Folder.String()
	}
	owners, err := v.Owners(ctx, folders)
	for i := range sources {
		sources[i].Owner = strings.Join(owners[folders[i]], ", ")
	}
	return err
}

// fetch returns at least s.Limit of the engine's best passages that the user may read, or
// all if there are fewer. It requests more from the engine if some hits do not pass the
// recheck, or are duplicates of others. The error is fault.Unavailable if documents change
// faster than they can be checked.
func (q *Searcher) fetch(ctx context.Context, user events.User, s Query, query searchindex.Query) ([]Source, error) {
	var found distinct
	page := query
	c := check{Searcher: q, user: user, search: s, versions: make(map[string]int)}
	for restarts := 0; page.Offset <= searchindex.MaxOffset; {
		generation := q.Models.Passages.Generation()
		hits, err := q.Models.Search.Search(ctx, page)
		if err != nil {
			return nil, unavailable(err)
		}
		some, err := c.recheck(ctx, hits)
		if err == nil && q.Models.Passages.Generation() != generation {
			err = errOvertaken // another generation may divide texts into passages differently
		}
		if errors.Is(err, errOvertaken) {
			if restarts++; restarts > maxRestarts {
				return nil, fault.Errorf(fault.Unavailable, "search: the documents are changing too fast: try again later")
			}
			found, page = distinct{}, query
			continue
		}
		if err != nil {
			return nil, freshness.Wrap(err, "passages")
		}
		for _, one := range some {
			found.add(one)
		}
		page.Offset += len(hits)
		if len(found.sources) >= s.Limit || len(hits) < page.Limit {
			break
		}
		page.Limit = min(2*page.Limit, searchindex.MaxLimit)
	}
	return found.sources, nil
}

// unavailable returns err if it has a kind; otherwise it hides err in an error of kind
// fault.Unavailable.
func unavailable(err error) error {
	if k := fault.KindOf(err); k != fault.Internal {
		return err
	}
	return fault.Hide(fault.Unavailable, "the search engine does not respond at the moment", err)
}
