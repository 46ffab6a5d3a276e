package bleve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"annals/projections/searchindex"
)

const (
	// alikeTerms is how many terms may stand for a word, those that most passages
	// hold.
	alikeTerms = 20
	// alikeWords is for how many words of a query others are looked for.
	alikeWords = 4
	// prefixShare is what a word counts for, beside a whole one, that only begins
	// with what was asked for.
	prefixShare = 0.25
	// prefixQuery is how many words a query has at most whose last one may be the
	// beginning of a word: a sentence is not being typed any more.
	prefixQuery = 3
	// shortestPrefix is how many letters the beginning of a word has at least.
	shortestPrefix = 4
)

// expand returns terms that stand for those of a query that no passage holds
// which the caller may read, written alike, and for the beginning of a
// word at the end of a short query. found are the terms that passages hold. Only
// what the caller may read decides: of other passages' words no trace is left.
func (r *ranking) expand(terms []searchindex.Term, found []rankedTerm, dictionaries []segment.TermDictionary, passages uint64) (more []rankedTerm, err error) {
	known := make(map[string]float64, len(found))
	for _, t := range found {
		known[t.text] = t.weight
	}
	words := 0
	for i, t := range terms {
		weight, held := known[t.Text]
		last := i == len(terms)-1 && len(terms) <= prefixQuery
		long := utf8.RuneCountInString(t.Text) >= shortestPrefix
		if held && (!last || !long) || words == alikeWords {
			continue
		}
		words++
		group := make(map[string]*rankedTerm)
		if n := searchindex.Typos(t.Text); !held && n > 0 {
			dfa, err := misspelling(t.Text, n)
			if err == nil {
				first, _ := utf8.DecodeRuneInString(t.Text)
				err = r.collect(group, dfa, string(first), dictionaries)
			}
			if err != nil {
				return nil, err
			}
		}
		if last && long {
			if err := r.collect(group, new(vellum.AlwaysMatch), t.Text, dictionaries); err != nil {
				return nil, err
			}
		}
		delete(group, t.Text)
		more = append(more, together(group, t, weight, passages)...)
	}
	return more, nil
}

// together weighs the terms that stand for one as if they were one term. Beside a
// whole word, of some weight, they count for less than that.
func together(group map[string]*rankedTerm, t searchindex.Term, whole float64, passages uint64) []rankedTerm {
	terms := make([]rankedTerm, 0, len(group))
	for _, g := range group {
		terms = append(terms, *g)
	}
	slices.SortFunc(terms, func(a, b rankedTerm) int {
		return cmp.Or(cmp.Compare(b.found, a.found), strings.Compare(a.text, b.text))
	})
	terms = terms[:min(len(terms), alikeTerms)]
	f := 0.0
	for _, g := range terms {
		f += float64(g.found)
	}
	n := max(float64(passages), f)
	weight := searchindex.AlikeShare * t.Weight * math.Log(1+(n-f+0.5)/(f+0.5))
	if whole > 0 {
		weight = prefixShare * min(whole, weight/searchindex.AlikeShare)
	}
	for i := range terms {
		terms[i].weight = weight
	}
	return terms
}

// collect adds the terms that an automaton accepts, of those with a prefix, as
// far as passages hold them that the caller may read.
func (r *ranking) collect(group map[string]*rankedTerm, accept segment.Automaton, prefix string, dictionaries []segment.TermDictionary) error {
	for i, d := range dictionaries {
		entries := d.AutomatonIterator(accept, []byte(prefix), []byte(prefix+"\xff"))
		for {
			entry, err := entries.Next()
			if err != nil {
				return err
			}
			if entry == nil {
				break
			}
			if g := group[entry.Term]; g != nil && g.postings[i] != nil {
				continue // by the other automaton
			}
			list, err := d.PostingsList([]byte(entry.Term), r.except(i), nil)
			if err != nil {
				return err
			}
			found, err := r.count(list, i)
			if err != nil {
				return err
			}
			if found == 0 {
				continue
			}
			g := group[entry.Term]
			if g == nil {
				g = &rankedTerm{text: entry.Term, postings: make([]segment.PostingsList, len(dictionaries))}
				group[entry.Term] = g
			}
			g.postings[i] = list
			g.found += found
		}
	}
	return nil
}

// builders make automata for one and two mistakes; making one takes a moment.
var builders = [...]func() (*levenshtein.LevenshteinAutomatonBuilder, error){
	sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	}),
	sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(2, true)
	}),
}

// misspelling returns an automaton that accepts what differs from a term by so
// many letters at most, where two that changed places are one.
func misspelling(term string, letters int) (segment.Automaton, error) {
	b, err := builders[letters-1]()
	if err != nil {
		return nil, fmt.Errorf("look for words like %q: %w", term, err)
	}
	dfa, err := b.BuildDfa(term, uint8(letters))
	if err != nil {
		return nil, fmt.Errorf("look for words like %q: %w", term, err)
	}
	return dfa, nil
}
