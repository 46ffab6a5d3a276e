package evaluation

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Comparison says how results differ from earlier ones, over the queries and questions that
// both have.
type Comparison struct {
	Time       time.Time    `json:"time"` // of the earlier results
	Program    string       `json:"program"`
	Folder     string       `json:"folder,omitempty"`
	Generation int          `json:"generation,omitempty"`
	Measures   []Difference `json:"measures"`
	Changed    []Change     `json:"changed,omitempty"`  // the most changed ones, these first
	Left       int          `json:"left_out,omitempty"` // queries and questions that are not the same in both
}

// Difference is a measure with its value before.
type Difference struct {
	Measure
	Before     float64 `json:"before"`
	Difference float64 `json:"difference"`
	// P is the probability of a mean difference at least as large if both runs were equally
	// good. It is nil for measures that are no means.
	P *float64 `json:"p,omitempty"`
}

// Change is a query or question whose leading measure changed.
type Change struct {
	Kind   string  `json:"kind"`
	ID     string  `json:"id"`
	Text   string  `json:"text"`
	Before float64 `json:"before"`
	Now    float64 `json:"now"`
}

// leading is the measure by which changes of single items are ordered. For questions that the
// documents do not answer, the confidence takes its place.
var leading = map[string]string{"query": "retrieval nDCG@10", "question": "answers F1"}

// maxChanged is the number of changed queries, and of changed questions, in a comparison.
const maxChanged = 10

// compare compares two reports, which both have their items.
func compare(before, now *Report) (*Comparison, error) {
	earlier := make(map[string]*Item, len(before.Items))
	for i := range before.Items {
		earlier[before.Items[i].key()] = &before.Items[i]
	}
	// The earlier items are measured with the threshold of the later ones.
	a, b := Report{Threshold: now.Threshold}, Report{Threshold: now.Threshold}
	for _, item := range now.Items {
		if was := earlier[item.key()]; was != nil && was.Text == item.Text && was.Truth == item.Truth {
			a.Items, b.Items = append(a.Items, *was), append(b.Items, item)
		}
	}
	if len(b.Items) == 0 {
		return nil, errors.New("it has none of these queries and questions")
	}
	a.summarize()
	b.summarize()
	c := &Comparison{
		Time: before.Time, Program: before.Program, Folder: before.Folder, Generation: before.Generation,
		Changed: changed(a.Items, b.Items), Left: len(before.Items) + len(now.Items) - 2*len(b.Items),
	}
	for _, m := range b.Measures {
		i := slices.IndexFunc(a.Measures, func(o Measure) bool { return o.Section == m.Section && o.Name == m.Name })
		if i < 0 {
			continue
		}
		d := Difference{Measure: m, Before: a.Measures[i].Value, Difference: m.Value - a.Measures[i].Value}
		if m.values != nil {
			p := randomization(a.Measures[i].values, m.values)
			d.P = &p
		}
		c.Measures = append(c.Measures, d)
	}
	return c, nil
}

// changed returns the items with the largest changes.
func changed(before, now []Item) (all []Change) {
	for _, kind := range []string{"query", "question"} {
		var some []Change
		for i := range now {
			a, okA := leadingValue(&before[i])
			b, okB := leadingValue(&now[i])
			if now[i].Kind == kind && okA && okB && a != b {
				some = append(some, Change{kind, now[i].ID, now[i].Text, a, b})
			}
		}
		slices.SortStableFunc(some, func(a, b Change) int {
			return cmp.Or(cmp.Compare(math.Abs(b.Now-b.Before), math.Abs(a.Now-a.Before)), cmp.Compare(a.ID, b.ID))
		})
		all = append(all, some[:min(len(some), maxChanged)]...)
	}
	return all
}

func leadingValue(i *Item) (value float64, ok bool) {
	if value, ok = i.Measures[leading[i.Kind]]; !ok && i.Answer != nil && i.Answer.Abstain {
		return i.Answer.Confidence, true
	}
	return value, ok
}

// permutations is the number of random samples of a test.
const permutations = 10_000

// randomization returns the p-value of Fisher's paired randomization test, two-sided, as Smucker,
// Allan and Carterette (CIKM 2007) recommend it for comparing rankings: how often a mean
// difference is at least as large as the given one if before and now are exchanged at random
// in each pair. Pairs without a difference do not change the mean. The seed is fixed, so that
// the same results have the same p-value.
func randomization(before, now map[string]float64) float64 {
	var differences []float64
	observed := 0.0
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if was, ok := before[key]; ok && was != now[key] {
			differences = append(differences, now[key]-was)
			observed += now[key] - was
		}
	}
	const rounding = 1e-9
	random := rand.New(rand.NewPCG(1, 2))
	extreme := 1 // the given assignment is one of the possible ones
	for range permutations {
		sum, bits := 0.0, uint64(0)
		for i, d := range differences {
			if i%64 == 0 {
				bits = random.Uint64()
			}
			if bits>>(i%64)&1 == 1 {
				d = -d
			}
			sum += d
		}
		if math.Abs(sum) >= math.Abs(observed)-rounding {
			extreme++
		}
	}
	return float64(extreme) / (permutations + 1)
}
