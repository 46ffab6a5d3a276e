package searchindex

import (
	"slices"

	"annals/projections/searchindex/bm25"
	"annals/projections/searchindex/language"
)

// Candidates is how many of an engine's best hits to rerank. On the development
// collections, more candidates change little.
const Candidates = 40

// Candidate is a hit with the texts of its passage.
type Candidate struct {
	Hit
	Title, Section, Text string
}

// The maximum that each property of a passage adds to the passage's score, as a share of
// the score of the best hit.
const (
	pairShare    = 0.3 // all adjacent words of the query are adjacent in the passage
	windowShare  = 0.4 // all words of the query occur within windowTerms terms
	quoteShare   = 0.3 // the passage contains the whole query word for word
	defineShare  = 0.6 // the passage defines what the query names
	similarShare = 0.3 // the passage is fully similar to the best passages
	windowTerms  = 12
	quoteTerms   = 5 // a shorter query is not regarded as a quotation
)

// Rerank orders the best hits of an engine by properties that the engine ignores: whether
// words of the query are adjacent in the passage, whether they are within one window,
// whether the passage quotes the query or defines what it names, and whether it is similar
// to the best passages. Candidates must be in the engine's order. All of them are
// returned, with new scores. Rareness is computed among the
// candidates, so that the result depends only on the arguments.
func Rerank(query string, candidates []Candidate) []Hit {
	if len(candidates) == 0 {
		return nil
	}
	r := newReranking(query, candidates)
	hits := r.proximity(candidates)
	best := bestScore(candidates)
	for i, similarity := range r.similarity(hits) {
		hits[i].Score += best * similarShare * similarity
	}
	slices.SortStableFunc(hits, CompareHits)
	return hits
}

func bestScore(candidates []Candidate) float64 {
	best := 0.0
	for _, c := range candidates {
		best = max(best, c.Score)
	}
	return best
}

// proximity returns all candidates. It raises the scores of candidates in which words of
// the query are close together.
func (r *reranking) proximity(candidates []Candidate) []Hit {
	best := bestScore(candidates)
	hits := make([]Hit, len(candidates))
	pairs := r.pairs()
	for i, c := range candidates {
		hits[i] = Hit{c.ID, c.Score + best*(pairShare*pairs[i]+windowShare*r.window(i))}
		if r.quotes(i) {
			hits[i].Score += best * quoteShare
		}
		if r.defines(i, c.Text) {
			hits[i].Score += best * defineShare
		}
	}
	return hits
}

// reranking has the terms of a query and of its candidates as numbers. The terms of the
// query have the lowest numbers.
type reranking struct {
	vocabulary map[string]int32
	numbers    int32 // how many numbers there are: a term of the query has the same one in all languages
	query      []int32
	named      int   // how many different words the query has, without stop words
	wanted     int32 // terms with a number below wanted are terms of the query
	candidates []termedCandidate
	weights    []float64 // by term
	stop       []bool    // by term
}

// termedCandidate has the terms of a candidate's section, title and text, separated by
// noTerm.
type termedCandidate struct {
	language    *language.Language
	terms       []int32
	title, text int // indexes in terms at which title and text begin
}

const noTerm = -1

func newReranking(query string, candidates []Candidate) *reranking {
	r := &reranking{
		vocabulary: make(map[string]int32, 64*len(candidates)), candidates: make([]termedCandidate, len(candidates)),
	}
	var languages []*language.Language
	for i, c := range candidates {
		l := languageOf(c.Title, c.Section, c.Text)
		r.candidates[i].language = l
		if l != nil && !slices.Contains(languages, l) {
			languages = append(languages, l)
		}
	}
	r.setQuery(clip(query), languages)
	for i, c := range candidates {
		l := r.candidates[i].language
		terms := append(r.number(make([]int32, 0, len(c.Text)/4), l, c.Section), noTerm)
		title := len(terms)
		terms = append(r.number(terms, l, c.Title), noTerm)
		r.candidates[i] = termedCandidate{l, r.number(terms, l, c.Text), title, len(terms)}
	}
	r.setWeights()
	return r
}

// setQuery numbers the terms of the query. Its terms in a language have the numbers of the
// same words in English. Words that are one term in a language of a candidate, such as
// "une" and "d'une", are the same word everywhere: otherwise no text in that language would
// quote the query.
func (r *reranking) setQuery(query string, languages []*language.Language) {
	r.query = r.number(nil, nil, query)
	r.wanted = r.numbers
	named := make(map[int32]bool)
	for t, n := range r.vocabulary {
		named[n] = !stopTerms[t]
	}
	same := make([]int32, r.wanted) // for each number, an equal or lower one of the same word
	for n := range same {
		same[n] = int32(n)
	}
	lowest := func(n int32) int32 {
		for same[n] != n {
			n = same[n]
		}
		return n
	}
	for _, l := range languages {
		for i, t := range queryTerms(l, query) {
			n, known := r.vocabulary[t]
			if !known {
				r.vocabulary[t] = r.query[i]
				continue
			}
			a, b := lowest(n), lowest(r.query[i])
			same[max(a, b)] = min(a, b)
		}
	}
	for i, n := range r.query {
		r.query[i] = lowest(n)
	}
	for t, n := range r.vocabulary {
		r.vocabulary[t] = lowest(n)
	}
	for n, is := range named {
		if is && lowest(n) == n {
			r.named++
		}
	}
}

func (r *reranking) number(to []int32, l *language.Language, text string) []int32 {
	for _, t := range queryTerms(l, text) {
		n, known := r.vocabulary[t]
		if !known {
			n = r.numbers
			r.vocabulary[t] = n
			r.numbers++
		}
		to = append(to, n)
	}
	return to
}

// setWeights weights every term by its rareness in titles and texts.
func (r *reranking) setWeights() {
	found := make([]int, r.numbers)
	last := make([]int, r.numbers)
	for i, c := range r.candidates {
		for _, t := range c.terms[c.title:] {
			if t != noTerm && last[t] != i+1 {
				last[t] = i + 1
				found[t]++
			}
		}
	}
	r.weights = make([]float64, r.numbers)
	r.stop = make([]bool, r.numbers)
	used := make([]bool, r.numbers)
	for term, t := range r.vocabulary {
		used[t] = true
		r.stop[t] = r.stop[t] || stopTerms[term]
	}
	for t := range r.weights {
		if !used[t] {
			continue
		}
		r.weights[t] = bm25.RarenessAmong(found[t], len(r.candidates))
		if r.stop[t] {
			r.weights[t] *= stopWeight
		}
	}
}

// pairs returns, for each candidate, the share of the query's pairs of adjacent words
// that are adjacent in the candidate, too.
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
	holds := make([][]int, len(pairs)) // for each pair, the candidates that contain it, in order
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
		weight := bm25.RarenessAmong(len(holds[n]), len(r.candidates))
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

// quotes reports whether candidate i contains all words of the query in their order, without
// others between them. People search for a line of a text that they have before them.
func (r *reranking) quotes(i int) bool {
	if len(r.query) < quoteTerms {
		return false
	}
	return containsSequence(r.candidates[i].terms, r.query)
}

// window returns the greatest share of the query's terms that occur in one window of
// candidate i's text.
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

// Spread selects up to limit hits from different documents. The first half are the best
// hits of all, the second half the best hits of further documents. If there are too few
// documents, it adds the best remaining hits. It keeps the order of hits.
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
