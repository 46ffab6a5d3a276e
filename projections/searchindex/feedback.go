package searchindex

import (
	"cmp"
	"math"
	"slices"
)

const (
	// feedbackModels is how many of the best passages Expand takes terms from.
	feedbackModels = 10
	// feedbackPower makes passages count less if their score is below the best score: a
	// passage with 90 % of the best score counts about four tenths.
	feedbackPower = 8
	// feedbackTerms is the number of terms that Expand returns, from which an engine
	// may choose.
	feedbackTerms = 200
)

// Expand returns terms for a second search with the same query: the most characteristic
// terms of the best passages that the first search found. They raise the score of
// passages that describe the same subject in other words. This is pseudo-relevance
// feedback: the vectors of Rocchio (in Salton, The SMART Retrieval System, 1971), mixed
// into the query as in RM3 (Abdul-Jaleel and others, UMass at TREC 2004). If one passage
// fits the query far better than all others, almost only its terms count, so that it
// stays the first hit. Candidates must be in the engine's order.
func Expand(query string, candidates []Candidate) []Term {
	if len(candidates) == 0 {
		return nil
	}
	r := newReranking(query, candidates)
	hits := r.proximity(candidates)
	for i := range r.weights {
		r.weights[i] = 1 // the engine's statistics of rareness are better
	}
	_, _, model := r.model(hits)
	return r.strongest(model)
}

// strongest returns the terms with the greatest weights in a model.
func (r *reranking) strongest(model []float64) []Term {
	var terms []Term
	for term, t := range r.vocabulary {
		if model[t] > 0 {
			terms = append(terms, Term{term, model[t]})
		}
	}
	slices.SortFunc(terms, func(a, b Term) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Text, b.Text))
	})
	return terms[:min(feedbackTerms, len(terms))]
}

// model returns the candidates as vectors, and the model of a relevant passage: the sum
// of the best candidates' vectors, each multiplied by the candidate's weight. own has
// these weights.
func (r *reranking) model(hits []Hit) (vectors []vector, own, model []float64) {
	vectors = make([]vector, len(r.candidates))
	model = make([]float64, r.numbers)
	for i, c := range r.candidates {
		vectors[i] = r.vector(c, model)
	}
	order := make([]int, len(hits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return CompareHits(hits[a], hits[b]) })
	own = make([]float64, len(hits))
	for _, i := range order[:min(feedbackModels, len(order))] {
		if best := hits[order[0]].Score; best > 0 {
			own[i] = math.Pow(hits[i].Score/best, feedbackPower)
		}
		for _, d := range vectors[i] {
			model[d.term] += own[i] * d.weight
		}
	}
	return vectors, own, model
}

// similarity returns how similar each candidate is to the best of the other candidates:
// the cosine between the candidate's vector and the sum of the others' vectors.
func (r *reranking) similarity(hits []Hit) []float64 {
	vectors, own, model := r.model(hits)
	length := 0.0
	for _, w := range model {
		length += w * w
	}
	length = math.Sqrt(length)
	similar := make([]float64, len(hits))
	for i, v := range vectors {
		dot := -own[i] // leave the candidate's own vector out of the sum
		for _, d := range v {
			dot += d.weight * model[d.term]
		}
		if length > 0 && len(v) > 0 {
			similar[i] = max(0, dot) / length
		}
	}
	return similar
}

// vector has the weighted terms of a text. It is normalised to length 1.
type vector []dimension

type dimension struct {
	term   int32
	weight float64
}

// vector returns the weighted terms of title and text, without stop words, in the order
// of their first appearance. counts is scratch space: all zeros before and after the
// call.
func (r *reranking) vector(c termedCandidate, counts []float64) vector {
	var v vector
	for _, t := range c.terms[c.title:] {
		if t == noTerm || r.stop[t] {
			continue
		}
		if counts[t] == 0 {
			v = append(v, dimension{term: t})
		}
		counts[t]++
	}
	length := 0.0
	for i := range v {
		v[i].weight = (1 + math.Log(counts[v[i].term])) * r.weights[v[i].term]
		counts[v[i].term] = 0
		length += v[i].weight * v[i].weight
	}
	length = math.Sqrt(length)
	for i := range v {
		v[i].weight /= length
	}
	return v
}
