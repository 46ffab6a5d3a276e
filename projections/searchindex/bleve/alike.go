package bleve

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"

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
	// walkSteps is for how many letters the dictionaries are read for one word at
	// least, and up to twice as many: see walk.
	walkSteps = 20_000
)

// walk is an automaton that accepts nothing more after some number of letters.
// The dictionaries hold the words of all passages, so without a bound a search
// would take as long as others make it who file many words that begin alike.
// A word for which the bound is met is not expanded at all.
type walk struct {
	segment.Automaton
	left int
}

func (w *walk) Accept(state int, letter byte) int {
	w.left--
	return w.Automaton.Accept(state, letter)
}

func (w *walk) CanMatch(state int) bool { return w.left > 0 && w.Automaton.CanMatch(state) }

// steps returns the bound of a walk. A bound that is known could be used to count
// the words of hidden passages to the last one, by filing words of one's own until
// it is met. So it is another one for every word, and after every change of the
// segments.
func (r *ranking) steps(word string) int {
	var h maphash.Hash
	h.SetSeed(r.seed)
	h.WriteString(word)
	for _, s := range r.snapshot.Segments() {
		maphash.WriteComparable(&h, s.Id())
	}
	return walkSteps + int(h.Sum64()%walkSteps)
}

// expand returns terms that stand for those of a query that no passage holds
// which the caller may read, written alike, and for the beginning of a
// word at the end of a short query. found are the terms that passages hold. Which
// terms these are is decided by what the caller may read alone; whether there are
// any, by the bound of a walk, too.
func (r *ranking) expand(ctx context.Context, terms []searchindex.Term, found []rankedTerm, dictionaries []segment.TermDictionary, passages uint64) (more []rankedTerm, err error) {
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
		var alike []segment.Automaton
		var prefixes []string
		if n := searchindex.Typos(t.Text); !held && n > 0 {
			dfa, err := misspelling(t.Text, n)
			if err != nil {
				return nil, err
			}
			first, _ := utf8.DecodeRuneInString(t.Text)
			alike, prefixes = append(alike, dfa), append(prefixes, string(first))
		}
		if last && long {
			alike, prefixes = append(alike, new(vellum.AlwaysMatch)), append(prefixes, t.Text)
		}
		names, err := namesLike(ctx, alike, prefixes, dictionaries, r.steps(t.Text))
		if err != nil {
			return nil, err
		}
		group, err := r.collect(ctx, names, dictionaries)
		if err != nil {
			return nil, err
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

// namesLike returns the terms of each dictionary that one of the automata accepts,
// of those with its prefix: none where it would take more than some number of
// steps to find them all. Nothing is read of a term but its name.
func namesLike(ctx context.Context, alike []segment.Automaton, prefixes []string, dictionaries []segment.TermDictionary, steps int) ([]map[string]bool, error) {
	w := &walk{left: steps}
	names := make([]map[string]bool, len(dictionaries))
	for i, d := range dictionaries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		names[i] = make(map[string]bool)
		for j := range alike {
			w.Automaton = alike[j]
			entries := d.AutomatonIterator(w, []byte(prefixes[j]), []byte(prefixes[j]+"\xff"))
			for {
				entry, err := entries.Next()
				if err != nil {
					return nil, err
				}
				if w.left <= 0 {
					return nil, nil
				}
				if entry == nil {
					break
				}
				names[i][entry.Term] = true
			}
		}
	}
	return names, nil
}

// collect looks up terms of each dictionary, and returns those that passages hold
// that the caller may read.
func (r *ranking) collect(ctx context.Context, names []map[string]bool, dictionaries []segment.TermDictionary) (map[string]*rankedTerm, error) {
	group := make(map[string]*rankedTerm)
	for i := range names {
		for name := range names[i] {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			list, err := dictionaries[i].PostingsList([]byte(name), r.except(i), nil)
			if err != nil {
				return nil, err
			}
			found, err := r.count(list, i)
			if err != nil {
				return nil, err
			}
			if found == 0 {
				continue
			}
			g := group[name]
			if g == nil {
				g = &rankedTerm{text: name, postings: make([]segment.PostingsList, len(dictionaries))}
				group[name] = g
			}
			g.postings[i] = list
			g.found += found
		}
	}
	return group, nil
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
