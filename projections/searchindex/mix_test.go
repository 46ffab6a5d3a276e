package searchindex

import (
	"fmt"
	"testing"
)

func TestMix(t *testing.T) {
	candidates := []Candidate{
		{Hit: Hit{"a", 9}, Text: "The walrus swims in cold water."},
		{Hit: Hit{"b", 6}, Text: "A walrus sleeps."},
		{Hit: Hit{"c", 3}, Text: "The water is cold."},
	}
	hits := []Hit{{"a", 9}, {"b", 6}, {"c", 3}}
	for name, c := range map[string]struct {
		query   string
		hits    []Hit
		cosines map[string]float64
		want    string
	}{
		"no cosines":                   {"walrus in water", hits, nil, "a b c"},
		"words and meaning agree":      {"walrus in water", hits, map[string]float64{"a": .9, "b": .8, "c": .7}, "a b c"},
		"meaning decides":              {"walrus in water", hits, map[string]float64{"a": .5, "b": .9, "c": .6}, "b a c"},
		"a passage without the words":  {"walrus in water", hits, map[string]float64{"a": .8, "b": .5, "c": .5, "d": .9}, "a d b c"},
		"a hit without a vector":       {"walrus in water", hits, map[string]float64{"b": .5, "c": .5, "d": .9}, "a d b c"},
		"no hits":                      {"walrus in water", nil, map[string]float64{"d": .7, "e": .9}, "e d"},
		"one passage":                  {"walrus in water", nil, map[string]float64{"d": .7}, "d"},
		"words are those of no hit":    {"the elephant", hits, map[string]float64{"a": .5, "b": .5, "c": .5, "d": .9}, "d a b c"},
		"few of the words are in hits": {"walrus elephant giraffe zebra lion", hits, map[string]float64{"a": .5, "b": .5, "c": .5, "d": .9}, "d a b c"},
	} {
		got, before := "", 0.0
		for i, h := range Mix(c.query, candidates, c.hits, c.cosines) {
			if got += " " + h.ID; h.Score <= 0 || i > 0 && h.Score > before {
				t.Errorf("%s: %s has the score %g after %g", name, h.ID, h.Score, before)
			}
			before = h.Score
		}
		if got != " "+c.want {
			t.Errorf("%s: the order is%s, want %s", name, got, c.want)
		}
		if again := Mix(c.query, candidates, c.hits, c.cosines); len(again) > 0 && len(c.hits) > 0 && fmt.Sprint(again[0].Score) != "9" {
			t.Errorf("%s: the best score is %g, want that of the best hit", name, again[0].Score)
		}
	}
}
