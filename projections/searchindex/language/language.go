// Package language recognises the language of a passage, and reduces the words of that
// language to their stems. It imports no other package of this module.
//
// Stop words and stemmers are those of bleve, which has them from Lucene and Snowball.
// English is not among the languages: package searchindex stems English words, and
// treats texts whose language is not recognised as English.
package language

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fa"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hi"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/in"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"
)

// Language is a language whose words have stems of their own. nil is English, and every
// language that is not recognised.
type Language struct {
	// Code is the language's code of ISO 639-1.
	Code string
	// Mark is a letter that stands before the terms of this language in an index, so that
	// they differ from the terms of other languages. It is a letter that hardly any text
	// has, because the tokenizers of search engines keep letters together.
	Mark string

	script  *unicode.RangeTable // nil for the Latin script
	letters string              // letters that other languages in this script lack
	stop    []byte              // a list of stop words, one a line, with comments
	elides  bool                // articles before a vowel are joined to the next word by an apostrophe
	filters []analysis.TokenFilter
}

// All are the languages. An index contains their marks: do not change those.
var All = []*Language{
	{Code: "de", Mark: "ƌ", stop: de.GermanStopWords, filters: filters(de.NewGermanNormalizeFilter(), de.NewGermanLightStemmerFilter())},
	{Code: "fr", Mark: "ƒ", stop: fr.FrenchStopWords, elides: true, filters: filters(fr.NewFrenchLightStemmerFilter())},
	{Code: "es", Mark: "ƨ", stop: es.SpanishStopWords, filters: filters(es.NewSpanishNormalizeFilter(), es.NewSpanishLightStemmerFilter())},
	{Code: "it", Mark: "ɨ", stop: it.ItalianStopWords, elides: true, filters: filters(it.NewItalianLightStemmerFilterFilter())},
	{Code: "pt", Mark: "ƥ", stop: pt.PortugueseStopWords, filters: filters(pt.NewPortugueseLightStemmerFilter())},
	{Code: "nl", Mark: "ƞ", stop: nl.DutchStopWords, filters: filters(nl.NewDutchStemmerFilter())},
	{Code: "sv", Mark: "ƽ", stop: sv.SwedishStopWords, filters: filters(sv.NewSwedishStemmerFilter())},
	{Code: "da", Mark: "ȡ", stop: da.DanishStopWords, filters: filters(da.NewDanishStemmerFilter())},
	{Code: "no", Mark: "ȵ", stop: no.NorwegianStopWords, filters: filters(no.NewNorwegianStemmerFilter())},
	{Code: "fi", Mark: "ʄ", stop: fi.FinnishStopWords, filters: filters(fi.NewFinnishStemmerFilter())},
	{Code: "hu", Mark: "ɦ", stop: hu.HungarianStopWords, filters: filters(hu.NewHungarianStemmerFilter())},
	{Code: "ro", Mark: "ɼ", stop: ro.RomanianStopWords, filters: filters(ro.NewRomanianStemmerFilter())},
	{Code: "tr", Mark: "ƭ", stop: tr.TurkishStopWords, filters: filters(tr.NewTurkishStemmerFilter())},
	{Code: "ru", Mark: "ƹ", script: unicode.Cyrillic, stop: ru.RussianStopWords, filters: filters(ru.NewRussianStemmerFilter())},
	{Code: "ar", Mark: "ƛ", script: unicode.Arabic, stop: ar.ArabicStopWords, filters: filters(ar.NewArabicNormalizeFilter(), ar.NewArabicStemmerFilter())},
	{Code: "fa", Mark: "ƕ", script: unicode.Arabic, letters: "پچژگیک", stop: fa.PersianStopWords, filters: filters(ar.NewArabicNormalizeFilter(), fa.NewPersianNormalizeFilter())},
	{Code: "hi", Mark: "ɧ", script: unicode.Devanagari, stop: hi.HindiStopWords, filters: filters(in.NewIndicNormalizeFilter(), hi.NewHindiNormalizeFilter(), hi.NewHindiStemmerFilter())},
}

func filters(all ...analysis.TokenFilter) []analysis.TokenFilter { return all }

// Of returns the language of a term by its mark, and nil for a term without a mark.
func Of(term string) *Language {
	if term == "" || term[0] < utf8.RuneSelf {
		return nil
	}
	for _, l := range All {
		if strings.HasPrefix(term, l.Mark) {
			return l
		}
	}
	return nil
}

// maxElision is the maximum length of an article with its apostrophe, such as qu' and
// dell'.
const maxElision = 6

// Stem returns the stem of a word in lower case.
func (l *Language) Stem(word string) string {
	if i := strings.IndexByte(word, '\''); l.elides && i > 0 && i < maxElision && i+1 < len(word) {
		word = word[i+1:]
	}
	tokens := analysis.TokenStream{{Term: []byte(word)}}
	for _, f := range l.filters {
		tokens = f.Filter(tokens)
	}
	return string(tokens[0].Term)
}

// StopWords returns the words of the language that do not describe a subject.
func (l *Language) StopWords() (words []string) {
	for line := range bytes.Lines(l.stop) {
		if i := bytes.IndexAny(line, "|#"); i >= 0 {
			line = line[:i]
		}
		for _, w := range bytes.Fields(line) {
			words = append(words, string(w))
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}
