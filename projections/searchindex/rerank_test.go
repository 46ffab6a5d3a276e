package searchindex

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func candidates(texts ...string) []Candidate {
	var all []Candidate
	for i, text := range texts {
		all = append(all, Candidate{Hit: Hit{ID: string(rune('a' + i)), Score: 10}, Text: text})
	}
	return all
}

func order(hits []Hit) string {
	var ids strings.Builder
	for _, h := range hits {
		ids.WriteString(h.ID)
	}
	return ids.String()
}

func TestRerank(t *testing.T) {
	filler := strings.Repeat("grass grows in every field of this quiet country ", 5)
	tests := []struct {
		name, query string
		candidates  []Candidate
		want        string
	}{
		{"nothing", "ships", nil, ""},
		{"adjacent words come first", "harbour light", candidates("light and far from it a harbour", "a harbour light shone", "the harbour"), "bac"},
		{"words close together come first", "keeper fog ships", candidates("keeper "+filler+" fog "+filler+" ships", "ships in fog, and their keeper "+filler+filler), "ba"},
		{"a quotation comes first", "the lamp was lit by the keeper. Later", []Candidate{
			{Hit: Hit{"x", 10}, Text: "the lamp was lit by the keeper, and lit again: the keeper lit the lamp"},
			{Hit: Hit{"y", 8}, Text: filler + "the lamp was lit by the keeper. Later it went out. " + filler}}, "yx"},
		{"a French quotation comes first, although two of its words have one stem", "pour plus d'une visite dans une province", []Candidate{
			{Hit: Hit{"x", 10}, Text: "Dans une province, une visite est permise. Pour plus d’une, la visite d’une autre province est à demander dans le bureau."},
			{Hit: Hit{"y", 6.5}, Text: "Le formulaire est à remplir par tous les visiteurs. Pour plus d’une visite dans une province, vous devez le demander avec les autres."}}, "yx"},
		{"a German quotation comes first, although two of its words have one stem", "ein Haus neben vielen Häusern am Hafen", []Candidate{
			{Hit: Hit{"x", 10}, Text: "Neben dem Hafen ist ein Haus, und am Hafen sind die Häuser neben vielen anderen. Ein Haus und auch die Häuser sind alt."},
			{Hit: Hit{"y", 6.5}, Text: "Wer mit dem Schiff kommt, sieht bald ein Haus neben vielen Häusern am Hafen, aber die Leute sind nicht zu sehen."}}, "yx"},
		{"without words the order is kept", "?", []Candidate{{Hit: Hit{"x", 3}}, {Hit: Hit{"y", 2}}}, "xy"},
		{"ties are broken by id", "ships", []Candidate{{Hit: Hit{"y", 3}, Text: "ships"}, {Hit: Hit{"x", 3}, Text: "ships"}}, "xy"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Rerank(test.query, test.candidates)
			if order(got) != test.want {
				t.Errorf("Rerank returns %v, want the order %s", got, test.want)
			}
		})
	}
}

// A candidate that is similar to the best candidates must be ranked higher, even if it
// does not have more words of the query.
func TestRerankRaisesSimilarPassages(t *testing.T) {
	all := candidates("wing flutter of aircraft at high speed", "flutter of an aircraft wing at supersonic speed", "flutter, as a heart that beats irregularly", "flutter, supersonic aircraft speed")
	for i := range all {
		all[i].Score -= float64(i) / 100
	}
	if got := order(Rerank("flutter", all)); strings.Index(got, "d") > strings.Index(got, "c") {
		t.Errorf("Rerank returns the order %s, want d before c", got)
	}
}

func TestRerankIsDeterministic(t *testing.T) {
	var all []Candidate
	for i := range Candidates {
		all = append(all, Candidate{Hit: Hit{fmt.Sprint(i), 10 - float64(i)/10}, Title: "ships", Text: strings.Repeat(fmt.Sprintf("keeper fog ships %d light ", i%7), 20)})
	}
	want := Rerank("the fog light of ships and keepers", all)
	for range 20 {
		if got := Rerank("the fog light of ships and keepers", all); !slices.Equal(got, want) {
			t.Fatalf("Rerank returns %v, and then %v", want, got)
		}
	}
}

func TestSpread(t *testing.T) {
	hits := make([]Hit, 8)
	documents := map[string]string{"0": "x", "1": "x", "2": "x", "3": "x", "4": "y", "5": "x", "6": "y", "7": "z"}
	for i := range hits {
		hits[i] = Hit{fmt.Sprint(i), 10 - float64(i)}
	}
	for limit, want := range map[int]string{1: "0", 2: "04", 4: "0147", 6: "012347", 7: "0123457", 8: "01234567", 9: "01234567"} {
		if got := order(Spread(hits, limit, func(h Hit) string { return documents[h.ID] })); got != want {
			t.Errorf("Spread to %d picks %s, want %s", limit, got, want)
		}
	}
}

func BenchmarkRerank(b *testing.B) {
	var all []Candidate
	for i := range Candidates {
		all = append(all, Candidate{Hit: Hit{fmt.Sprint(i), 10}, Title: "The lighthouse", Section: "Ships > Fog", Text: strings.Repeat(fmt.Sprintf("The keeper of lighthouse %d counted ships before fog%d came in. ", i, i%9), 15)})
	}
	for b.Loop() {
		Rerank("how did the keeper count ships in the fog?", all)
	}
}
