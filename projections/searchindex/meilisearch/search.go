package meilisearch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"annals/projections/searchindex"
	"annals/projections/searchindex/language"

	"github.com/meilisearch/meilisearch-go"
)

// Search returns the best passages first; ties are broken by id.
//
// Meilisearch orders passages by how many words of the query they contain and how close
// together these are. It does not weight words. So it only selects candidates, many more
// than the limit, and Search scores them.
//
// Search has a timeout, and fails immediately while the circuit breaker is open.
func (x *index) Search(ctx context.Context, q searchindex.Query) (hits []searchindex.Hit, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = x.server.breaker.do(ctx, x.server.limits.search, func(ctx context.Context) (err error) {
		hits, err = x.search(ctx, q)
		return err
	})
	return hits, err
}

func (x *index) search(ctx context.Context, q searchindex.Query) ([]searchindex.Hit, error) {
	readable, limits, none := filterOf(q)
	if none || len(searchindex.QueryTerms(q.Text)) == 0 {
		return nil, nil
	}
	w, err := x.weights(ctx, q.Text, q.More, readable)
	if err != nil || len(w.terms) == 0 {
		return nil, err
	}
	end := q.End()
	found, err := x.candidates(ctx, w.parts(q.Required, q.Excluded), readable.and(limits), end)
	if err != nil {
		return nil, err
	}
	w.countAmong(found)
	var hits []searchindex.Hit
	for _, c := range found {
		if !c.passes(q.Required, q.Excluded) {
			continue
		}
		if score := w.score(c); score > 0 { // a score of 0 means that the passage contains no term of the query
			hits = append(hits, searchindex.Hit{ID: c.id, Score: score})
		}
	}
	slices.SortFunc(hits, searchindex.CompareHits)
	return hits[min(q.Offset, len(hits)):min(end, len(hits))], nil
}

// windows are the numbers of candidates that may be requested. Result pages that need the
// same number come from the same candidates, so they are parts of one order.
var windows = []int{200, 2000, searchindex.MaxOffset + searchindex.MaxLimit}

// candidates returns the passages that Meilisearch ranks best for the parts of a query:
// all words, all but the weakest word, all but the two weakest, and so on. Meilisearch
// drops words from the end (strategy Last), because its other strategy would depend on
// how frequent words are in passages that the caller may not read. Parts are expensive if
// the filter has many values: then a few parts are sent at a time, until there are enough
// candidates.
func (x *index) candidates(ctx context.Context, parts []part, f filter, end int) ([]candidate, error) {
	i, _ := slices.BinarySearch(windows, 2*end)
	var all []candidate
	seen := make(map[string]bool)
	most := max(minParts, filteredValues/max(f.values, 1))
	for some := range slices.Chunk(parts[:min(len(parts), max(minParts, allValues/max(f.values, 1)))], most) {
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
			err = errUnexpectedReply
		}
		if err != nil || found == nil {
			return nil, x.wrap("search", err)
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

// multiSearch sends several queries in one request; found is nil if there is no index yet.
func (x *index) multiSearch(ctx context.Context, request *meilisearch.MultiSearchRequest) (found *meilisearch.MultiSearchResponse, err error) {
	err = x.read(ctx, func(ctx context.Context) (err error) {
		found, err = x.server.client.MultiSearchWithContext(ctx, request)
		return err
	})
	if missing(err) {
		return nil, x.lost(err)
	}
	return found, err
}

// count returns for each word how many passages of a scope contain it. Unless exact is
// set, words of similar spelling count, too.
func (x *index) count(ctx context.Context, words []string, exact bool, scope filter) ([]float64, error) {
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
		err = errUnexpectedReply
	}
	if err != nil || found == nil {
		return counts, x.wrap("search", err)
	}
	for i, r := range found.Results {
		counts[i] = float64(r.EstimatedTotalHits)
	}
	return counts, nil
}

// describe returns how many passages a scope has, and the languages of them except English.
func (x *index) describe(ctx context.Context, scope filter) (passages float64, languages []*language.Language, err error) {
	found, err := x.multiSearch(ctx, &meilisearch.MultiSearchRequest{Queries: []*meilisearch.SearchRequest{{
		IndexUID: x.uid, Limit: 1, Filter: filter{text: "document EXISTS"}.and(scope).value(), AttributesToRetrieve: []string{"id"}, Facets: []string{"language"},
	}}})
	if err == nil && found != nil && len(found.Results) != 1 {
		err = errUnexpectedReply
	}
	if err != nil || found == nil {
		return 0, nil, x.wrap("search", err)
	}
	var counts struct{ Language map[string]int }
	if facets := found.Results[0].FacetDistribution; len(facets) > 0 {
		if err := json.Unmarshal(facets, &counts); err != nil {
			return 0, nil, x.wrap("search", errUnexpectedReply)
		}
	}
	for _, l := range language.All {
		if counts.Language[l.Code] > 0 {
			languages = append(languages, l)
		}
	}
	return float64(found.Results[0].EstimatedTotalHits), languages, nil
}

// filter limits a query, in Meilisearch's syntax. If text is "", there is no limit.
type filter struct {
	text   string
	values int // number of values in it
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

// filterOf returns two filters. readable selects the passages in requested folders that
// the caller may read. limits selects the passages of the requested document and tags.
// none reports that no passage can pass both.
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

// textOf decodes one attribute of a hit.
func textOf(hit meilisearch.Hit, attribute string) (text string, err error) {
	if err := json.Unmarshal(hit[attribute], &text); err != nil {
		return "", classify(errUnexpectedReply)
	}
	return text, nil
}
