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

	"annals/projections/searchindex"
	"annals/projections/searchindex/bm25"
	"annals/projections/searchindex/language"

	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"
)

const (
	// alikeTerms is the maximum number of terms that replace a word of the query. Those with the fewest
	// wrong letters are used, and of these the most frequent ones.
	alikeTerms = 20
	// alikeWords is the maximum number of words of a query for which similar words are
	// looked up.
	alikeWords = 4
	// prefixShare is the weight of a word that begins with the last word of the query, as
	// a share of the weight of that last word.
	prefixShare = 0.25
	// prefixQuery is the maximum number of words of a query whose last word may be
	// incomplete. In a longer query the user has probably finished typing the last word.
	prefixQuery = 3
	// shortestPrefix is the minimum length of an incomplete word in letters.
	shortestPrefix = 4
	// walkSteps bounds the letters that are read in dictionaries for one word. A random
	// number below walkSteps is added to it: see walk and steps.
	walkSteps = 20_000
)

// walk is an automaton that stops after a number of letters. The dictionaries contain the
// words of all passages. Without a bound, other users could slow searches down by filing
// many words with the same beginning. If the bound is reached for a word, no similar
// words are used for it.
type walk struct {
	segment.Automaton
	left int
}

func (w *walk) Accept(state int, letter byte) int {
	w.left--
	return w.Automaton.Accept(state, letter)
}

func (w *walk) CanMatch(state int) bool { return w.left > 0 && w.Automaton.CanMatch(state) }

// steps returns the bound of a walk. With a fixed bound, a user could count the words of
// passages that the user may not read, by filing words until the bound is reached. So the
// bound differs for every word, and after every change of the segments.
func (r *ranking) steps(word string) int {
	var h maphash.Hash
	h.SetSeed(r.seed)
	h.WriteString(word)
	for _, s := range r.snapshot.Segments() {
		maphash.WriteComparable(&h, s.Id())
	}
	return walkSteps + int(h.Sum64()%walkSteps)
}

// expand returns two kinds of terms: terms spelled like those terms of the query that no
// readable passage contains, and terms that begin with the last word of a short query.
// found are the terms of the query that readable passages contain. Passages that the
// caller may not read can only cause expand to return no terms, if a walk reaches its
// bound.
func (r *ranking) expand(ctx context.Context, words [][]searchindex.Term, found []rankedWord, dictionaries []segment.TermDictionary, passages uint64) (more []rankedTerm, err error) {
	known := make(map[string]float64, len(found))
	for _, w := range found {
		known[w.Text] = w.Weight
	}
	looked := 0
	for i, forms := range words {
		t := forms[0]
		weight, held := known[t.Text]
		last := i == len(words)-1 && len(words) <= prefixQuery
		long := utf8.RuneCountInString(t.Text) >= shortestPrefix
		if held && (!last || !long) || looked == alikeWords {
			continue
		}
		looked++
		var alike []segment.Automaton
		var prefixes []string
		for _, form := range forms {
			if n := searchindex.Typos(form.Text); !held && n > 0 {
				dfa, err := misspelling(form.Text, n)
				if err != nil {
					return nil, err
				}
				alike, prefixes = append(alike, dfa), append(prefixes, searchindex.FirstLetter(form.Text))
			}
			if last && long {
				alike, prefixes = append(alike, new(vellum.AlwaysMatch)), append(prefixes, form.Text)
			}
		}
		names, err := namesLike(ctx, alike, prefixes, dictionaries, r.steps(t.Text))
		if err != nil {
			return nil, err
		}
		group, err := r.collect(ctx, names, dictionaries)
		if err != nil {
			return nil, err
		}
		for _, form := range forms {
			delete(group, form.Text)
		}
		if !held {
			for _, g := range group {
				g.mistakes = mistakes(forms, g.Text)
			}
		}
		terms := weightGroup(group, t, weight, passages)
		if err := r.weighRecurrence(terms, queryRecurrence, passages); err != nil {
			return nil, err
		}
		more = append(more, terms...)
	}
	return more, nil
}

// mistakes returns how many letters of a word, in one of its forms, are wrong if term is meant. To be incomplete counts
// as one.
func mistakes(forms []searchindex.Term, term string) int {
	fewest := math.MaxInt
	for _, form := range forms {
		if n := searchindex.Mistakes(form.Text, term); n >= 0 {
			fewest = min(fewest, n)
		} else if strings.HasPrefix(term, form.Text) {
			fewest = min(fewest, 1)
		}
	}
	return fewest
}

// begin returns the terms that begin so, in every language of the index, and that are not
// among the terms yet: the most frequent ones. Together they weigh as much as one term.
func (r *ranking) begin(ctx context.Context, b searchindex.Beginning, dictionaries []segment.TermDictionary, passages uint64) ([]rankedTerm, error) {
	prefixes, alike := []string{b.Text}, []segment.Automaton{new(vellum.AlwaysMatch)}
	for _, l := range language.All {
		if slices.ContainsFunc(r.columns, func(c *column) bool { return slices.Contains(c.languages, l) }) {
			prefixes, alike = append(prefixes, l.Mark+b.Text), append(alike, new(vellum.AlwaysMatch))
		}
	}
	names, err := namesLike(ctx, alike, prefixes, dictionaries, r.steps(b.Text))
	if err != nil {
		return nil, err
	}
	for i := range names {
		for _, s := range b.Stems {
			names[i][s] = true
		}
	}
	group, err := r.collect(ctx, names, dictionaries)
	if err != nil {
		return nil, err
	}
	for _, t := range r.terms {
		delete(group, t.Text)
	}
	terms := weightGroup(group, searchindex.Term{Weight: 1 / bm25.AlikeShare}, 0, passages)
	return terms, r.weighRecurrence(terms, queryRecurrence, passages)
}

// weightGroup weights the terms of a group, which replace one term of the query, as if
// they were a single term; those with more mistakes than the nearest weigh less. whole is the weight of the replaced term if readable passages
// contain it, too. In that case the group weighs less.
func weightGroup(group map[string]*rankedTerm, t searchindex.Term, whole float64, passages uint64) []rankedTerm {
	terms := make([]rankedTerm, 0, len(group))
	for _, g := range group {
		terms = append(terms, *g)
	}
	slices.SortFunc(terms, func(a, b rankedTerm) int {
		return cmp.Or(cmp.Compare(a.mistakes, b.mistakes), cmp.Compare(b.found, a.found), strings.Compare(a.Text, b.Text))
	})
	terms = terms[:min(len(terms), alikeTerms)]
	f := 0.0
	for _, g := range terms {
		f += float64(g.found)
	}
	weight := bm25.AlikeShare * t.Weight * bm25.Rareness(f, float64(passages))
	if whole > 0 {
		weight = prefixShare * min(whole, weight/bm25.AlikeShare)
	}
	for i := range terms {
		terms[i].Weight = weight * math.Pow(bm25.FartherShare, float64(terms[i].mistakes-terms[0].mistakes))
	}
	return terms
}

// namesLike returns, for each dictionary, the terms that begin with one of the prefixes
// and are accepted by the automaton with the same index. If finding all of them takes
// more than the given number of steps, it returns none. It reads only the dictionaries,
// not the postings.
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

// collect looks up terms in each dictionary and returns the terms that readable passages
// contain.
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
				g = &rankedTerm{Term: bm25.Term{Text: name}, postings: make([]segment.PostingsList, len(dictionaries))}
				group[name] = g
			}
			g.postings[i] = list
			g.found += found
		}
	}
	return group, nil
}

// builders return the builders of automata that accept words with one wrong letter, and
// with two. Each is created only one time, because that is expensive.
var builders = [...]func() (*levenshtein.LevenshteinAutomatonBuilder, error){
	sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	}),
	sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(2, true)
	}),
}

// misspelling returns an automaton that accepts words within an edit distance of a
// term, where swapping two adjacent letters is one edit.
func misspelling(term string, letters int) (segment.Automaton, error) {
	b, err := builders[letters-1]()
	if err != nil {
		return nil, fmt.Errorf("find words like %q: %w", term, err)
	}
	dfa, err := b.BuildDfa(term, uint8(letters))
	if err != nil {
		return nil, fmt.Errorf("find words like %q: %w", term, err)
	}
	return dfa, nil
}
