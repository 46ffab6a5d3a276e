package meilisearch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/meilisearch/meilisearch-go"

	"annals/projections/searchindex"
)

// Search returns the best passages first; ties are broken by id.
//
// Meilisearch puts passages into an order by how many words of a query they
// hold and how near these are, and weighs no word. So it chooses candidates,
// many more than are asked for, and what they score is counted here.
//
// It takes a bounded time, and none while the server is known to be away.
func (x *Index) Search(ctx context.Context, q searchindex.Query) (hits []searchindex.Hit, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = x.server.door.through(ctx, x.server.limits.search, func(ctx context.Context) (err error) {
		hits, err = x.search(ctx, q)
		return err
	})
	return hits, err
}

func (x *Index) search(ctx context.Context, q searchindex.Query) ([]searchindex.Hit, error) {
	terms := searchindex.QueryTerms(q.Text)
	filter, none := filterOf(q)
	if len(terms) == 0 || none {
		return nil, nil
	}
	w, err := x.weigh(ctx, terms, q.More)
	if err != nil || len(w.terms) == 0 {
		return nil, err
	}
	end := q.Offset + cmp.Or(q.Limit, 10)
	parts := w.parts(len(q.Granted) + len(q.Folders) + len(q.Tags))
	found, err := x.candidates(ctx, parts, filter, end)
	if err != nil {
		return nil, err
	}
	var hits []searchindex.Hit
	for _, hit := range found {
		h, err := w.hit(hit)
		if err != nil {
			return nil, err
		}
		if h.Score > 0 { // else it is only like what is looked for
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, func(a, b searchindex.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return hits[min(q.Offset, len(hits)):min(end, len(hits))], nil
}

// windows are how many candidates there are, so that pages which lie within the
// same one are of one order.
var windows = []int{200, 2000, searchindex.MaxOffset + searchindex.MaxLimit}

// candidates returns what Meilisearch finds best: of all words, and of all but
// the rarest one, two, and so on, since of the words that are asked for it
// leaves the most frequent out first, and the rarest never.
func (x *Index) candidates(ctx context.Context, parts []part, filter string, end int) (meilisearch.Hits, error) {
	i, _ := slices.BinarySearch(windows, 2*end)
	request := &meilisearch.MultiSearchRequest{Federation: &meilisearch.MultiSearchFederation{Limit: int64(windows[min(i, len(windows)-1)])}}
	for _, part := range parts {
		request.Queries = append(request.Queries, &meilisearch.SearchRequest{
			IndexUID: x.uid, Query: part.text, MatchingStrategy: meilisearch.Frequency, Filter: filterValue(filter),
			AttributesToRetrieve: []string{"id", "title", "section", "text"},
			FederationOptions:    &meilisearch.SearchFederationOptions{Weight: part.share},
		})
	}
	found, err := x.multiSearch(ctx, request)
	if err == nil && found != nil && found.Hits == nil {
		err = errNotMeilisearch
	}
	if err != nil || found == nil {
		return nil, x.told("search", err)
	}
	return found.Hits, nil
}

// multiSearch asks several queries at once; where the index is not there yet
// found is nil.
func (x *Index) multiSearch(ctx context.Context, request *meilisearch.MultiSearchRequest) (found *meilisearch.MultiSearchResponse, err error) {
	err = x.ask(ctx, func(ctx context.Context) (err error) {
		found, err = x.server.client.MultiSearchWithContext(ctx, request)
		return err
	})
	if missing(err) {
		return nil, x.lost(err)
	}
	return found, err
}

func filterValue(filter string) any {
	if filter == "" {
		return nil
	}
	return filter
}

// count returns in how many passages each of some words is, or, where they are
// not exact, one that is written alike.
func (x *Index) count(ctx context.Context, words []string, exact bool) ([]float64, error) {
	counts := make([]float64, len(words))
	if len(words) == 0 {
		return counts, nil
	}
	request := new(meilisearch.MultiSearchRequest)
	for _, word := range words {
		if exact {
			word = `"` + word + `"`
		}
		request.Queries = append(request.Queries, &meilisearch.SearchRequest{
			IndexUID: x.uid, Query: word, Limit: 1, AttributesToRetrieve: []string{"id"},
		})
	}
	found, err := x.multiSearch(ctx, request)
	if err == nil && found != nil && len(found.Results) != len(words) {
		err = errNotMeilisearch
	}
	if err != nil || found == nil {
		return counts, x.told("search", err)
	}
	for i, r := range found.Results {
		counts[i] = float64(r.EstimatedTotalHits)
	}
	return counts, nil
}

// filterOf writes what limits a query; none tells that nothing can pass.
func filterOf(q searchindex.Query) (filter string, none bool) {
	var clauses []string
	in := func(attribute string, values ...string) {
		clauses = append(clauses, attribute+" IN ["+strings.Join(keys(values), ", ")+"]")
	}
	if !q.All {
		if len(q.Granted) == 0 {
			return "", true
		}
		in("folders", q.Granted...)
	}
	if len(q.Folders) > 0 {
		in("folders", q.Folders...)
	}
	if q.Document != "" {
		in("document", q.Document)
	}
	if q.AnyTag && len(q.Tags) > 0 {
		in("tags", q.Tags...)
	} else {
		for _, tag := range q.Tags {
			in("tags", tag)
		}
	}
	return strings.Join(clauses, " AND "), false
}

// textOf reads one of a hit's texts.
func textOf(hit meilisearch.Hit, attribute string) (text string, err error) {
	if err := json.Unmarshal(hit[attribute], &text); err != nil {
		return "", kind(errNotMeilisearch)
	}
	return text, nil
}
