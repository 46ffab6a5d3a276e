package answer

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
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

// observations are what a network is fitted to. gradient calls add with each vector of
// observation i and the derivative of the likelihood by the vector's score.
type observations interface {
	len() int
	fold(i int) int
	gradient(i int, n *network, add func(x []float64, d float64))
}

type choices []choice

func (c choices) len() int       { return len(c) }
func (c choices) fold(i int) int { return c[i].fold }

// gradient is that of the logarithm of the sum of the chances of the right candidates.
func (c choices) gradient(i int, n *network, add func([]float64, float64)) {
	p := make([]float64, len(c[i].vectors))
	for k, v := range c[i].vectors {
		p[k] = n.score(v)
	}
	softmax(p)
	right := 1e-12
	for k, ok := range c[i].right {
		if ok {
			right += p[k]
		}
	}
	for k, v := range c[i].vectors {
		d := -p[k]
		if c[i].right[k] {
			d += p[k] / right
		}
		if math.Abs(d) > 1e-4 {
			add(v, d)
		}
	}
}

// example is an observation for a logistic regression.
type example struct {
	vector []float64
	right  bool
	weight float64
	fold   int
}

type examples []example

func (e examples) len() int       { return len(e) }
func (e examples) fold(i int) int { return e[i].fold }

func (e examples) gradient(i int, n *network, add func([]float64, float64)) {
	d := -1 / (1 + math.Exp(-n.score(e[i].vector)))
	if e[i].right {
		d++
	}
	add(e[i].vector, e[i].weight*d)
}

// fitting has the size of a network and how it is fitted.
type fitting struct {
	inputs, hidden int
	l2             float64 // penalty
	epochs         int
}

// fit returns a network that maximises the likelihood of the observations except those
// in the fold skip, with an L2 penalty. It runs the Adam optimizer on small batches.
func fit(o observations, f fitting, skip int) network {
	rng := rand.New(rand.NewPCG(1, 2))
	n := network{inputs: f.inputs, weights: make([]float64, f.inputs+f.hidden*(f.inputs+2))}
	for i := f.inputs; i < len(n.weights); i++ {
		n.weights[i] = rng.NormFloat64() * 0.3 / math.Sqrt(float64(f.inputs)/8)
	}
	var order []int
	for i := range o.len() {
		if o.fold(i) != skip {
			order = append(order, i)
		}
	}
	const batch = 32
	g := make([]float64, len(n.weights))
	m, v := make([]float64, len(g)), make([]float64, len(g))
	steps := f.epochs * (len(order) + batch - 1) / batch
	step := 0
	for range f.epochs {
		rng.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		for at := 0; at < len(order); at += batch {
			clear(g)
			some := order[at:min(at+batch, len(order))]
			for _, i := range some {
				o.gradient(i, &n, func(x []float64, d float64) { n.backward(g, x, d) })
			}
			step++
			rate := 0.02 * (1 - float64(step)/float64(steps+1))
			for k := range g {
				d := g[k]/float64(len(some)) - f.l2*n.weights[k]
				m[k] = 0.9*m[k] + 0.1*d
				v[k] = 0.99*v[k] + 0.01*d*d
				n.weights[k] += rate * (m[k] / (1 - math.Pow(0.9, float64(step)))) / (math.Sqrt(v[k]/(1-math.Pow(0.99, float64(step)))) + 1e-8)
			}
		}
	}
	return n
}

// backward adds d times the gradient of the score of x to g.
func (n *network) backward(g, x []float64, d float64) {
	for i, f := range x {
		g[i] += d * f
	}
	for at := n.inputs; at < len(n.weights); at += n.inputs + 2 {
		h := math.Tanh(n.weights[at+1] + dot(n.weights[at+2:at+2+n.inputs], x))
		g[at] += d * h
		e := d * n.weights[at] * (1 - h*h)
		g[at+1] += e
		for i, f := range x {
			g[at+2+i] += e * f
		}
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
		c := choice{fold: q.fold()}
		found := false
		f.relate()
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
		f.rankUnits()
		at := -1
		for _, i := range f.likeliest(10) {
			if u := &f.units[i]; q.docs[u.passage] == q.Doc && contains(f.passages[u.passage].text[u.start:u.end], q.Answers) {
				at = i
				break
			}
		}
		if at < 0 {
			continue
		}
		u := &f.units[at]
		p := &f.passages[u.passage]
		if kinds[f.question.expected].whole || u.kind == row || u.kind == code || u.to-u.from > maxUnit {
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
			if !strings.HasPrefix(q.Set, "squad") {
				e.weight = swappedWeight
			}
		}
		out = append(out, e)
	}
	return out
}

// The weights of questions without an answer that were written to mislead: those of SQuAD,
// which are rare in use, and those that people might ask.
const adversarialWeight, swappedWeight = 0.2, 0.5

const folds = 5

// How the networks are fitted. The numbers of hidden units, the penalties and the epochs
// were chosen by cross-validation.
var (
	rankFit = fitting{inputs: rankFeatures, hidden: 10, l2: 0.003, epochs: 12}
	spanFit = fitting{inputs: spanFeatures, hidden: 8, l2: 0.001, epochs: 10}
	lastFit = fitting{inputs: rerankFeatures, hidden: 6, l2: 0.005, epochs: 10}
	confFit = fitting{inputs: confFeatures, hidden: 4, l2: 0.003, epochs: 12}
)

// TestFit cross-validates the weights by article, and prints weights fitted to all
// articles. With -samples it uses the questions and passages of that file instead of those
// of the development corpora.
func TestFit(t *testing.T) {
	if !*fitWeights {
		t.Skip("-fit is not given")
	}
	qs := corpus(t)
	var rankBy, spanBy, rerankBy [folds + 1]network
	ranks := choices(rankChoices(qs))
	parallel(func(k int) { rankBy[k] = fit(ranks, rankFit, foldOf(k)) })
	rankNetwork = rankBy[folds]
	spans := choices(spanChoices(qs))
	parallel(func(k int) { spanBy[k] = fit(spans, spanFit, foldOf(k)) })
	use := func(k int) {
		rankNetwork, spanNetwork, rerankNetwork = rankBy[k], spanBy[k], rerankBy[k]
	}
	for k := range folds + 1 {
		use(k)
		rerankBy[k] = fit(choices(rerankChoices(qs)), lastFit, foldOf(k))
	}
	// Compute the features of each question with weights that were fitted without that
	// question, because the questions of users are new to the models, too.
	var all examples
	for k := range folds {
		use(k)
		all = append(all, confExamples(qs, k)...)
	}
	answers := make([]Answer, len(qs))
	for k := range folds {
		use(k)
		confNetwork = fit(all, confFit, k)
		for i := range qs {
			if qs[i].fold() == k {
				answers[i] = Find(qs[i].Question, qs[i].passages)
			}
		}
	}
	logBySet(t, qs, answers)
	use(folds)
	confNetwork = fit(all, confFit, -1)
	fmt.Println(source("rank", rankNetwork) + source("span", spanNetwork) + source("rerank", rerankNetwork) + source("conf", confNetwork))
}

// logBySet logs the evaluation of the answers to each set of questions.
func logBySet(t *testing.T, qs []sample, answers []Answer) {
	sets := map[string][]int{}
	for i := range qs {
		sets[qs[i].Set] = append(sets[qs[i].Set], i)
	}
	for set, of := range sets {
		some, got := make([]sample, len(of)), make([]Answer, len(of))
		for k, i := range of {
			some[k], got[k] = qs[i], answers[i]
		}
		t.Logf("cross-validated, %s: %v", set, tally(some, got))
	}
}

// parallel calls do with each fold, and with folds for all of them, several at a time.
func parallel(do func(k int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for k := range folds + 1 {
		slots <- struct{}{}
		wg.Go(func() { do(k); <-slots })
	}
	wg.Wait()
}

// foldOf returns the fold to leave out in run k, -1 for none.
func foldOf(k int) int {
	if k == folds {
		return -1
	}
	return k
}

// source returns a network as Go source code.
func source(name string, n network) string {
	var b strings.Builder
	fmt.Fprintf(&b, "var %sNetwork = network{inputs: %sFeatures, weights: []float64{", name, name)
	for i, x := range n.weights {
		if i%10 == 0 {
			b.WriteString("\n\t")
		} else {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "%.3f,", x)
	}
	b.WriteString("\n}}\n\n")
	return b.String()
}
