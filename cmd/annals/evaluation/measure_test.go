package evaluation

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// The expected values are computed by hand from the definitions.
func TestRankingMeasures(t *testing.T) {
	// Ranks 2 and 4 are relevant, with gains 3 and 1; a third relevant document, with gain 2, is
	// not found. log2(3) = 1.584962500721156, log2(5) = 2.321928094887362.
	dcg := 3/1.584962500721156 + 1/2.321928094887362
	ideal := 3.0 + 2/1.584962500721156 + 1.0/2
	for _, test := range []struct {
		name     string
		ranked   []string
		relevant map[string]int
		want     map[string]float64
	}{
		{
			"graded", []string{"x", "a", "y", "b", "z"}, map[string]int{"a": 3, "b": 1, "c": 2},
			map[string]float64{"nDCG@10": dcg / ideal, "recall@1": 0, "recall@5": 2.0 / 3, "recall@10": 2.0 / 3, "MRR@10": 0.5, "hit@1": 0},
		},
		{
			"all", []string{"a", "b"}, map[string]int{"a": 2, "b": 1},
			map[string]float64{"nDCG@10": 1, "recall@1": 0.5, "recall@5": 1, "recall@10": 1, "MRR@10": 1, "hit@1": 1},
		},
		{
			"nothing", nil, map[string]int{"a": 1},
			map[string]float64{"nDCG@10": 0, "recall@1": 0, "recall@5": 0, "recall@10": 0, "MRR@10": 0, "hit@1": 0},
		},
		{
			"beyond rank 10", append(strings.Split("0123456789", ""), "a"), map[string]int{"a": 1},
			map[string]float64{"nDCG@10": 0, "recall@1": 0, "recall@5": 0, "recall@10": 0, "MRR@10": 0, "hit@1": 0},
		},
		{
			"rank 10", append(strings.Split("123456789", ""), "a"), map[string]int{"a": 1},
			map[string]float64{"nDCG@10": 1 / 3.4594316186372973, "recall@1": 0, "recall@5": 0, "recall@10": 1, "MRR@10": 0.1, "hit@1": 0},
		},
	} {
		got := rankingMeasures(test.ranked, test.relevant)
		for name, want := range test.want {
			near(t, test.name+": "+name, got[name], want)
		}
	}
}

// The ideal ranking has ten documents, even if more are relevant.
func TestIdealRankingIsCutAtTen(t *testing.T) {
	relevant := make(map[string]int)
	ranked := strings.Split("abcdefghijklmno", "")
	for _, d := range ranked {
		relevant[d] = 1
	}
	got := rankingMeasures(ranked, relevant)
	near(t, "nDCG@10", got["nDCG@10"], 1)
	near(t, "recall@10", got["recall@10"], 10.0/15)
}

func TestAnswersAreComparedAsInSQuAD(t *testing.T) {
	if got, want := normalized("The Mayor's  an “old-fashioned” man – a (1,759) hero."), []string{"mayors", "oldfashioned", "man", "1759", "hero"}; !slices.Equal(got, want) {
		t.Errorf("normalized = %q, want %q", got, want)
	}
	for _, test := range []struct {
		text, answer string
		contains     bool
		f1           float64
	}{
		{"John Smeaton finished it in 1759.", "1759", true, 2.0 / 7},
		{"The year 1759", "the year 1759", true, 1},
		{"17591", "1759", false, 0},
		{"It took three long years", "three years", false, 2 * (2.0 / 5) * 1 / (2.0/5 + 1)},
		{"years years", "years", true, 2 * 0.5 / 1.5},
		{"", "x", false, 0},
		{"the", "a", false, 1}, // both are empty
	} {
		text, answer := normalized(test.text), normalized(test.answer)
		if got := contains(text, answer); got != test.contains {
			t.Errorf("contains(%q, %q) = %v", test.text, test.answer, got)
		}
		near(t, "tokenF1 of "+test.text, tokenF1(text, answer), test.f1)
	}
}

func TestAUROC(t *testing.T) {
	near(t, "separate", auroc([]float64{.8, .9}, []float64{.1, .2}), 1)
	near(t, "reversed", auroc([]float64{.1}, []float64{.2, .3}), 0)
	near(t, "equal", auroc([]float64{.5, .5}, []float64{.5}), .5)
	// Of the six pairs, .9 wins 2 and .4 wins 1 and ties none; .2 ties 1.
	near(t, "mixed", auroc([]float64{.9, .4, .2}, []float64{.6, .2}), (2+1+.5)/6)
}

func TestReliability(t *testing.T) {
	table, ece := reliability([]float64{0, .05, .3, .95, 1, 1}, []bool{false, false, true, true, true, false})
	want := map[int]Bin{0: {Answers: 2, Right: 0, Confidence: .025}, 3: {Answers: 1, Right: 1, Confidence: .3}, 9: {Answers: 3, Right: 2, Confidence: 2.95 / 3}}
	for i, b := range table {
		if b.Answers != want[i].Answers || b.Right != want[i].Right || math.Abs(b.Confidence-want[i].Confidence) > 1e-9 || b.From != float64(i)/10 || b.To != float64(i+1)/10 {
			t.Errorf("line %d = %+v, want %+v", i, b, want[i])
		}
	}
	near(t, "ECE", ece, (2*.025+.7+3*(2.95/3-2.0/3))/6)
}

func TestPercentiles(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	near(t, "p50", percentile(values, .5), 3)
	near(t, "p95", percentile(values, .95), 5)
	near(t, "p20", percentile(values, .2), 1)
	near(t, "median", median(values), 3)
	near(t, "even median", median([]float64{4, 1, 2, 10}), 3)
	near(t, "none", percentile(nil, .5)+median(nil), 0)
}

// With n differences of one sign, only 2 of the 2^n assignments are as extreme.
func TestRandomization(t *testing.T) {
	before, now := map[string]float64{}, map[string]float64{}
	for _, id := range strings.Split("abcde", "") {
		before[id], now[id] = 0, .5
	}
	if p := randomization(before, now); math.Abs(p-2.0/32) > .01 {
		t.Errorf("p = %v, want about 1/16", p)
	}
	if a, b := randomization(before, now), randomization(before, now); a != b {
		t.Errorf("the same results have p = %v and %v", a, b)
	}
	near(t, "p of equal results", randomization(before, before), 1)
	near(t, "p of opposite differences", randomization(map[string]float64{"a": 0, "b": 1}, map[string]float64{"a": 1, "b": 0}), 1)
	// 200 differences of +1 and 100 of -1: the standard deviation of the sum is √300, and 100 is
	// 5.8 of them.
	for i := range 300 {
		id := string(rune(1000 + i))
		before[id], now[id] = 0, 1-2*score(i >= 200)
	}
	if p := randomization(before, now); p > .001 {
		t.Errorf("p of a clear difference = %v", p)
	}
}
