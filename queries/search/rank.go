package search

import (
	"cmp"
	"slices"
	"strings"

	"annals/projections/searchindex"
)

// candidates converts sources for reranking.
func candidates(found []Source) []searchindex.Candidate {
	all := make([]searchindex.Candidate, len(found))
	for i := range found {
		all[i] = found[i].candidate()
	}
	return all
}

func (s *Source) candidate() searchindex.Candidate {
	return searchindex.Candidate{
		Hit:   searchindex.Hit{ID: s.id, Score: s.Score},
		Title: s.Title, Section: strings.Join(s.Path, " > "), Text: s.body,
	}
}

// rank returns hits, and documents whose names match the query, in their final order. It
// uses texts and titles, which the engine does not have, and what is near the query by its
// meaning, unless near is nil. searchindex.Spread selects the
// first passages, as many as fit on the first page, so that they are from more
// documents.
func rank(query string, first int, found []Source, near *near, named []named) []Source {
	byID := make(map[string]Source, len(found))
	for _, f := range found {
		byID[f.id] = f
	}
	all := candidates(found)
	hits := searchindex.Rerank(query, all)
	if near != nil {
		for _, f := range near.others {
			byID[f.id] = f
		}
		hits = searchindex.Mix(query, all, hits, near.cosines)
	}
	hits = raise(hits, byID, named)
	documents := make(map[string]string, len(byID))
	for id, f := range byID {
		documents[id] = f.Document.String()
	}
	sources := make([]Source, 0, len(hits))
	add := func(h searchindex.Hit) {
		if f, ok := byID[h.ID]; ok {
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

// raise adds the bonus for a document's name to the document's best hit, or to its
// first passage if it has no hit.
func raise(hits []searchindex.Hit, byID map[string]Source, all []named) []searchindex.Hit {
	top := 1.0
	if len(hits) > 0 {
		top = hits[0].Score
	}
	for _, n := range all {
		at := slices.IndexFunc(hits, func(h searchindex.Hit) bool { return byID[h.ID].Document == n.Document })
		if at < 0 {
			at, hits = len(hits), append(hits, searchindex.Hit{ID: n.id})
			byID[n.id] = n.Source
		}
		hits[at].Score += top * namedWeight * n.share
	}
	slices.SortStableFunc(hits, func(a, b searchindex.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID))
	})
	return hits
}
