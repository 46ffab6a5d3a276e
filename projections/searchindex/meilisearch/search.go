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
	readable, limits, none := filterOf(q)
	if len(terms) == 0 || none {
		return nil, nil
	}
	w, err := x.weigh(ctx, terms, q.More, countedIn(q, len(terms)))
	if err != nil || len(w.terms) == 0 {
		return nil, err
	}
	end := q.Offset + cmp.Or(q.Limit, 10)
	found, err := x.candidates(ctx, w.parts(), readable.and(limits), end)
	if err != nil {
		return nil, err
	}
	w.settle(found)
	var hits []searchindex.Hit
	for _, c := range found {
		if score := w.score(c); score > 0 { // else it is only like what is looked for
			hits = append(hits, searchindex.Hit{ID: c.id, Score: score})
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
// the weakest one, two, and so on. Which words it leaves out first is for the
// order of the words to say (Last): by itself it would go by how frequent they are
// in all passages, also those that the caller may not read. Parts that are dear,
// because the filter names many values, are asked a few at a time, until enough
// is found.
func (x *Index) candidates(ctx context.Context, parts []part, f filter, end int) ([]candidate, error) {
	i, _ := slices.BinarySearch(windows, 2*end)
	var all []candidate
	seen := make(map[string]bool)
	most := max(fewestParts, filteredValues/max(f.values, 1))
	for some := range slices.Chunk(parts[:min(len(parts), max(fewestParts, allValues/max(f.values, 1)))], most) {
		request := &meilisearch.MultiSearchRequest{Federation: &meilisearch.MultiSearchFederation{Limit: int64(windows[min(i, len(windows)-1)])}}
		for _, part := range some {
			request.Queries = append(request.Queries, &meilisearch.SearchRequest{
				IndexUID: x.uid, Query: part.text, MatchingStrategy: meilisearch.Last, Filter: f.value(),
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
		for _, hit := range found.Hits {
			c, err := newCandidate(hit)
			if err != nil {
				return nil, err
			}
			if !seen[c.id] {
				seen[c.id] = true
				all = append(all, c)
			}
		}
		if len(all) >= end {
			break
		}
	}
	return all, nil
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

// count returns in how many passages of a scope each of some words is, or, where
// they are not exact, one that is written alike.
func (x *Index) count(ctx context.Context, words []string, exact bool, scope filter) ([]float64, error) {
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
			IndexUID: x.uid, Query: word, Limit: 1, Filter: scope.value(), AttributesToRetrieve: []string{"id"},
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

// filter is what limits a query, as Meilisearch reads it, "" where nothing does.
type filter struct {
	text   string
	values int // that it names
}

func (f filter) value() any {
	if f.text == "" {
		return nil
	}
	return f.text
}

func (f filter) and(other filter) filter {
	text := strings.TrimPrefix(strings.TrimSuffix(f.text+" AND "+other.text, " AND "), " AND ")
	return filter{text, f.values + other.values}
}

func oneOf(attribute string, values ...string) filter {
	return filter{attribute + " IN [" + strings.Join(keys(values), ", ") + "]", len(values)}
}

// filterOf writes what of the folders that are asked for the caller may read, and
// what else limits a query; none tells that nothing can pass.
func filterOf(q searchindex.Query) (readable, limits filter, none bool) {
	if !q.All && len(q.Granted) == 0 {
		return readable, limits, true
	}
	if !q.All && !(q.Inside && len(q.Folders) > 0) {
		readable = oneOf("folders", q.Granted...)
	}
	if len(q.Folders) > 0 {
		readable = readable.and(oneOf("folders", q.Folders...))
	}
	if q.Document != "" {
		limits = oneOf("document", q.Document)
	}
	if q.AnyTag && len(q.Tags) > 0 {
		limits = limits.and(oneOf("tags", q.Tags...))
	} else {
		for _, tag := range q.Tags {
			limits = limits.and(oneOf("tags", tag))
		}
	}
	return readable, limits, false
}

// countedIn is where so many words are counted: in all that the caller may read,
// or, where that takes a filter that is too dear, in what is asked for of it.
func countedIn(q searchindex.Query, words int) filter {
	switch readable, _, _ := filterOf(q); {
	case q.All:
		return filter{}
	case words*len(q.Granted) <= countedValues:
		return oneOf("folders", q.Granted...)
	default:
		return readable
	}
}

// textOf reads one of a hit's texts.
func textOf(hit meilisearch.Hit, attribute string) (text string, err error) {
	if err := json.Unmarshal(hit[attribute], &text); err != nil {
		return "", kind(errNotMeilisearch)
	}
	return text, nil
}
