package searchindex

import (
	"slices"
	"testing"
)

func TestExpandReturnsTermsOfBestPassages(t *testing.T) {
	all := candidates("wing flutter of an aircraft", "flutter of the tail of an aircraft", "flutter, as a heart that beats irregularly")
	all[2].Score = 5
	terms := Expand("flutter", all)
	weights := make(map[string]float64)
	for _, term := range terms {
		weights[term.Text] = term.Weight
	}
	if weights["aircraft"] <= weights["wing"] || weights["wing"] <= weights["heart"] {
		t.Errorf("Expand = %v, want aircraft before wing before heart", terms)
	}
	for _, stop := range []string{"of", "an", "the"} {
		if weights[stop] > 0 {
			t.Errorf("Expand returns the stop word %s", stop)
		}
	}
	if again := Expand("flutter", all); !slices.Equal(terms, again) {
		t.Errorf("Expand returns %v, and then %v", terms, again)
	}
}

func TestExpandOfNothing(t *testing.T) {
	for _, all := range [][]Candidate{nil, candidates(""), candidates("the of an")} {
		if got := Expand("flutter", all); len(got) > 0 {
			t.Errorf("Expand of %v = %v, want none", all, got)
		}
	}
}
