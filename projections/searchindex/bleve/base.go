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

// raised is the number of passages that further terms may raise, unless twice as many hits
// are asked for: those with the best scores for the query's own terms. Other passages
// hardly become one of the best.
const raised = 1000

// base has the scores that passages have for the text of a query in an area. They are
// those of one snapshot of the index. Filters of the query do not change them.
type base struct {
	snapshot weak.Pointer[scorch.IndexSnapshot]
	text     string
	begun    []searchindex.Beginning
	in       area
	weight   float64 // sum of the weights of the query's terms
	size     int     // number of scores
	top      float64 // the best score
	segments []scoreList
}

// scoreList has some passages of a segment, with their scores.
type scoreList struct {
	numbers []uint32
	scores  []float64
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
	b.size += len(s.touched)
	values := make([]float64, len(s.touched))
	for i, number := range s.touched {
		values[i] = s.scores[number]
		b.top = max(b.top, values[i])
	}
	b.segments = append(b.segments, scoreList{slices.Clone(s.touched), values})
}

// best returns, by segment, about n passages with the best scores among those that pass the
// filters, or all if there are fewer. Of passages with equal scores it returns all or none.
func (b *base) best(n int, pass []filter) []scoreList {
	const steps = 4096 // scores are compared by their step, so that they need not be sorted
	step := func(score float64) int { return int(score / b.top * (steps - 1)) }
	counts := make([]int, steps)
	found := make([]scoreList, len(b.segments))
	for i, s := range b.segments {
		if !pass[i].all() {
			s = s.passing(pass[i])
		}
		found[i] = s
		for _, score := range s.scores {
			counts[step(score)]++
		}
	}
	lowest := steps - 1
	for n -= counts[lowest]; lowest > 0 && n > 0; n -= counts[lowest] {
		lowest--
	}
	for i, s := range found {
		var kept scoreList
		for j, score := range s.scores {
			if step(score) >= lowest {
				kept.numbers, kept.scores = append(kept.numbers, s.numbers[j]), append(kept.scores, score)
			}
		}
		found[i] = kept
	}
	return found
}

func (s scoreList) passing(pass filter) (kept scoreList) {
	for j, number := range s.numbers {
		if pass.passes(number) {
			kept.numbers, kept.scores = append(kept.numbers, number), append(kept.scores, s.scores[j])
		}
	}
	return kept
}

// copyTo sets scores of a segment, which must have none.
func (s scoreList) copyTo(to *scores) {
	to.touched = append(to.touched, s.numbers...)
	for j, number := range s.numbers {
		to.scores[number] = s.scores[j]
	}
}
