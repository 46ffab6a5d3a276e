package searchindex

import (
	"cmp"
	"math"
	"slices"
)

// Candidates is how many of an engine's best hits Rerank should be given: on
// the development collections, more change little.
const Candidates = 40

// Candidate is a hit with the texts of its passage.
type Candidate struct {
	Hit
	Title, Section, Text string
}

// How much each sign of a good passage adds to its score, as a share of the
// score of the best hit.
const (
	pairShare   = 0.3 // all words that are neighbours in the query are neighbours in it
	windowShare = 0.4 // all words of the query stand within windowTerms of it
	kinShare    = 0.2 // it is like the best ones as a whole
	windowTerms = 12
)

// Rerank orders the best hits of an engine by what it cannot see: whether the
// words of the query stand together in the passage, as neighbours and in one
// window, and whether the passage is like those that look best. Candidates come
// in the engine's order, and all of them are returned, with their new scores.
// How rare a word is, is judged among the candidates, so that the answer depends
// on the arguments alone.
func Rerank(query string, candidates []Candidate) []Hit {
	if len(candidates) == 0 {
		return nil
	}
	r := newReranking(query, candidates)
	hits := r.together(candidates)
	best := bestScore(candidates)
	for i, kin := range r.kinship(hits) {
		hits[i].Score += best * kinShare * kin
	}
	slices.SortStableFunc(hits, compareHits)
	return hits
}

func bestScore(candidates []Candidate) float64 {
	best := 0.0
	for _, c := range candidates {
		best = max(best, c.Score)
	}
	return best
}

// compareHits orders the better hit first.
func compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
}

// together returns the candidates with what they gain by words that stand
// together.
func (r *reranking) together(candidates []Candidate) []Hit {
	best := bestScore(candidates)
	hits := make([]Hit, len(candidates))
	pairs := r.pairs()
	for i, c := range candidates {
		hits[i] = Hit{c.ID, c.Score + best*(pairShare*pairs[i]+windowShare*r.window(i))}
	}
	return hits
}

// reranking holds the terms of a query and of its candidates as numbers, those
// of the query first.
type reranking struct {
	vocabulary map[string]int32
	query      []int32
	wanted     int32 // terms below this number are the query's
	candidates []termed
	weights    []float64 // by term
	stop       []bool    // by term
}

// termed is a candidate in terms: those of its section, title and text, with
// noTerm between them.
type termed struct {
	terms       []int32
	title, text int // where these begin in terms
}

const noTerm = -1

func newReranking(query string, candidates []Candidate) *reranking {
	r := &reranking{vocabulary: make(map[string]int32, 64*len(candidates)), candidates: make([]termed, len(candidates))}
	r.query = r.number(nil, clip(query))
	r.wanted = int32(len(r.vocabulary))
	for i, c := range candidates {
		terms := append(r.number(make([]int32, 0, len(c.Text)/4), c.Section), noTerm)
		title := len(terms)
		terms = append(r.number(terms, c.Title), noTerm)
		r.candidates[i] = termed{r.number(terms, c.Text), title, len(terms)}
	}
	r.weigh()
	return r
}

func (r *reranking) number(to []int32, text string) []int32 {
	for _, t := range queryTerms(text) {
		n, known := r.vocabulary[t]
		if !known {
			n = int32(len(r.vocabulary))
			r.vocabulary[t] = n
		}
		to = append(to, n)
	}
	return to
}

// weigh gives every term its weight by its rareness in title and text.
func (r *reranking) weigh() {
	found := make([]int, len(r.vocabulary))
	last := make([]int, len(r.vocabulary))
	for i, c := range r.candidates {
		for _, t := range c.terms[c.title:] {
			if t != noTerm && last[t] != i+1 {
				last[t] = i + 1
				found[t]++
			}
		}
	}
	r.weights = make([]float64, len(r.vocabulary))
	r.stop = make([]bool, len(r.vocabulary))
	for term, t := range r.vocabulary {
		r.weights[t] = termWeight(term) * r.rareness(found[t])
		r.stop[t] = stopTerms[term]
	}
}

// rareness is what BM25 takes for it, as if each candidate stood for three
// more passages that hold nothing of the query.
func (r *reranking) rareness(found int) float64 {
	n, f := 4*float64(len(r.candidates)), float64(found)
	return math.Log(1 + (n-f+0.5)/(f+0.5))
}

// pairs returns, for each candidate, the share of the query's neighbours that
// are neighbours in it.
func (r *reranking) pairs() []float64 {
	type pair [2]int32
	number := make(map[pair]int)
	var pairs []pair
	for i := 1; i < len(r.query); i++ {
		p := pair{r.query[i-1], r.query[i]}
		if _, known := number[p]; !known {
			number[p] = len(pairs)
			pairs = append(pairs, p)
		}
	}
	shares := make([]float64, len(r.candidates))
	if len(pairs) == 0 {
		return shares
	}
	holds := make([][]int, len(pairs)) // candidates in order
	for i, c := range r.candidates {
		for j := 1; j < len(c.terms); j++ {
			a, b := c.terms[j-1], c.terms[j]
			if uint32(a) >= uint32(r.wanted) || uint32(b) >= uint32(r.wanted) {
				continue
			}
			if n, known := number[pair{a, b}]; known && (len(holds[n]) == 0 || holds[n][len(holds[n])-1] != i) {
				holds[n] = append(holds[n], i)
			}
		}
	}
	total := 0.0
	for n, p := range pairs {
		weight := r.rareness(len(holds[n]))
		if r.stop[p[0]] && r.stop[p[1]] {
			weight *= stopWeight
		}
		total += weight
		for _, i := range holds[n] {
			shares[i] += weight
		}
	}
	for i := range shares {
		shares[i] /= total
	}
	return shares
}

// window returns the greatest share of the query's terms that stand in one
// window of candidate i's text.
func (r *reranking) window(i int) float64 {
	total := 0.0
	for _, w := range r.weights[:r.wanted] {
		total += w
	}
	if total == 0 {
		return 0
	}
	inside := make([]int, r.wanted)
	best, now := 0.0, 0.0
	text := r.candidates[i].terms[r.candidates[i].text:]
	for j, t := range text {
		if j >= windowTerms {
			if left := text[j-windowTerms]; left < r.wanted {
				if inside[left]--; inside[left] == 0 {
					now -= r.weights[left]
				}
			}
		}
		if t < r.wanted {
			if inside[t]++; inside[t] == 1 {
				now += r.weights[t]
			}
		}
		best = max(best, now)
	}
	return best / total
}

// Spread picks, of hits in order, up to limit ones to show: the first half as
// they are, then those of documents that are not shown yet, and others only
// when there are no more of these. They stay in order. document tells a hit's
// document.
func Spread(hits []Hit, limit int, document func(Hit) string) []Hit {
	if len(hits) <= limit {
		return hits
	}
	shown := make(map[string]bool)
	pick := make([]bool, len(hits))
	picked := 0
	for i, h := range hits {
		if d := document(h); picked < (limit+1)/2 || picked < limit && !shown[d] {
			pick[i], shown[d] = true, true
			picked++
		}
	}
	spread := make([]Hit, 0, limit)
	for i, h := range hits {
		if !pick[i] && picked < limit {
			pick[i] = true
			picked++
		}
		if pick[i] {
			spread = append(spread, h)
		}
	}
	return spread
}
