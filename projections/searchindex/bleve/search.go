package bleve

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"annals/projections/searchindex"
	"annals/projections/searchindex/bm25"
	"annals/projections/searchindex/language"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Search returns the best passages first; ties are broken by id.
func (x *engine) Search(ctx context.Context, q searchindex.Query) (hits []searchindex.Hit, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	terms := searchindex.QueryTerms(q.Text)
	if len(terms) == 0 || !q.All && len(q.Granted) == 0 {
		return nil, nil
	}
	defer func() {
		if r := recover(); r != nil {
			hits, err = nil, damaged(x.dir, r)
		}
	}()
	s, err := x.snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	found, err := x.columns.of(s)
	if err != nil {
		return nil, err
	}
	r := &ranking{snapshot: s, seed: x.seed, columns: found, within: make([]*scope, len(found)), keep: q.End()}
	scored := newBase(s, q)
	if len(q.More) > 0 {
		r.base = x.bases.known(scored)
	}
	if err := r.lookUp(ctx, r.inLanguages(terms, q.Text), q, x.scopes.of(s, found, q)); err != nil {
		return nil, fmt.Errorf("search in %s: %w", x.dir, err)
	}
	if err := r.rank(ctx, q, scored); err != nil {
		return nil, fmt.Errorf("search in %s: %w", x.dir, err)
	}
	if r.base == scored {
		scored.weight = bm25.Sum(r.terms)
		x.bases.keep(scored)
	}
	hits, err = r.hits()
	return hits[min(q.Offset, len(hits)):], err
}

// ranking is one search.
type ranking struct {
	snapshot *scorch.IndexSnapshot
	seed     maphash.Seed
	columns  []*column
	within   []*scope // the passages that the caller may read, by segment; nil means all
	base     *base    // the scores of terms, if they are known
	terms    []rankedTerm
	more     []rankedTerm // terms that raise the score of passages, but do not find any
	average  float64      // average length of a passage in terms
	norms    []float64    // bm25.Norm of each length of a passage
	keep     int
	best     []candidate // a heap, the worst candidate first
}

// rankedTerm is a term of the query with its postings in each segment.
type rankedTerm struct {
	bm25.Term
	found    uint64 // number of passages that contain the term and that the caller may read
	mistakes int    // letters that are wrong in the query if this term is meant
	postings []segment.PostingsList
}

// rankedWord is a word of the query with its terms in all languages. A passage contains
// at most one of these terms. So the word is as rare as if it were one term, and has its
// weight, but the weights of terms differ if the word is a stop word in some languages.
type rankedWord struct {
	bm25.Term        // its text identifies the word, its weight is the greatest one of terms
	found     uint64 // number of passages that contain one of terms
	terms     []rankedTerm
}

// inLanguages returns the terms of each word of a query in all languages of the index,
// English first.
func (r *ranking) inLanguages(english []searchindex.Term, query string) [][]searchindex.Term {
	words := make([][]searchindex.Term, len(english))
	for i := range english {
		words[i] = english[i : i+1 : i+1]
	}
	for _, l := range language.All {
		if !slices.ContainsFunc(r.columns, func(c *column) bool { return slices.Contains(c.languages, l) }) {
			continue
		}
		for i, t := range searchindex.QueryTermsIn(l, query) {
			if t.Text != english[i].Text { // terms without spaces are the same in all languages
				words[i] = append(words[i], t)
			}
		}
	}
	return words
}

// candidate is a passage with its score. The passage's id is read only when it is needed.
type candidate struct {
	score   float64
	segment int
	number  uint32
	id      string
}

// lookUp finds the terms in all segments and computes their weights. It counts only
// passages in the scopes. Otherwise a score would reveal how many passages that the
// caller may not read contain a word.
func (r *ranking) lookUp(ctx context.Context, words [][]searchindex.Term, q searchindex.Query, scopes []*scope) (err error) {
	segments := r.snapshot.Segments()
	dictionaries := make([]segment.TermDictionary, len(segments))
	var passages, total uint64
	for i, seg := range segments {
		if dictionaries[i], err = seg.Segment().Dictionary(wordsField); err != nil {
			return err
		}
		if scopes == nil {
			passages += seg.Count()
			total += r.columns[i].live(seg.Deleted())
			continue
		}
		r.within[i] = scopes[i].live(r.columns[i], seg.Deleted())
		passages += r.within[i].set.GetCardinality()
		total += r.within[i].total
	}
	r.average = float64(total) / float64(max(passages, 1))
	r.setNorms()
	if r.base != nil {
		r.terms = []rankedTerm{{Term: bm25.Term{Weight: r.base.weight}}} // Balance needs no more
	} else if err := r.lookUpTerms(ctx, words, q.Beginnings, dictionaries, passages); err != nil {
		return err
	}
	single := make([][]searchindex.Term, len(q.More))
	for i := range q.More {
		single[i] = q.More[i : i+1]
	}
	further, err := r.weighted(single, dictionaries, passages)
	if err != nil {
		return err
	}
	further = slices.DeleteFunc(further, func(w rankedWord) bool { return !bm25.Frequent(float64(w.found), float64(passages)) })
	for _, w := range bm25.Strongest(further) {
		if err := r.weighRecurrence(w.terms, moreRecurrence, passages); err != nil {
			return err
		}
		r.more = append(r.more, w.terms...)
	}
	bm25.Balance(r.terms, r.more)
	return nil
}

// lookUpTerms finds the terms of the query, and those that replace or complete some.
func (r *ranking) lookUpTerms(ctx context.Context, words [][]searchindex.Term, beginnings []searchindex.Beginning, dictionaries []segment.TermDictionary, passages uint64) error {
	found, err := r.weighted(words, dictionaries, passages)
	if err != nil {
		return err
	}
	for _, w := range bm25.Strongest(found) {
		if err := r.weighRecurrence(w.terms, queryRecurrence, passages); err != nil {
			return err
		}
		r.terms = append(r.terms, w.terms...)
	}
	for _, b := range beginnings {
		begun, err := r.begin(ctx, b, dictionaries, passages)
		if err != nil {
			return err
		}
		if r.terms = append(r.terms, begun...); len(begun) == 0 {
			continue
		}
		for _, typed := range searchindex.QueryTerms(b.Text) { // it is not misspelt
			words = slices.DeleteFunc(words, func(forms []searchindex.Term) bool { return forms[0].Text == typed.Text })
		}
	}
	others, err := r.expand(ctx, words, found, dictionaries, passages)
	r.terms = append(r.terms, others...)
	return err
}

// weighted returns the words that at least one readable passage contains, weighted by
// their rareness.
func (r *ranking) weighted(words [][]searchindex.Term, dictionaries []segment.TermDictionary, passages uint64) ([]rankedWord, error) {
	all := make([]rankedWord, 0, len(words))
	for _, forms := range words {
		word := rankedWord{Term: bm25.Term{Text: forms[0].Text}}
		var sum uint64
		for _, t := range forms {
			ranked := rankedTerm{Term: bm25.Term{Text: t.Text, Weight: t.Weight}, postings: make([]segment.PostingsList, len(dictionaries))}
			for i, d := range dictionaries {
				list, err := d.PostingsList([]byte(t.Text), r.except(i), nil)
				if err != nil {
					return nil, err
				}
				found, err := r.count(list, i)
				if err != nil {
					return nil, err
				}
				ranked.postings[i] = list
				ranked.found += found
			}
			if ranked.found > 0 {
				word.terms = append(word.terms, ranked)
				sum += ranked.found
			}
		}
		for i := range word.terms {
			word.terms[i].Weight *= bm25.Rareness(float64(sum), float64(passages))
			word.Weight = max(word.Weight, word.terms[i].Weight)
		}
		if word.found = sum; sum > 0 {
			all = append(all, word)
		}
	}
	return all, nil
}

// Exponents of bm25.Recurrence in the weights of words of the query, and of further terms.
// The latter were typed by nobody.
const (
	queryRecurrence = 0.4
	moreRecurrence  = 1
)

// weighRecurrence multiplies the weights of the terms of one word by their bm25.Recurrence in
// readable passages, unless one of them is a stop word.
func (r *ranking) weighRecurrence(terms []rankedTerm, exponent float64, passages uint64) error {
	var total, found uint64
	for _, t := range terms {
		if found += t.found; searchindex.IsStop(t.Text) || bm25.Common(float64(found), float64(passages)) {
			return nil // the postings are long
		}
	}
	for _, t := range terms {
		n, err := r.occurrences(t)
		if err != nil {
			return err
		}
		total += n
	}
	for i := range terms {
		terms[i].Weight *= bm25.Recurrence(float64(total), float64(found), float64(passages), exponent)
	}
	return nil
}

// occurrences returns how often readable passages contain a term, in all.
func (r *ranking) occurrences(t rankedTerm) (total uint64, err error) {
	for i, list := range t.postings {
		if list == nil || list.Count() == 0 {
			continue
		}
		within := r.within[i]
		postings := list.Iterator(true, false, false, nil)
		if within != nil {
			restrict(postings, within.set)
		}
		for {
			p, err := postings.Next()
			if err != nil {
				return 0, err
			}
			if p == nil {
				break
			}
			if within.has(uint32(p.Number())) {
				total += p.Frequency()
			}
		}
	}
	return total, nil
}

// except returns the passages to leave out of the posting lists of a segment: the deleted
// ones. If there is a scope, it returns nil, because the scope has no deleted passages.
func (r *ranking) except(segment int) *roaring.Bitmap {
	if r.within[segment] != nil {
		return nil
	}
	return r.snapshot.Segments()[segment].Deleted()
}

// count returns how many passages in a posting list of a segment the caller may read.
func (r *ranking) count(list segment.PostingsList, segment int) (uint64, error) {
	if r.within[segment] == nil {
		return list.Count(), nil
	}
	return countWithin(list, r.within[segment].set)
}

// rank ranks the passages that pass the query's filters. Unless their scores for the
// query's own terms are known, it adds them to scored.
func (r *ranking) rank(ctx context.Context, q searchindex.Query, scored *base) error {
	segments := r.snapshot.Segments()
	pass := make([]filter, len(segments))
	for i, seg := range segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if pass[i], err = newFilter(seg, q); err != nil {
			return err
		}
		if r.base == nil {
			if err := r.scoreSegment(i, scored); err != nil {
				return err
			}
		}
	}
	if r.base == nil {
		r.base = scored
	}
	best := r.base.best(max(raised, 2*r.keep), pass)
	for i := range segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.raise(i, best[i]); err != nil {
			return err
		}
	}
	return nil
}

// scoreSegment adds the scores of the query's own terms in one segment to scored.
func (r *ranking) scoreSegment(i int, scored *base) error {
	sum := newScores(len(r.columns[i].lengths))
	defer sum.release()
	for _, t := range r.terms {
		if err := r.score(sum, t, i, nil); err != nil {
			return err
		}
	}
	scored.add(sum)
	return nil
}

// raise adds the scores of the further terms to the passages of one segment that found
// lists, and offers these passages.
func (r *ranking) raise(i int, found scoreList) error {
	if len(found.numbers) == 0 {
		return nil
	}
	sum := newScores(len(r.columns[i].lengths))
	defer sum.release()
	found.copyTo(sum)
	if len(r.more) > 0 {
		only := roaring.New()
		only.AddMany(found.numbers)
		for _, t := range r.more {
			if err := r.score(sum, t, i, only); err != nil {
				return err
			}
		}
	}
	for _, number := range sum.touched {
		if err := r.offer(candidate{score: sum.scores[number], segment: i, number: number}); err != nil {
			return err
		}
	}
	return nil
}

// score adds the scores of a term for those passages of one segment that the caller may
// read. If only is not nil, it adds scores only for passages in this set, which all have a
// score already.
func (r *ranking) score(sum *scores, t rankedTerm, segment int, only *roaring.Bitmap) error {
	lengths, within := r.columns[segment].lengths, r.within[segment]
	if t.postings[segment] == nil || t.postings[segment].Count() == 0 {
		return nil
	}
	postings := t.postings[segment].Iterator(true, false, false, nil)
	if only != nil {
		restrict(postings, only)
	} else if within != nil {
		restrict(postings, within.set)
	}
	for {
		p, err := postings.Next()
		if p == nil || err != nil {
			return err
		}
		number := uint32(p.Number())
		if !within.has(number) || only != nil && sum.scores[number] == 0 {
			continue
		}
		sum.add(number, bm25.Score(t.Weight, float64(p.Frequency()), r.norms[min(lengths[number], maxNorm)]))
	}
}

// restrict lets the iterator skip postings that are not in a set, if it can: then it need
// not decode all of them.
func restrict(postings segment.PostingsIterator, set *roaring.Bitmap) {
	if known, ok := postings.(segment.OptimizablePostingsIterator); ok {
		if all := known.ActualBitmap(); all != nil {
			known.ReplaceActual(roaring.And(all, set))
		}
	}
}

// maxNorm is the length of a passage in terms from which longer ones count the same.
// Texts are cut into much shorter ones.
const maxNorm = 1 << 12

// setNorms computes bm25.Norm for every length, which is cheaper than for every posting.
func (r *ranking) setNorms() {
	longest := uint32(0)
	for _, c := range r.columns {
		longest = max(longest, c.longest)
	}
	r.norms = make([]float64, min(longest, maxNorm)+1)
	for length := range r.norms {
		r.norms[length] = bm25.Norm(float64(length), r.average)
	}
}

// hits returns the kept passages, best first.
func (r *ranking) hits() ([]searchindex.Hit, error) {
	hits := make([]searchindex.Hit, len(r.best))
	for i := range r.best {
		id, err := r.id(&r.best[i])
		if err != nil {
			return nil, err
		}
		hits[i] = searchindex.Hit{ID: id, Score: r.best[i].score}
	}
	slices.SortFunc(hits, searchindex.CompareHits)
	return hits, nil
}

func (r *ranking) id(c *candidate) (string, error) {
	if c.id == "" {
		id, err := r.snapshot.Segments()[c.segment].DocID(uint64(c.number))
		if err != nil {
			return "", err
		}
		c.id = string(id)
	}
	return c.id, nil
}
