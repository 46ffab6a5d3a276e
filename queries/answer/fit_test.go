package answer

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/queries/answer/answertest"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
)

var fitWeights = flag.Bool("fit", false, "fit the weights to the development corpora and write them to weights.json")

// choice is an observation for a conditional logit: the features of some candidates, and
// which of them are right.
type choice struct {
	vectors [][]float64
	slots   [][]uint16 // of the patterns of each candidate, if the network has patterns
	right   []bool
	fold    int
}

// observations are what a network is fitted to. gradient calls add with each vector of
// observation i and the derivative of the likelihood by the vector's score.
type observations interface {
	len() int
	fold(i int) int
	gradient(i int, n *network, add func(x []float64, slots []uint16, d float64))
}

type choices []choice

func (c choices) len() int       { return len(c) }
func (c choices) fold(i int) int { return c[i].fold }

// gradient is that of the logarithm of the sum of the chances of the right candidates.
func (c choices) gradient(i int, n *network, add func([]float64, []uint16, float64)) {
	p := make([]float64, len(c[i].vectors))
	for k, v := range c[i].vectors {
		p[k] = n.score(v)
		if n.slots != nil {
			p[k] += n.patterned(c[i].slots[k])
		}
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
			var slots []uint16
			if n.slots != nil {
				slots = c[i].slots[k]
			}
			add(v, slots, d)
		}
	}
}

// example is an observation for a logistic regression.
type example struct {
	vector []float64
	right  bool
	weight float64
	fold   int
	usual  bool // a question as people ask it, whose confidence is what the network says
}

type examples []example

func (e examples) len() int       { return len(e) }
func (e examples) fold(i int) int { return e[i].fold }

func (e examples) gradient(i int, n *network, add func([]float64, []uint16, float64)) {
	d := -1 / (1 + math.Exp(-n.score(e[i].vector)))
	if e[i].right {
		d++
	}
	add(e[i].vector, nil, e[i].weight*d)
}

// fitting has the size of a network and how it is fitted.
type fitting struct {
	inputs, hidden int
	l2             float64 // penalty
	epochs         int
	patterned      bool    // the network has weights of patterns
	slotRate       float64 // learning rate of these
	slotL2         float64 // their penalty
}

// fit returns a network that maximises the likelihood of the observations except those
// in the fold skip, with an L2 penalty. It runs the Adam optimizer on small batches, and
// AdaGrad on the weights of patterns, of which each observation has few.
func fit(o observations, f fitting, skip int) network {
	rng := rand.New(rand.NewPCG(1, 2))
	n := network{inputs: f.inputs, weights: make([]float64, f.inputs+f.hidden*(f.inputs+2))}
	for i := f.inputs; i < len(n.weights); i++ {
		n.weights[i] = rng.NormFloat64() * 0.3 / math.Sqrt(float64(f.inputs)/8)
	}
	var squares []float64
	if f.patterned {
		n.slots, squares = make([]float64, slots), make([]float64, slots)
		for i := range squares {
			squares[i] = 1
		}
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
			left := 1 - float64(step)/float64(steps+1)
			for _, i := range some {
				o.gradient(i, &n, func(x []float64, at []uint16, d float64) {
					n.backward(g, x, d)
					for _, s := range at {
						d := d - f.slotL2*n.slots[s]
						squares[s] += d * d
						n.slots[s] += f.slotRate * left * d / math.Sqrt(squares[s])
					}
				})
			}
			step++
			rate := 0.02 * left
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

// findings are the findings of some questions: parsing is most of the work.
var findings sync.Map

// find returns the finding of a question, newly ranked.
func find(q *answertest.Sample) *finding {
	f, ok := findings.Load(q)
	if !ok {
		f, _ = findings.LoadOrStore(q, newFinding(q.Question, q.Passages))
	}
	c := *f.(*finding)
	c.chances = nil
	return &c
}

// each calls do with 0 to n-1, several at a time.
func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// observe returns the observations that do makes of the questions in a fold, or of all if
// fold is -1.
func observe[T any](qs []answertest.Sample, fold int, do func(q *answertest.Sample, f *finding) (T, bool)) []T {
	all, ok := make([]T, len(qs)), make([]bool, len(qs))
	each(len(qs), func(i int) {
		if fold >= 0 && qs[i].Fold() != fold {
			return
		}
		if f := find(&qs[i]); !f.question.Empty() && len(f.units) > 0 {
			all[i], ok[i] = do(&qs[i], f)
		}
	})
	var some []T
	for i, x := range all {
		if ok[i] {
			some = append(some, x)
		}
	}
	return some
}

// answers reports whether a unit contains a reference answer to a question.
func (f *finding) answers(q *answertest.Sample, i int) bool {
	u := &f.units[i]
	return q.Docs[u.Passage] == q.Doc && contains(f.passages[u.Passage].Text[u.Start:u.End], q.Answers)
}

// candidates returns the units with the most words of the question: fitting to all of them
// would take long.
func (f *finding) candidates(n int) map[int]bool {
	f.chances = make([]float64, len(f.units))
	for i := range f.units {
		u := &f.units[i]
		p := &f.passages[u.Passage]
		f.chances[i] = f.question.Share(u.Credits) + 0.5*f.question.Share(u.Context) + 0.3*f.question.Share(p.Credits) + 0.2*p.Relative
	}
	some := map[int]bool{}
	for _, i := range f.likeliest(n) {
		some[i] = true
	}
	return some
}

// rankChoice is the observation for rankNetwork: the units for an answerable question.
func rankChoice(q *answertest.Sample, f *finding) (choice, bool) {
	c := choice{fold: q.Fold()}
	if !q.Answerable {
		return c, false
	}
	f.relate()
	likely := f.candidates(40)
	for k := range f.units {
		if !likely[k] && !f.answers(q, k) {
			continue
		}
		v := f.rankVector(k)
		c.vectors = append(c.vectors, slices.Clone(v[:]))
		c.slots = append(c.slots, f.unitPatterns(k, nil))
		c.right = append(c.right, f.answers(q, k))
	}
	return c, slices.Contains(c.right, true)
}

// spanChoice is the observation for spanNetwork: the spans of the best unit with the answer.
func spanChoice(q *answertest.Sample, f *finding) (choice, bool) {
	c := choice{fold: q.Fold()}
	if !q.Answerable {
		return c, false
	}
	f.rankUnits()
	order := f.likeliest(10)
	at := slices.IndexFunc(order, func(i int) bool { return f.answers(q, i) })
	if at < 0 {
		return c, false
	}
	u := &f.units[order[at]]
	p := &f.passages[u.Passage]
	if matching.Kinds[f.question.Expected].Whole || u.Kind == markdown.Row || u.Kind == markdown.Code || u.To-u.From > maxUnit {
		return c, false
	}
	best := 0.0
	var f1s []float64
	near := newNearness(&f.question, p.Tokens[u.From:u.To])
	patterns := f.patterns(u)
	for _, s := range spans(p.Tokens, u) {
		v := f.spanVector(u, s, &near)
		c.vectors = append(c.vectors, slices.Clone(v[:]))
		c.slots = append(c.slots, slices.Concat(patterns.starts[s.From-u.From], patterns.ends[s.To-u.From], patterns.between(s, nil)))
		f1s = append(f1s, bestF1(p.Text[p.Tokens[s.From].Start:p.Tokens[s.To-1].End], q.Answers))
		best = max(best, f1s[len(f1s)-1])
	}
	for _, f1 := range f1s {
		c.right = append(c.right, f1 == best)
	}
	return c, best >= 0.7
}

// rerankChoice is the observation for rerankNetwork: the units that rankUnits ranks best.
func rerankChoice(q *answertest.Sample, f *finding) (choice, bool) {
	c := choice{fold: q.Fold()}
	if !q.Answerable {
		return c, false
	}
	f.rankUnits()
	for k, i := range f.likeliest(reranked) {
		v := f.rerankVector(k, i, f.read(&f.units[i]))
		c.vectors = append(c.vectors, slices.Clone(v[:]))
		c.right = append(c.right, f.answers(q, i))
	}
	return c, slices.Contains(c.right, true)
}

// confExample is the observation for confNetwork.
func confExample(q *answertest.Sample, f *finding) (example, bool) {
	f.rank()
	v := f.confVector()
	e := example{vector: slices.Clone(v[:]), right: q.Answerable && contains(f.text(), q.Answers), weight: 1, fold: q.Fold()}
	e.usual = (q.Answerable || q.Foreign) && !f.doubtful()
	if !q.Answerable && !q.Foreign {
		e.weight = adversarialWeight
		if !strings.HasPrefix(q.Set, "squad") {
			e.weight = swappedWeight
		}
	}
	return e, true
}

// calibrate adds to the bias of a network what makes its mean chance the share of the usual
// examples that are right, without those in the fold skip: the misleading ones, which are rare in use, lower it.
func calibrate(n *network, all examples, skip int) {
	for range 20 { // Newton's method
		off, slope := 0.0, 1e-9
		for _, e := range all {
			if !e.usual || e.fold == skip {
				continue
			}
			c := 1 / (1 + math.Exp(-n.score(e.vector)))
			if off -= c; e.right {
				off++
			}
			slope += c * (1 - c)
		}
		n.weights[confBias] += off / slope
	}
}

// The weights of questions without an answer that were written to mislead: those of SQuAD,
// which are rare in use, and those that people might ask.
const adversarialWeight, swappedWeight = 0.5, 0.7

// How the networks are fitted. The numbers of hidden units, the penalties and the epochs
// were chosen by cross-validation.
var (
	rankFit = fitting{inputs: rankFeatures, hidden: 16, l2: 0.001, epochs: 8, patterned: true, slotRate: 0.03, slotL2: 0.005}
	spanFit = fitting{inputs: spanFeatures, hidden: 12, l2: 0.001, epochs: 8, patterned: true, slotRate: 0.03, slotL2: 0.005}
	lastFit = fitting{inputs: rerankFeatures, hidden: 6, l2: 0.005, epochs: 10}
	confFit = fitting{inputs: confFeatures, hidden: 8, l2: 0.001, epochs: 30}
)

// TestFit cross-validates the weights by article, and writes weights fitted to all
// articles. With -samples it uses the questions and passages of that file instead of those
// of the development corpora.
func TestFit(t *testing.T) {
	if !*fitWeights {
		t.Skip("-fit is not given")
	}
	qs := answertest.Corpus(t)
	var rankBy, spanBy, rerankBy [answertest.Folds + 1]network
	start := time.Now()
	done := func(stage string) { t.Logf("%s after %v", stage, time.Since(start).Round(time.Second)) }
	ranks := choices(observe(qs, -1, rankChoice))
	done("ranks observed")
	parallel(func(k int) { rankBy[k] = fit(ranks, rankFit, foldOf(k)) })
	ranks = nil
	done("ranks fitted")
	rankNetwork = rankBy[answertest.Folds]
	spans := choices(observe(qs, -1, spanChoice))
	parallel(func(k int) { spanBy[k] = fit(spans, spanFit, foldOf(k)) })
	spans = nil
	done("spans fitted")
	// Observe each question with weights that were fitted without it, because the
	// questions of users are new to the models, too.
	use := func(k int) {
		rankNetwork, spanNetwork, rerankNetwork = rankBy[k], spanBy[k], rerankBy[k]
	}
	var reranks choices
	for k := range answertest.Folds {
		use(k)
		reranks = append(reranks, observe(qs, k, rerankChoice)...)
	}
	parallel(func(k int) { rerankBy[k] = fit(reranks, lastFit, foldOf(k)) })
	done("reranks fitted")
	logStages(t, qs, use)
	var all examples
	for k := range answertest.Folds {
		use(k)
		all = append(all, observe(qs, k, confExample)...)
	}
	answers := make([]Answer, len(qs))
	for k := range answertest.Folds {
		use(k)
		confNetwork = fit(all, confFit, k)
		calibrate(&confNetwork, all, k)
		each(len(qs), func(i int) {
			if qs[i].Fold() == k {
				answers[i] = find(&qs[i]).answer()
			}
		})
	}
	done("answered")
	logBySet(t, qs, answers)
	use(answertest.Folds)
	confNetwork = fit(all, confFit, -1)
	calibrate(&confNetwork, all, -1)
	store(t)
}

// logBySet logs the evaluation of the answers to each set of questions.
func logBySet(t *testing.T, qs []answertest.Sample, answers []Answer) {
	sets := map[string][]int{}
	for i := range qs {
		sets[qs[i].Set] = append(sets[qs[i].Set], i)
	}
	for set, of := range sets {
		some, got := make([]answertest.Sample, len(of)), make([]Answer, len(of))
		for k, i := range of {
			some[k], got[k] = qs[i], answers[i]
		}
		t.Logf("cross-validated, %s: %v", set, tally(some, got))
	}
}

// logStages logs, for each set of questions, how many have the answer in any unit, in the best
// by rankUnits, in the best few, in the best by readBest, and in the words that are quoted.
// use sets the networks for a fold.
func logStages(t *testing.T, qs []answertest.Sample, use func(fold int)) {
	sums := map[string]*[6]float64{}
	for k := range answertest.Folds {
		use(k)
		var mu sync.Mutex
		observe(qs, k, func(q *answertest.Sample, f *finding) (int, bool) {
			if !q.Answerable {
				return 0, false
			}
			f.rankUnits()
			all, some := f.likeliest(len(f.units)), f.likeliest(reranked)
			right := func(i int) bool { return f.answers(q, i) }
			got := [6]bool{true, slices.ContainsFunc(all, right), right(some[0]), slices.ContainsFunc(some, right)}
			f.readBest()
			got[4], got[5] = right(f.best), contains(f.text(), q.Answers)
			mu.Lock()
			defer mu.Unlock()
			if sums[q.Set] == nil {
				sums[q.Set] = &[6]float64{}
			}
			for i, yes := range got {
				if yes {
					sums[q.Set][i]++
				}
			}
			return 0, false
		})
	}
	for set, s := range sums {
		t.Logf("%s: of %.0f, any unit %.3f, first %.3f, first %d %.3f, best %.3f, quoted %.3f", set, s[0], s[1]/s[0], s[2]/s[0], reranked, s[3]/s[0], s[4]/s[0], s[5]/s[0])
	}
}

// parallel calls do with each fold, and with answertest.Folds for all of them, several at a time.
func parallel(do func(k int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for k := range answertest.Folds + 1 {
		slots <- struct{}{}
		wg.Go(func() { do(k); <-slots })
	}
	wg.Wait()
}

// foldOf returns the fold to leave out in run k, -1 for none.
func foldOf(k int) int {
	if k == answertest.Folds {
		return -1
	}
	return k
}

// store writes the networks to weights.json.
func store(t *testing.T) {
	all := map[string]stored{}
	for name, n := range map[string]*network{"rank": &rankNetwork, "span": &spanNetwork, "rerank": &rerankNetwork, "conf": &confNetwork} {
		s := stored{Inputs: n.inputs}
		for _, w := range n.weights {
			s.Weights = append(s.Weights, math.Round(w*1000)/1000)
		}
		for _, w := range n.slots {
			s.Slots = append(s.Slots, byte(int8(math.Round(max(-127, min(127, w/slotStep))))))
		}
		all[name] = s
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("weights.json", append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWeightsFitFeatures(t *testing.T) {
	for name, want := range map[string]int{"rank": rankFeatures, "span": spanFeatures, "rerank": rerankFeatures, "conf": confFeatures} {
		n := networks[name].network()
		if n.inputs != want || (len(n.weights)-want)%(want+2) != 0 {
			t.Errorf("weights.json has %d inputs and %d weights for %s, want %d inputs: run TestFit with -fit", n.inputs, len(n.weights), name, want)
		}
		if n.slots != nil && len(n.slots) != slots {
			t.Errorf("weights.json has %d slots for %s, want %d: run TestFit with -fit", len(n.slots), name, slots)
		}
	}
}
