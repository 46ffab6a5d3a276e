package passages

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a piece of a text, as byte offsets.
type span struct{ start, end int }

// Lengths are in half words, because a character of a script without spaces counts
// as half a word.
const (
	wholePassage  = 2 * 250 // a section of at most this length is one passage
	targetPassage = 2 * 200 // a longer section is cut into passages of about this length
	longUnit      = 2 * 60  // a sentence longer than this may be cut between words
	shortSentence = 2 * 4   // a full stop before this length more likely ends an abbreviation
	longWord      = 24      // a longer word counts as one word per longWord bytes
)

// cutPassages cuts a section's text, or one part of it, into passages of about 100
// to 250 words. They are of about equal length, and end at the nearest end of a
// paragraph, sentence, list item, or line of a table or code. The spans are in
// order, do not overlap, begin and end with text, and leave out white space only.
func cutPassages(text string) []span {
	seams := findSeams(text)
	if len(seams) == 0 {
		return nil
	}
	total := seams[len(seams)-1].length
	pieces := 1
	if total > wholePassage {
		pieces = (total + targetPassage - 1) / targetPassage
	}
	spans := make([]span, 0, pieces)
	slack := total / pieces / 3
	start, i := 0, 0
	for k := 1; k < pieces; k++ {
		want := total / pieces * k
		for i < len(seams) && seams[i].length < want-slack {
			i++
		}
		best, bestCost := -1, 0
		for j := i; j < len(seams) && seams[j].length <= want+slack; j++ {
			if cost := seams[j].cost(want, slack); best < 0 || cost < bestCost {
				best, bestCost = j, cost
			}
		}
		if best >= 0 {
			spans = appendTrimmed(spans, text, start, seams[best].end)
			start, i = seams[best].end, best+1
		}
	}
	return appendTrimmed(spans, text, start, len(text))
}

// Cut returns the texts of the passages into which one part of a section's text is cut. The
// first part of a section without text has one passage without text.
func Cut(text string, part int) []string {
	spans := spansOf(text, part)
	texts := make([]string, len(spans))
	for i, s := range spans {
		texts[i] = text[s.start:s.end]
	}
	return texts
}

func spansOf(text string, part int) []span {
	spans := cutPassages(text)
	if len(spans) == 0 && part == 0 {
		spans = []span{{}}
	}
	return spans
}

func appendTrimmed(spans []span, text string, start, end int) []span {
	piece := strings.TrimRightFunc(text[start:end], unicode.IsSpace)
	end = start + len(piece)
	start = end - len(strings.TrimLeftFunc(piece, unicode.IsSpace))
	if start == end {
		return spans
	}
	return append(spans, span{start, end})
}

// seam is an offset at which a text may be cut.
type seam struct {
	end       int  // byte offset
	length    int  // half words before the seam
	paragraph bool // a paragraph ends here
}

// cost is the distance of a seam from the wanted length. A seam that does not end a
// paragraph costs slack more, so that the end of any paragraph within slack is better.
func (s seam) cost(want, slack int) int {
	cost := max(s.length-want, want-s.length)
	if !s.paragraph {
		cost += slack
	}
	return cost
}

// seamFinder finds the seams of a text in one pass, counting half words.
type seamFinder struct {
	text   string
	seams  []seam
	length int  // half words so far
	last   int  // length at the last seam
	word   int  // offset at which the current word was last counted; -1 between words
	row    bool // the current line is a row of a table, a list item, or code
	fenced bool // the current line is in a fenced block of code
}

func findSeams(text string) []seam {
	f := seamFinder{text: text, word: -1}
	f.beginLine(0)
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\n':
			i = f.newline(i + 1)
		case c == ' ' || c == '\t' || c == '\r':
			i++
			f.space(i)
		case c < utf8.RuneSelf:
			f.letter(i)
			i++
			if c == '.' || c == '!' || c == '?' {
				f.stop(i)
			}
		default:
			i = f.rune(i)
		}
	}
	f.cut(len(text), true)
	return f.seams
}

// cut adds a seam at offset end. If there is no word since the last seam, it only marks
// the last seam as the end of a paragraph.
func (f *seamFinder) cut(end int, paragraph bool) {
	switch {
	case f.length > f.last:
		f.seams = append(f.seams, seam{end, f.length, paragraph})
		f.last = f.length
	case paragraph && len(f.seams) > 0:
		f.seams[len(f.seams)-1].paragraph = true
	}
}

// letter counts the byte at offset i as a part of a word. Each piece of an overlong word
// counts as a word, and a passage may end after it.
func (f *seamFinder) letter(i int) {
	if f.word >= 0 && i-f.word < longWord {
		return
	}
	if f.word >= 0 && f.length-f.last >= longUnit {
		f.cut(i, false)
	}
	f.word = i
	f.length += 2
}

// space ends a word. end is the offset after the white space.
func (f *seamFinder) space(end int) {
	f.word = -1
	if f.length-f.last >= longUnit {
		f.cut(end, false)
	}
}

// stop ends a sentence if white space follows the punctuation mark before offset i, after
// any closing quotes and brackets.
func (f *seamFinder) stop(i int) {
	for i < len(f.text) && strings.IndexByte(`"')].!?*_`, f.text[i]) >= 0 {
		i++
	}
	if i < len(f.text) && strings.IndexByte(" \t\r\n", f.text[i]) >= 0 && f.length-f.last >= shortSentence {
		f.cut(i, false)
	}
}

// newline ends the line before offset i and returns the offset of the next line that is
// not blank.
func (f *seamFinder) newline(i int) int {
	f.word = -1
	next, blank := i, false
	for j := i; j < len(f.text); j++ {
		if c := f.text[j]; c == '\n' {
			next, blank = j+1, true
		} else if c != ' ' && c != '\t' && c != '\r' {
			break
		}
	}
	wasRow := f.row
	f.beginLine(next)
	if blank || wasRow || f.row || f.length-f.last >= longUnit {
		f.cut(i, blank)
	}
	return next
}

// beginLine sets row if the line at offset i is a row of a table, a list item, or
// code.
func (f *seamFinder) beginLine(i int) {
	line := f.text[i:min(len(f.text), i+8)]
	fence := strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
	if fence {
		f.fenced = !f.fenced
	}
	f.row = fence || f.fenced || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ")
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"|", "- ", "* ", "+ "} {
		f.row = f.row || strings.HasPrefix(line, mark)
	}
}

// rune counts the character at offset i, which is not ASCII, and returns the
// offset after it.
func (f *seamFinder) rune(i int) int {
	r, n := utf8.DecodeRuneInString(f.text[i:])
	end := i + n
	switch {
	case unicode.IsSpace(r):
		f.space(end)
	case unspaced(r):
		f.word = -1
		f.length++
		if r == '。' || r == '！' || r == '？' || f.length-f.last >= longUnit {
			f.cut(end, false)
		}
	default:
		f.letter(i)
	}
	return end
}

// unspaced reports whether a character belongs to a script without spaces between words
// (Chinese, Japanese, Thai, Lao, Burmese, Khmer) or to Hangul, whose characters are
// syllables.
func unspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r < 0x0F00, r >= 0x1000 && r < 0x10A0, r >= 0x1780 && r < 0x1800:
		return true
	}
	return r >= 0x2E80 && r < 0xA4D0 || r >= 0xAC00 && r < 0xD7B0 || r >= 0xF900 && r < 0xFB00 ||
		r >= 0xFF01 && r < 0xFFE0 || r >= 0x20000 && r < 0x32000
}
