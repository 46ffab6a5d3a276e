// Package worddiff compares two versions of a document's text word by word. It reads the
// texts as streams and keeps only a window of each, so texts of any length can be compared.
// It imports no other package of this module.
package worddiff

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Kind says in which of the texts a part is.
type Kind int

// The kinds of parts.
const (
	Same Kind = iota
	Removed
	Added
)

// Part is a piece of text.
type Part struct {
	Kind Kind
	Text string
	More int // number of words that follow it and were left out
	size int // number of words of Text
}

// Change is a place at which the texts differ, with some words around it.
type Change struct {
	Parts            []Part
	OldPage, NewPage int // 0 if the text has no pages
}

// Result is the difference of two texts.
type Result struct {
	Changes        []Change
	Removed, Added int  // words, without signs
	Partial        bool // the texts were not compared to their ends
}

const (
	// window is the number of words of each text that are compared at once. Longer texts are
	// cut where they are the same.
	window = 1 << 14
	// around is the number of words that are shown before and after a change.
	around = 12
	// maxChanges is the maximum number of changes in a result.
	maxChanges = 200
	// maxPart is the maximum number of words in a part.
	maxPart = 400
	// patience bounds the comparison of one window. If it takes longer, words are taken for
	// changed although they are not.
	patience = 500 * time.Millisecond
)

// Compare compares two texts in the form in which the vault writes Markdown. It ignores white
// space. If ctx ends before, the result is partial.
func Compare(ctx context.Context, before, after io.Reader) (Result, error) {
	c := comparison{old: side{scanner: newScanner(before)}, new: side{scanner: newScanner(after)}}
	for ctx.Err() == nil && len(c.result.Changes) < maxChanges {
		c.skip(ctx)
		c.old.fill()
		c.new.fill()
		if c.old.left()+c.new.left() == 0 {
			break
		}
		c.compare()
	}
	c.close()
	c.result.Partial = ctx.Err() != nil || !c.old.end || !c.new.end || c.old.left()+c.new.left() > 0
	if ctx.Err() != nil {
		return c.result, nil // reading fails, too, when the time is over
	}
	return c.result, errors.Join(c.old.scanner.err, c.new.scanner.err)
}

// side is one of the two texts.
type side struct {
	*scanner
	words []token // read, but not compared yet, after the first taken ones
	taken int
	end   bool
}

// fill reads words until the window is full.
func (s *side) fill() {
	s.words = append(s.words[:0], s.words[s.taken:]...)
	s.taken = 0
	for len(s.words) < window && !s.end {
		t, ok := s.next()
		if !ok {
			s.end = true
			return
		}
		s.words = append(s.words, t)
	}
}

// left returns the number of words that were read, but not compared yet.
func (s *side) left() int { return len(s.words) - s.taken }

// take returns the first n words that were not compared yet.
func (s *side) take(n int) []token {
	s.taken += n
	return s.words[s.taken-n : s.taken]
}

type comparison struct {
	old, new side
	result   Result
	open     *Change // the change that is being collected
	lead     []token // the last words that are the same, if no change is open
	pending  []token // the words that are the same after the last part of open
}

// skip reads words as long as they are the same.
func (c *comparison) skip(ctx context.Context) {
	if c.old.left()+c.new.left() > 0 {
		return
	}
	for n := 0; n%window != window-1 || ctx.Err() == nil; n++ {
		a, more := c.old.next()
		b, most := c.new.next()
		c.old.end, c.new.end = !more, !most
		if !more || !most || a.text != b.text {
			if more {
				c.old.words = append(c.old.words, a)
			}
			if most {
				c.new.words = append(c.new.words, b)
			}
			return
		}
		c.same(b)
	}
}

// step is a run of words that are the same, or that are only in one of the texts.
type step struct {
	kind  Kind
	words int
}

// compare compares the windows. It leaves those words for the next time after which the texts
// may be the same again.
func (c *comparison) compare() {
	steps := tidy(stepsOf(c.old.words, c.new.words))
	if !c.old.end || !c.new.end {
		steps = c.settled(steps)
	}
	for _, s := range steps {
		switch s.kind {
		case Same:
			c.old.take(s.words)
			for _, t := range c.new.take(s.words) {
				c.same(t)
			}
		case Removed:
			c.change(Removed, c.old.take(s.words))
		case Added:
			c.change(Added, c.new.take(s.words))
		}
	}
}

// settled returns the steps up to the last words that are the same, if they are in the second
// half of a window: what is beyond may look different when more of the texts is known.
func (c *comparison) settled(steps []step) []step {
	end, old, new := len(steps), len(c.old.words), len(c.new.words)
	for end > 0 && steps[end-1].kind != Same {
		end--
		if steps[end].kind == Removed {
			old -= steps[end].words
		} else {
			new -= steps[end].words
		}
	}
	if end == 0 || old < len(c.old.words)/2 && new < len(c.new.words)/2 {
		return steps
	}
	return steps[:end]
}

// stepsOf compares two lists of words.
func stepsOf(before, after []token) []step {
	ids := map[string]rune{}
	a, b := runes(ids, before), runes(ids, after)
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = patience
	var out []step
	for _, d := range dmp.DiffMainRunes(a, b, false) {
		kind := Same
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			kind = Removed
		case diffmatchpatch.DiffInsert:
			kind = Added
		}
		out = append(out, step{kind, len([]rune(d.Text))})
	}
	return out
}

// runes returns a character for each word, because the library compares characters.
func runes(ids map[string]rune, words []token) []rune {
	const surrogates, past = 0xD800, 0xE000 // no characters of their own
	out := make([]rune, len(words))
	for i, w := range words {
		id, found := ids[w.text]
		if !found {
			if id = rune(len(ids) + 1); id >= surrogates {
				id += past - surrogates
			}
			ids[w.text] = id
		}
		out[i] = id
	}
	return out
}

// tidy takes few equal words between many changed ones for changed, too, because a sentence
// that was rewritten is easier to read as a whole.
func tidy(steps []step) []step {
	var out []step
	for i := 0; i < len(steps); {
		removed, added := 0, 0
		for ; i < len(steps); i++ {
			if s := steps[i]; s.kind == Same {
				if i+1 == len(steps) || s.words > 3 || s.words >= max(removed, added) || s.words >= following(steps[i+1:]) {
					break
				}
				removed, added = removed+s.words, added+s.words
			} else if s.kind == Removed {
				removed += s.words
			} else {
				added += s.words
			}
		}
		for _, s := range []step{{Removed, removed}, {Added, added}} {
			if s.words > 0 {
				out = append(out, s)
			}
		}
		if i < len(steps) {
			out = append(out, steps[i])
			i++
		}
	}
	return out
}

// following returns the number of changed words with which steps begin.
func following(steps []step) int {
	n := map[Kind]int{}
	for _, s := range steps {
		if s.kind == Same {
			break
		}
		n[s.kind] += s.words
	}
	return max(n[Removed], n[Added])
}

// same adds a word that both texts have.
func (c *comparison) same(t token) {
	if c.open == nil {
		c.lead = append(c.lead, t)
		if len(c.lead) >= 64*around { // seldom, so that long texts are read fast
			c.lead = append(c.lead[:0], c.lead[len(c.lead)-around:]...)
		}
		return
	}
	c.pending = append(c.pending, t)
	if len(c.pending) > 2*around {
		c.close()
	}
}

// close ends the open change with the words after it.
func (c *comparison) close() {
	if c.open == nil {
		return
	}
	c.open.add(Same, c.pending[:min(around, len(c.pending))])
	c.result.Changes = append(c.result.Changes, *c.open)
	c.open = nil
	c.lead = append(c.lead[:0], c.pending...)
	c.pending = c.pending[:0]
}

// change adds words that only one of the texts has.
func (c *comparison) change(kind Kind, words []token) {
	if c.open == nil {
		c.open = &Change{}
		c.open.add(Same, c.lead[max(0, len(c.lead)-around):])
		c.lead = c.lead[:0]
	}
	c.open.add(Same, c.pending)
	c.pending = c.pending[:0]
	c.open.add(kind, words)
	page, count := &c.open.NewPage, &c.result.Added
	if kind == Removed {
		page, count = &c.open.OldPage, &c.result.Removed
	}
	for _, w := range words {
		if r, _ := utf8.DecodeRuneInString(w.text); unicode.IsLetter(r) || unicode.IsDigit(r) {
			*count++
		}
	}
	if *page == 0 {
		*page = words[0].page
	}
}

// add adds words to the parts of a change.
func (c *Change) add(kind Kind, words []token) {
	if len(words) == 0 {
		return
	}
	if n := len(c.Parts); n == 0 || c.Parts[n-1].Kind != kind {
		c.Parts = append(c.Parts, Part{Kind: kind})
	}
	p := &c.Parts[len(c.Parts)-1]
	keep := words[:min(len(words), maxPart-p.size)]
	var text strings.Builder
	text.WriteString(p.Text)
	for _, w := range keep {
		text.WriteString(w.text)
		text.WriteString(w.space)
	}
	p.Text = text.String()
	p.size += len(keep)
	p.More += len(words) - len(keep)
}
