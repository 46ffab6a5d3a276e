package bm25_test

import (
	"fmt"
	"math"
	"testing"

	"annals/projections/searchindex/bm25"
)

func TestRarerTermsWeighMore(t *testing.T) {
	last := math.Inf(1)
	for found := range 101 {
		r := bm25.Rareness(float64(found), 100)
		if r >= last || r <= 0 {
			t.Errorf("a term in %d of 100 passages weighs %g, one in %d weighs %g", found, r, found-1, last)
		}
		last = r
	}
	if got, want := bm25.Rareness(7, 3), bm25.Rareness(7, 7); got != want {
		t.Errorf("a term in more passages than exist weighs %g, want %g", got, want)
	}
}

func TestRecurrenceIsBounded(t *testing.T) {
	for _, test := range []struct{ total, found, exponent, want float64 }{{1, 1, 1, 2}, {99, 100, 1, 1}, {249, 100, 1, 2.5}, {399, 100, 0.5, 2}, {10_000, 10, 1, 4}, {1e9, 15e7, 1, 1}} {
		if got := bm25.Recurrence(test.total, test.found, 1e9, test.exponent); math.Abs(got-test.want) > 1e-4 {
			t.Errorf("Recurrence of a term that %g passages contain %g times is %g, want %g", test.found, test.total, got, test.want)
		}
	}
	if rare, medium := bm25.Recurrence(29, 10, 1000, 1), bm25.Recurrence(299, 100, 1000, 1); rare <= medium || medium <= 1 {
		t.Errorf("Recurrence of a rare term is %g, that of a more common one %g, want less, but more than 1", rare, medium)
	}
}

func TestFurtherTermsAreSharedByPassages(t *testing.T) {
	for _, test := range []struct {
		found, passages  float64
		frequent, common bool
	}{{1, 50, true, false}, {1, 150, false, false}, {2, 150, true, false}, {3, 1e6, false, false}, {4, 1e6, true, false}, {14, 100, true, false}, {15, 100, true, true}} {
		if f, c := bm25.Frequent(test.found, test.passages), bm25.Common(test.found, test.passages); f != test.frequent || c != test.common {
			t.Errorf("a term in %g of %g passages is frequent %t, common %t, want %t and %t", test.found, test.passages, f, c, test.frequent, test.common)
		}
	}
}

func TestScoreRisesWithFrequencyAndFallsWithLength(t *testing.T) {
	if got := bm25.Score(2, 1, bm25.Norm(100, 100)); got != 2 {
		t.Errorf("a term once in a passage of average length scores %g, want its weight 2", got)
	}
	if once, twice := bm25.Score(2, 1, bm25.Norm(80, 100)), bm25.Score(2, 2, bm25.Norm(80, 100)); twice <= once || twice >= 2*once {
		t.Errorf("a term that occurs twice scores %g, and one that occurs once %g, want more but less than double", twice, once)
	}
	if short, long := bm25.Score(2, 1, bm25.Norm(50, 100)), bm25.Score(2, 1, bm25.Norm(200, 100)); long >= short {
		t.Errorf("a term scores %g in a long passage and %g in a short one, want less in the long one", long, short)
	}
}

type term struct {
	bm25.Term
	n int
}

func TestStrongestKeepsFewTerms(t *testing.T) {
	var terms []term
	for i := range bm25.RankedTerms {
		terms = append(terms, term{bm25.Term{Text: fmt.Sprint(i), Weight: float64(i)}, i})
	}
	if got := bm25.Strongest(terms); len(got) != bm25.RankedTerms || got[0].n != 0 {
		t.Errorf("Strongest of %d terms returns %d, the first is %+v, want them unchanged", len(terms), len(got), got[0])
	}
	terms = append(terms, term{bm25.Term{Weight: 99}, 99})
	if got := bm25.Strongest(terms); len(got) != bm25.RankedTerms || got[0].n != 99 || got[len(got)-1].n != 1 {
		t.Errorf("Strongest of one more term returns %d, %+v to %+v, want the greatest weights first", len(got), got[0], got[len(got)-1])
	}
}

func TestBalanceScalesFurtherTerms(t *testing.T) {
	terms := []term{{bm25.Term{Weight: 3}, 0}, {bm25.Term{Weight: 4}, 0}}
	more := []term{{bm25.Term{Weight: 100}, 0}, {bm25.Term{Weight: 300}, 0}}
	bm25.Balance(terms, more)
	if got := bm25.Sum(more) / (bm25.Sum(more) + bm25.Sum(terms)); math.Abs(got-bm25.MoreShare) > 1e-12 {
		t.Errorf("further terms have the share %g of the total weight, want %g", got, bm25.MoreShare)
	}
	if got := more[1].Weight / more[0].Weight; math.Abs(got-3) > 1e-12 {
		t.Errorf("one further term weighs %g times the other, want 3", got)
	}
}
