package searchindex

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"annals/projections/searchindex/language"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"The ships were Sailing home!":         "the ship were sail home",
		"the miller's don't, it’s":             "the miller don't it",
		"2,500.75 p53, IL-6 (v1.2)":            "2,500.75 p53 il 6 v1.2",
		"Straße Æther naïve Łódź":              "strass aether naiv lodz",
		"Ｆｕｌｌ ﬁne":                             "full fine",
		"МОСКВА Ёлка":                          "москва елка",
		"東京都 a":                                "東 京 東京 都 京都 a",
		"snake_case/path.go":                   "snake case path go",
		strings.Repeat("x", 200) + " b":        strings.Repeat("x", 64) + " b",
		"\xff\xfe broken\xff":                  "broken",
		"tele\u00adphone Grims\u200bby \u00ad": "telephon grimsbi",
	} {
		if got := strings.Join(Terms(text), " "); got != want {
			t.Errorf("Terms(%.40q) = %q, want %q", text, got, want)
		}
	}
}

func TestQueryTerms(t *testing.T) {
	got := QueryTerms("Who saw the ships? The ship, 東京都, 水")
	want := []Term{{"who", stopWeight}, {"saw", 1}, {"the", stopWeight * math.Sqrt(2)}, {"ship", math.Sqrt2}, {"東京", 1}, {"京都", 1}, {"水", 1}}
	if !slices.EqualFunc(got, want, func(a, b Term) bool { return a.Text == b.Text && math.Abs(a.Weight-b.Weight) < 1e-9 }) {
		t.Errorf("QueryTerms = %v, want %v", got, want)
	}
	var long strings.Builder
	for i := range 40_000 {
		long.WriteString(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + " ")
	}
	if n := len(QueryTerms(long.String())); n != maxQueryTerms {
		t.Errorf("a long query has %d terms, want %d", n, maxQueryTerms)
	}
}

func TestTermsInLanguages(t *testing.T) {
	for text, want := range map[string]string{
		"The keeper wrote the names of ships into the book of the harbour.":               "the keeper wrote the name of ship into the book of the harbour",
		"Der Wärter schrieb die Namen der Häuser und Schiffe in das Buch 東京 2,5.":         "ƌder ƌwart ƌschrieb ƌdie ƌnam ƌder ƌhaus ƌund ƌschiff ƌin ƌdas ƌbuch 東 京 東京 ƌ2,5",
		"Le gardien de l’église notait les noms des navires dans un livre pour la ville.": "ƒle ƒgardien ƒde ƒl ƒeglis ƒnotait ƒles ƒnom ƒdes ƒnavir ƒdan ƒun ƒlivr ƒpour ƒla ƒvile",
	} {
		if _, _, _, got := (Passage{Text: text}).Terms(); strings.Join(got, " ") != want {
			t.Errorf("the terms of %q are %q, want %q", text, got, want)
		}
	}
	got := QueryTermsIn(language.All[0], "und die Häuser der Häuser, 東京")
	want := []Term{{"ƌund", stopWeight}, {"ƌdie", stopWeight}, {"ƌhaus", math.Sqrt2}, {"ƌder", stopWeight}, {"東京", 1}}
	if !slices.EqualFunc(got, want, func(a, b Term) bool { return a.Text == b.Text && math.Abs(a.Weight-b.Weight) < 1e-9 }) {
		t.Errorf("QueryTermsIn = %v, want %v", got, want)
	}
}

func FuzzTerms(f *testing.F) {
	for _, seed := range []string{"", "a's", "1.5,", "’", "東京 x", "e\u0301", "\xff", "ﷺ", "กรุง"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms := Terms(text)
		for _, term := range terms {
			if term == "" || term == "\x00" || len(term) > 2*maxTerm || strings.ContainsAny(term, " \n\t") || utf8.ValidString(text) && !utf8.ValidString(term) {
				t.Fatalf("Terms(%q) returns the term %q", text, term)
			}
		}
		if again := Terms(text); !slices.Equal(terms, again) {
			t.Fatalf("Terms(%q) returns %q, and then %q", text, terms, again)
		}
		for _, l := range language.All {
			if english, other := queryTerms(nil, text), queryTerms(l, text); len(english) != len(other) {
				t.Fatalf("%q has the terms %q, but in %s %q", text, english, l.Code, other)
			}
		}
		for _, q := range QueryTerms(text) {
			if !slices.Contains(terms, q.Text) {
				t.Fatalf("the query %q has the term %q, which is not among the terms of the same text as a passage: %q", text, q.Text, terms)
			}
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	text := strings.Repeat("The keeper of the lighthouse counted nineteen ships, and no more, before the fog came in at O'Hara's. ", 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Terms(text)
	}
}
