package bleve

import (
	"slices"
	"sync"
	"weak"

	"annals/projections/searchindex"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// baseCache has the scores of the latest queries without further terms. Usually the same
// query follows with further terms, and its search needs the same scores again.
type baseCache struct {
	mu   sync.Mutex
	last []*base // the latest query first
}

const (
	// cachedBases is the maximum number of queries in the cache.
	cachedBases = 4
	// cachedScores is the maximum number of scores of one query. A score takes 12 bytes.
	cachedScores = 500_000
)

// base has the scores that passages have for the text of a query in an area, by segment.
// They are those of one snapshot of the index. Filters of the query do not change them.
type base struct {
	snapshot weak.Pointer[scorch.IndexSnapshot]
	text     string
	begun    []searchindex.Beginning
	in       area
	weight   float64 // sum of the weights of the query's terms
	size     int     // number of scores
	touched  [][]uint32
	scores   [][]float64
}

func newBase(s *scorch.IndexSnapshot, q searchindex.Query) *base {
	in, _ := areaOf(q)
	return &base{snapshot: weak.Make(s), text: q.Text, begun: q.Beginnings, in: in}
}

// known returns the same base with its scores, or nil.
func (c *baseCache) known(b *base) *base {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.last, func(o *base) bool {
		return o.snapshot == b.snapshot && o.text == b.text && slices.EqualFunc(o.begun, b.begun, func(x, y searchindex.Beginning) bool { return x.Text == y.Text }) && o.in.equal(b.in)
	})
	if i < 0 {
		return nil
	}
	return c.last[i]
}

// keep adds a base whose scores are complete, and removes those of other snapshots.
func (c *baseCache) keep(b *base) {
	if b.size > cachedScores {
		return
	}
	b.in = area{slices.Clone(b.in.granted), slices.Clone(b.in.requested)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = slices.DeleteFunc(c.last, func(o *base) bool { return o.snapshot != b.snapshot })
	c.last = slices.Insert(c.last[:min(len(c.last), cachedBases-1)], 0, b)
}

// add adds the scores of the next segment.
func (b *base) add(s *scores) {
	if b.size += len(s.touched); b.size > cachedScores {
		return
	}
	values := make([]float64, len(s.touched))
	for i, number := range s.touched {
		values[i] = s.scores[number]
	}
	b.touched, b.scores = append(b.touched, slices.Clone(s.touched)), append(b.scores, values)
}

// copyTo sets the scores of segment i, which must have none.
func (b *base) copyTo(s *scores, i int) {
	s.touched = append(s.touched, b.touched[i]...)
	for j, number := range b.touched[i] {
		s.scores[number] = b.scores[i][j]
	}
}
