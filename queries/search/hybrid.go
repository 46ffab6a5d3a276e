package search

import (
	"context"
	"sync"
	"time"

	"annals/events"
	"annals/projections/readmodel/vectors"
	"annals/projections/searchindex"
)

// Embedder makes the vectors of queries.
type Embedder interface {
	// Query returns the vector of a query, of length 1, or an error if that takes longer
	// than a search can wait.
	Query(ctx context.Context, model string, dimensions int, text string) ([]float32, error)
}

// nearest is how many passages a search takes that are nearest to the query by their
// vectors, and how many that match its words best.
const nearest = 100

// compareTime is how long a search waits until the vectors are compared.
var compareTime = 2 * time.Second

// meaning is what the vectors of passages say about a query.
type meaning struct {
	generation int       // of the vectors
	vector     []float32 // of the query
	hits       []searchindex.Hit
}

// hybrid reports whether searches use vectors.
func (q *Searcher) hybrid() bool { return q.Embedder != nil && q.Models.Vectors != nil }

// byMeaning begins to look for the passages that are nearest to a query by their vectors, while
// the engine looks for its words. result waits for them. It returns nil if the service makes
// no vectors, has none yet, or cannot make that of the query in time: then the words
// alone decide. end must be called: it ends the work if nobody waits for its result.
func (q *Searcher) byMeaning(ctx context.Context, text string, query searchindex.Query) (result func() *meaning, end func()) {
	if !q.hybrid() {
		return func() *meaning { return nil }, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var found *meaning
	var work sync.WaitGroup
	work.Go(func() { found = q.meaningOf(ctx, text, query) })
	result = func() *meaning {
		work.Wait()
		return found
	}
	return result, func() {
		cancel()
		work.Wait()
	}
}

// meaningOf returns nil after an error: a client of the endpoint counts its failures, and a
// Runner handles those of its tables.
func (q *Searcher) meaningOf(ctx context.Context, text string, query searchindex.Query) *meaning {
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	m := meaning{generation: q.Models.Vectors.Generation()}
	model, err := vectors.ModelOf(ctx, q.Models.Vectors.DB())
	if err != nil || model.Name == "" {
		return nil
	}
	if m.vector, err = q.Embedder.Query(ctx, model.Name, model.Dimensions, text); err != nil {
		return nil
	}
	if m.hits, err = vectors.Nearest(ctx, q.Models.Vectors.DB(), query, m.vector, nearest); err != nil {
		return nil
	}
	return &m
}

// near has the cosines of passages, by their ids, and those passages that were not found by
// words.
type near struct {
	cosines map[string]float64
	others  []Source
}

// near returns how near passages are to the query: those that were found by words, and the
// nearest ones that the user may read. It adds passages with the same texts to the duplicates
// of found. The result is nil if meant is nil.
func (q *Searcher) near(ctx context.Context, user events.User, s Query, found []Source, meant *meaning) (*near, error) {
	if meant == nil {
		return nil, nil
	}
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.id
	}
	n := new(near)
	var err error
	if n.cosines, err = vectors.Cosines(ctx, q.Models.Vectors.DB(), ids, meant.vector); err != nil {
		return nil, nil
	}
	// The vectors may be of other passages than those that are shown now, and they lag more
	// than the engine: earlier contents are left out.
	generation := q.Models.Passages.Generation()
	c := check{Searcher: q, user: user, search: s, versions: make(map[string]int), waited: true, lagging: true}
	others, err := c.recheck(ctx, meant.hits)
	if err != nil {
		return nil, err
	}
	if q.Models.Passages.Generation() != generation || q.Models.Vectors.Generation() != meant.generation {
		return nil, nil
	}
	all := newDistinct(found)
	for _, o := range others {
		all.add(o)
	}
	copy(found, all.sources)
	n.others = all.sources[len(found):]
	for _, o := range n.others {
		n.cosines[o.id] = o.Score
	}
	return n, nil
}
