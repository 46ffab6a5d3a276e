package quality_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"annals/commands/importer/extract/pdf/quality"
)

const prose = `The committee met on Tuesday and heard the report of its chairman about the harvest of the last year. Many farmers had lost their
fields to the flood in spring, others could not sell what they grew, because roads and bridges were closed until summer. It was decided that every
village should keep seeds for another year, and that the mills would stay open during winter.`

func of(words []string) *quality.Text { return quality.Of(len(words), slices.Values(words)) }

func TestOf(t *testing.T) {
	words := strings.Fields(prose)
	shifted := strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsLower(r) {
			return 'a' + (r-'a'+3)%26
		}
		return r
	}, prose))
	var cyrillic, confused, noise []string
	for _, w := range words {
		cyrillic = append(cyrillic, strings.Map(func(r rune) rune { return 0xe0 + r%31 }, w))
		confused = append(confused, w[:1]+"n1s"+w[1:])
		noise = append(noise, "x"+strings.Repeat("lI", 3)+w)
	}
	none := quality.Missing{Visible: 500}
	for name, c := range map[string]struct {
		words                          []string
		missing                        quality.Missing
		rubbish, implausible, doubtful bool
	}{
		"prose":             {words, none, false, false, false},
		"no text":           {nil, quality.Missing{}, false, false, false},
		"shifted letters":   {shifted, none, true, true, false},
		"other alphabet":    {cyrillic, none, true, false, false},
		"digits in words":   {confused, none, false, true, false},
		"bad recognition":   {noise, none, false, false, true},
		"no map to Unicode": {words, quality.Missing{Visible: 500, Unusable: 0.4}, true, false, false},
		"codes, but words":  {words, quality.Missing{Visible: 500, Unmapped: 0.9}, false, false, false},
	} {
		got := of(c.words)
		if got.Rubbish(c.missing) != c.rubbish || got.Implausible() != c.implausible || got.Doubtful() != c.doubtful {
			t.Errorf("%s: rubbish %t, implausible %t, doubtful %t", name, got.Rubbish(c.missing), got.Implausible(), got.Doubtful())
		}
	}
}

func TestSample(t *testing.T) {
	if got := of(slices.Repeat([]string{"word"}, 200)); !got.All || got.Letters != 800 {
		t.Errorf("of 200 words: %d letters, all: %t", got.Letters, got.All)
	}
	if got := of(slices.Repeat([]string{"word"}, 10_000)); got.All || got.Letters == 0 || got.Letters > 1_000 {
		t.Errorf("of 10,000 words: %d letters, all: %t", got.Letters, got.All)
	}
}
