package answer

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
)

var fitWeights = flag.Bool("fit", false, "fit the weights to the development corpora and print them")

// choice is an observation for a conditional logit: the features of some candidates, and
// which of them are right.
type choice struct {
	vectors [][]float64
	right   []bool
	fold    int
}

// fitChoice returns the n weights that maximise the likelihood of the right candidates,
// with an L2 penalty. It runs the Adam optimizer over all choices except those in the
// fold skip.
func fitChoice(choices []choice, n int, skip int, l2 float64, steps int) []float64 {
	w := make([]float64, n)
	a := newAdam(n)
	p := make([]float64, 0, 1024)
	for range steps {
		g := make([]float64, n)
		count := 0.0
		for _, c := range choices {
			if c.fold == skip {
				continue
			}
			count++
			p = p[:0]
			for _, v := range c.vectors {
				p = append(p, dot(w, v))
			}
			softmax(p)
			right := 0.0
			for i, ok := range c.right {
				if ok {
					right += p[i]
				}
			}
			right = max(right, 1e-12)
			for i, v := range c.vectors {
				d := -p[i]
				if c.right[i] {
					d += p[i] / right
				}
				if math.Abs(d) < 1e-6 {
					continue
				}
				for k, x := range v {
					g[k] += d * x
				}
			}
		}
		for k := range g {
			g[k] = g[k]/count - l2*w[k]
		}
		a.step(w, g)
	}
	return w
}

// example is an observation for a logistic regression.
type example struct {
	vector []float64
	right  bool
	weight float64
	fold   int
}

// fitLogistic is like fitChoice, for a logistic regression. It does not penalize the
// bias.
func fitLogistic(examples []example, n, skip int, l2 float64, steps int) []float64 {
	w := make([]float64, n)
	a := newAdam(n)
	for range steps {
		g := make([]float64, n)
		total := 0.0
		for _, e := range examples {
			if e.fold == skip {
				continue
			}
			d := -1 / (1 + math.Exp(-dot(w, e.vector)))
			if e.right {
				d++
			}
			for k, x := range e.vector {
				g[k] += e.weight * d * x
			}
			total += e.weight
		}
		for k := range g {
			g[k] /= total
			if k > 0 {
				g[k] -= l2 * w[k]
			}
		}
		a.step(w, g)
	}
	return w
}

// adam is the state of the Adam optimizer.
type adam struct {
	m, v []float64
	t    float64
}

func newAdam(n int) *adam { return &adam{m: make([]float64, n), v: make([]float64, n)} }

// step moves w up the gradient g.
func (a *adam) step(w, g []float64) {
	a.t++
	for k := range w {
		a.m[k] = 0.9*a.m[k] + 0.1*g[k]
		a.v[k] = 0.999*a.v[k] + 0.001*g[k]*g[k]
		w[k] += 0.1 / (1 + a.t/100) * (a.m[k] / (1 - math.Pow(0.9, a.t))) / (math.Sqrt(a.v[k]/(1-math.Pow(0.999, a.t))) + 1e-9)
	}
}

// rankChoices returns the observations for rankWeights: the units of each answerable
// question.
func rankChoices(qs []sample) []choice {
	var out []choice
	for i := range qs {
		q := &qs[i]
		if !q.Answerable {
			continue
		}
		f := newFinding(q.Question, q.passages)
		if f.question.empty() || len(f.units) == 0 {
			continue
		}
		f.rank()
		c := choice{fold: q.fold()}
		found := false
		for k := range f.units {
			u := &f.units[k]
			v := f.rankVector(k)
			ok := q.docs[u.passage] == q.Doc && contains(f.passages[u.passage].text[u.start:u.end], q.Answers)
			found = found || ok
			c.vectors = append(c.vectors, append([]float64(nil), v[:]...))
			c.right = append(c.right, ok)
		}
		if found {
			out = append(out, c)
		}
	}
	return out
}

// spanChoices returns the observations for spanWeights: the spans of the best unit of
// each question.
func spanChoices(qs []sample) []choice {
	var out []choice
	for i := range qs {
		q := &qs[i]
		if !q.Answerable {
			continue
		}
		f := newFinding(q.Question, q.passages)
		if f.question.empty() || len(f.units) == 0 {
			continue
		}
		f.rank()
		u := &f.units[f.best]
		p := &f.passages[u.passage]
		if !contains(p.text[u.start:u.end], q.Answers) || u.to-u.from > maxUnit {
			continue
		}
		c := choice{fold: q.fold()}
		best := 0.0
		var f1s []float64
		near := f.question.nearness(p.tokens[u.from:u.to])
		for _, s := range spans(p.tokens, u) {
			v := f.spanVector(u, s, &near)
			c.vectors = append(c.vectors, append([]float64(nil), v[:]...))
			f1 := bestF1(p.text[p.tokens[s.from].start:p.tokens[s.to-1].end], q.Answers)
			f1s = append(f1s, f1)
			best = max(best, f1)
		}
		if best < 0.7 {
			continue
		}
		for _, f1 := range f1s {
			c.right = append(c.right, f1 == best)
		}
		out = append(out, c)
	}
	return out
}

// rerankChoices returns the observations for rerankWeights: for each question the units
// that rankUnits ranks best with the current rankWeights.
func rerankChoices(qs []sample) []choice {
	var out []choice
	for i := range qs {
		q := &qs[i]
		if !q.Answerable {
			continue
		}
		f := newFinding(q.Question, q.passages)
		if f.question.empty() || len(f.units) == 0 {
			continue
		}
		f.rankUnits()
		c := choice{fold: q.fold()}
		found := false
		for k, i := range f.likeliest(reranked) {
			u := &f.units[i]
			v := f.rerankVector(k, i, f.read(u))
			ok := q.docs[u.passage] == q.Doc && contains(f.passages[u.passage].text[u.start:u.end], q.Answers)
			found = found || ok
			c.vectors = append(c.vectors, append([]float64(nil), v[:]...))
			c.right = append(c.right, ok)
		}
		if found {
			out = append(out, c)
		}
	}
	return out
}

// confExamples returns an example for each question of a fold, or of all folds if fold
// is -1. It leaves out questions without units to rank.
func confExamples(qs []sample, fold int) []example {
	var out []example
	for i := range qs {
		q := &qs[i]
		if fold >= 0 && q.fold() != fold {
			continue
		}
		f := newFinding(q.Question, q.passages)
		if f.question.empty() || len(f.units) == 0 {
			continue
		}
		f.rank()
		v := f.confVector()
		e := example{vector: append([]float64(nil), v[:]...), right: q.Answerable && contains(f.text(), q.Answers), weight: 1, fold: q.fold()}
		if !q.Answerable && !q.foreign {
			e.weight = adversarialWeight
		}
		out = append(out, e)
	}
	return out
}

// adversarialWeight is the weight of a question that was written to mislead. Such
// questions are rare in use.
const adversarialWeight = 0.15

const folds = 5

// TestFit cross-validates the weights by article, and prints weights fitted to all
// articles.
func TestFit(t *testing.T) {
	if !*fitWeights {
		t.Skip("-fit is not given")
	}
	qs := corpus(t)
	before := struct {
		rank   rankVector
		span   spanVector
		rerank rerankVector
		conf   confVector
	}{rankWeights, spanWeights, rerankWeights, confWeights}
	defer func() {
		rankWeights, spanWeights, rerankWeights, confWeights = before.rank, before.span, before.rerank, before.conf
	}()
	ranks := rankChoices(qs)
	var rankBy, spanBy, rerankBy [folds + 1][]float64
	for k := range folds + 1 {
		rankBy[k] = fitChoice(ranks, rankFeatures, foldOf(k), 0.002, 150)
	}
	copy(rankWeights[:], rankBy[folds])
	spans := spanChoices(qs)
	for k := range folds + 1 {
		spanBy[k] = fitChoice(spans, spanFeatures, foldOf(k), 0.002, 120)
	}
	for k := range folds + 1 {
		copy(rankWeights[:], rankBy[k])
		copy(spanWeights[:], spanBy[k])
		rerankBy[k] = fitChoice(rerankChoices(qs), rerankFeatures, foldOf(k), 0.002, 150)
	}
	// Compute the features of each question with weights that were fitted without that
	// question, because the questions of users are new to the models, too.
	var examples []example
	for k := range folds {
		copy(rankWeights[:], rankBy[k])
		copy(spanWeights[:], spanBy[k])
		copy(rerankWeights[:], rerankBy[k])
		examples = append(examples, confExamples(qs, k)...)
	}
	answers := make([]Answer, len(qs))
	for k := range folds {
		copy(rankWeights[:], rankBy[k])
		copy(spanWeights[:], spanBy[k])
		copy(rerankWeights[:], rerankBy[k])
		copy(confWeights[:], fitLogistic(examples, confFeatures, k, 0.001, 400))
		for i := range qs {
			if qs[i].fold() == k {
				answers[i] = Find(qs[i].Question, qs[i].passages)
			}
		}
	}
	t.Logf("cross-validated: %v", tally(qs, answers))
	copy(rankWeights[:], rankBy[folds])
	copy(spanWeights[:], spanBy[folds])
	copy(rerankWeights[:], rerankBy[folds])
	copy(confWeights[:], fitLogistic(examples, confFeatures, -1, 0.001, 400))
	fmt.Println(source("rankWeights", "rankFeatures", rankWeights[:]))
	fmt.Println(source("spanWeights", "spanFeatures", spanWeights[:]))
	fmt.Println(source("rerankWeights", "rerankFeatures", rerankWeights[:]))
	fmt.Println(source("confWeights", "confFeatures", confWeights[:]))
}

// foldOf returns the fold to leave out in run k, -1 for none.
func foldOf(k int) int {
	if k == folds {
		return -1
	}
	return k
}

// source returns weights as Go source code.
func source(name, size string, w []float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "var %s = [%s]float64{", name, size)
	for i, x := range w {
		if i%8 == 0 {
			b.WriteString("\n\t")
		} else {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "%.3f,", x)
	}
	b.WriteString("\n}\n")
	return b.String()
}
