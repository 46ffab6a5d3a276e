package viewer

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"annals/http/console/marks"
	"annals/http/console/richtext"
)

// Lengths of the part of a text that a page shows, in bytes. It begins and ends with a line,
// unless that is longer than slackLine.
const (
	PartBytes = 96 << 10
	leadText  = 24 << 10 // before the passage
	slackLine = 8 << 10
)

// Part collects a part of a text that is written to it: that around the first place of Needle
// or, if that is empty, that from Offset on.
type Part struct {
	Needle []byte
	Offset int // where the part begins, if there is no needle
	Text   []byte
	From   int  // offset of Text in the whole
	Found  bool // Text has the needle
	past   int  // bytes of text in which needle does not begin
}

// ErrEnough is the error of Part.Write when the part is complete.
var ErrEnough = errors.New("enough was read")

// Write takes the next bytes of the whole text. Its error is ErrEnough if no more are needed.
func (p *Part) Write(b []byte) (int, error) {
	p.Text = append(p.Text, b...)
	if len(p.Needle) > 0 && !p.Found {
		if at := bytes.Index(p.Text[p.past:], p.Needle); at >= 0 {
			p.Found = true
			p.drop(p.past + at - leadText)
		} else if p.past = max(0, len(p.Text)-len(p.Needle)+1); p.past > 4*leadText {
			p.drop(p.past - leadText)
			p.past = leadText
		}
	}
	if len(p.Needle) == 0 {
		p.drop(min(p.Offset-1-p.From, len(p.Text))) // the byte before tells whether a line begins there
	}
	if (p.Found || len(p.Needle) == 0) && len(p.Text) > PartBytes+slackLine {
		return 0, ErrEnough
	}
	return len(b), nil
}

// drop drops the first n bytes.
func (p *Part) drop(n int) {
	if n > 0 {
		p.From += n
		p.Text = append(p.Text[:0], p.Text[n:]...)
	}
}

// cut lets the part begin and end with whole lines. It returns where the next part begins, 0 if
// none follows.
func (p *Part) cut() (next int) {
	if p.From > 0 && len(p.Text) > 0 {
		if p.Text[0] == '\n' { // the next line is the first one that is wanted
			p.drop(1)
		} else {
			p.drop(ends(p.Text[:min(len(p.Text), slackLine)]))
		}
	}
	if len(p.Text) <= PartBytes {
		return 0
	}
	end := PartBytes + ends(p.Text[PartBytes:min(len(p.Text), PartBytes+slackLine)])
	p.Text = p.Text[:end]
	return p.From + end
}

// ends returns the number of bytes up to the first empty line or else the first end of a line
// or a character.
func ends(text []byte) int {
	if i := bytes.Index(text, []byte("\n\n")); i >= 0 {
		return i + 2
	}
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	i := 0
	for i < len(text) && text[i]&0xC0 == 0x80 {
		i++
	}
	return i
}

// pageMarks are the comments that the REST interface adds to texts. The same comments in the
// text of a document are written in another way.
var pageMarks = regexp.MustCompile(`<!-- (?:page \d+|recognised in a picture of [^<>\n]{1,400}) -->\n?`)

// withoutFrontMatter returns a text without the lines that the REST interface puts before it.
func withoutFrontMatter(text string) string {
	if rest, found := strings.CutPrefix(text, "---\n"); found {
		if _, after, found := strings.Cut(rest, "\n---\n"); found {
			return after
		}
	}
	return text
}

// Needles returns what to look for in a text in order to find a passage: all of it without
// its heading or, if the text has marks of pages in between, its longest line.
func Needles(passage string) []string {
	body := passage
	if heading, rest, _ := strings.Cut(passage, "\n\n"); strings.HasPrefix(heading, "#") && strings.TrimSpace(rest) != "" {
		body = rest
	}
	longest := ""
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); len(line) > len(longest) {
			longest = line
		}
	}
	return []string{body, longest}
}

// Show shows a part of the document's text. Words of the passage are marked, those in words as
// the ones that answer; passage is "" if none is wanted.
func (w *View) Show(p *Part, passage string, words richtext.Span) {
	from := p.From
	if next := p.cut(); next > 0 {
		w.Later = w.Address("from", strconv.Itoa(next), "page", "")
	}
	if from > 0 {
		w.Earlier = w.Address("from", strconv.Itoa(max(p.From-PartBytes, 0)), "page", "")
		if p.From <= PartBytes {
			w.Earlier = w.Address("from", "0", "page", "")
		}
	}
	source := string(p.Text)
	if p.From == 0 {
		source = withoutFrontMatter(source)
	}
	source = pageMarks.ReplaceAllString(source, "")
	wanted := richtext.WordsOf(passage)
	w.Text = richtext.Marked(source, func(all []string) []richtext.Mark {
		out := make([]richtext.Mark, len(all))
		for i, at := range marks.Align(wanted, all) {
			switch {
			case at < 0:
			case words.From <= at && at < words.To:
				out[i] = richtext.Answers
			default:
				out[i] = richtext.Passage
			}
		}
		return out
	})
}
