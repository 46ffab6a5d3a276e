package searchindex

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/projections/searchindex/language"
)

func TestParseSyntax(t *testing.T) {
	for _, test := range []struct{ query, text, phrases, excluded string }{
		{"the notice period", "the notice period", "", ""},
		{`"notice period" of the supplier`, "notice period of the supplier", "notic period", ""},
		{"“notice period” „a draft“", "notice period a draft", "notic period; a draft", ""},
		{"« préavis du bail » «\u00a0loyer dû\u00a0» «\u202fcaution\u202f» »Miete« -«pour information»",
			" préavis du bail  \u00a0loyer dû\u00a0 \u202fcaution\u202f Miete ", "preavi du bail; loyer du; caution; miet", "pour inform"},
		{"Home » Search » Help", "Home » Search » Help", "", ""},
		{"«», 5» and 6» pipes", "«», 5» and 6» pipes", "", ""},
		{"notice -draft", "notice ", "", "draft"},
		{`-"for information" notice -drafts`, " notice ", "", "for inform; draft"},
		{"ls -la, tar -x --verbose, state-of-the-art, -5, - word -", "ls -la, tar -x --verbose, state-of-the-art, -5, - word -", "", ""},
		{`a 5" pipe`, `a 5" pipe`, "", ""},
		{`5" and 6" pipes`, `5" and 6" pipes`, "", ""},
		{`"" "?" "`, `"" "?" "`, "", ""},
		{`"東京都"`, "東京都", "東京 京都", ""},
		{"「東京都」 -『犬』", "東京都 ", "東京 京都", "犬"},
		{"契約 -東京 -犬 계약 -서울 สัญญา -ป่า -हिन्दी", "契約   계약  สัญญา  ", "", "東京; 犬; 서울; ป่ ่า; हिन्दी"},
		{"契約 -a東", "契約 -a東", "", ""},
		{`Who wrote "The Notice" -draft?`, `Who wrote "The Notice" -draft?`, "", ""},
		{strings.Repeat(`"a"`, 16), strings.Repeat("a", 16), strings.Repeat("a; ", 15) + "a", ""},
		{strings.Repeat(`"a" `, 17), strings.Repeat(`"a" `, 17), "", ""},
	} {
		s := ParseSyntax(test.query)
		joined := func(phrases []string) string {
			texts := make([]string, len(phrases))
			for i, p := range phrases {
				texts[i] = strings.Join(queryTerms(nil, p), " ")
			}
			return strings.Join(texts, "; ")
		}
		if s.Text != test.text || joined(s.phrases) != test.phrases || joined(s.excluded) != test.excluded {
			t.Errorf("ParseSyntax(%s) = %q, phrases %q, excluded %q", test.query, s.Text, joined(s.phrases), joined(s.excluded))
		}
	}
}

func TestParseSyntaxOfBeginnings(t *testing.T) {
	for query, want := range map[string]string{
		"organiz* of Bürg*":                    "[{organiz [organ]} {burg []}]",
		"the stud*, of a* to* *.md *word* a*b": "[]",
		`"notice per*" -draf*`:                 "[]",
		"one* two* thr* fou* five*":            "[{one []} {two []} {thr []} {fou []}]",
		"What is organiz* ?":                   "[]",
	} {
		if got := fmt.Sprint(ParseSyntax(query).Beginnings); got != want {
			t.Errorf("ParseSyntax(%s) has the beginnings %s, want %s", query, got, want)
		}
	}
}

func TestSyntaxMatches(t *testing.T) {
	for _, test := range []struct {
		query string
		want  bool
	}{
		{"anything", true},
		{`"notice period"`, true},
		{`"Notices: periods"`, true},
		{`"period notice"`, false},
		{`"supplier contract" "ninety days"`, true},
		{`"contract the notice"`, false}, // the heading and the text do not follow each other
		{"notice -ninety", false},
		{"notice -drafts", true},
		{`notice -"ninety days"`, false},
		{`notice -"days ninety"`, true},
		{`"水"`, true},
		{`"清水寺"`, false},
		{"notice -清水", false},
		{"notice -水", false},
		{"notice -東京", true},
	} {
		if got := ParseSyntax(test.query).Matches(Candidate{Section: "Supplier contract", Text: "The notice period is ninety days. 清水"}); got != test.want {
			t.Errorf("Matches of %s = %t, want %t", test.query, got, test.want)
		}
	}
}

func TestSyntaxTerms(t *testing.T) {
	required, excluded := ParseSyntax(`"notice period" "notice of a draft" -contract -"ninety days"`).Terms()
	var english []string
	for _, forms := range required {
		english = append(english, forms[0])
		if len(forms) != 1+len(language.All) {
			t.Errorf("%q are %d terms, want one in each language", forms, len(forms))
		}
	}
	if got, want := fmt.Sprintf("%v %s %d", english, excluded[0], len(excluded)), fmt.Sprintf("[notic period of a draft] contract %d", 1+len(language.All)); got != want {
		t.Errorf("Terms = %s, want %s", got, want)
	}
	if required, _ := ParseSyntax(`"東京都"`).Terms(); fmt.Sprint(required) != "[[東京] [京都]]" {
		t.Errorf("Terms = %q, want those that are the same in all languages", required)
	}
}

func FuzzParseSyntax(f *testing.F) {
	for _, seed := range []string{"", `"`, `"a b" -cde`, `-"a"`, "organiz* tête*", "“x”", "« x »", "»x«", "-東京都", "\xff\"\xff", `a"b"`} {
		f.Add(seed, "a b c")
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		s := ParseSyntax(query)
		if len(s.Text) > len(query) || len(s.phrases)+len(s.excluded) > operatorTerms {
			t.Fatalf("ParseSyntax(%q) = %+v", query, s)
		}
		required, _ := s.Terms()
		_, _, _, terms := Passage{Text: text}.Terms()
		lacks := func(forms []string) bool {
			return !slices.ContainsFunc(forms, func(term string) bool { return slices.Contains(terms, term) })
		}
		if s.Matches(Candidate{Text: text}) && slices.ContainsFunc(required, lacks) {
			t.Fatalf("%q matches %q, which lacks one of the terms %q", query, text, required)
		}
		if s.Plain() && s.Text != query[:min(len(query), maxQueryBytes)] {
			t.Fatalf("ParseSyntax(%q) changes the text of a search without operators to %q", query, s.Text)
		}
	})
}
