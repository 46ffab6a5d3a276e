// Package blocks writes paragraphs, list items, code and tables as Markdown sections, for formats that
// read a document block by block. It imports extract.
package blocks

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract"
)

// Kind is the kind of a block.
type Kind uint8

// The kinds of blocks.
const (
	Plain Kind = iota
	ListItem
	Code
	Quote
	TableRow
)

// Block is a paragraph, a heading, a list item or a row of a table.
type Block struct {
	Kind   Kind
	Level  int    // of a heading, from 1; 0 for other blocks
	Text   string // Markdown
	Breaks []int  // offsets in Text where pages begin
	Tight  bool   // no blank line between this and a block of the same kind
}

// MoveBreaks moves the breaks of a block whose text has become longer by some bytes since they were
// noted. That is exact for breaks at the start, and approximate for others.
func (b *Block) MoveBreaks(by int) {
	for i, at := range b.Breaks {
		if at > 0 {
			at += max(by, 0)
		}
		at = min(at, len(b.Text))
		for at > 0 && at < len(b.Text) && !utf8.RuneStart(b.Text[at]) {
			at--
		}
		b.Breaks[i] = at
	}
}

// Sink receives blocks in order.
type Sink func(Block) error

// Line joins the blocks that read emits, and returns them as a single line of text. check is called
// with the number of its bytes so far, and may return an error.
func Line(check func(bytes int) error, read func(Sink) error) (string, error) {
	var out strings.Builder
	err := read(func(b Block) error {
		if b.Text == "" {
			return nil
		}
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(strings.TrimSpace(b.Text))
		return check(out.Len())
	})
	return strings.ReplaceAll(out.String(), "\n", " "), err
}

// Writer writes blocks to an extract.Writer.
type Writer struct {
	w          *extract.Writer
	page       int    // number of the current page; 0 if the file has no pages
	last       Kind   // kind of the last block written
	begun      bool   // whether this section has a block
	top, first string // the first heading of level 1, and the first heading of any level
}

// NewWriter returns a Writer to w. Close ends it.
func NewWriter(w *extract.Writer) *Writer { return &Writer{w: w} }

// Title returns the first heading of level 1 or, if there is none, the first of all.
func (o *Writer) Title() string { return cmp.Or(o.top, o.first) }

// Page returns the number of the current page, or 0 if no page has begun.
func (o *Writer) Page() int { return o.page }

// StartPages starts page 1. Without it, page breaks are ignored.
func (o *Writer) StartPages() {
	o.page = 1
	o.w.Page(1)
}

// TurnPage starts the next page.
func (o *Writer) TurnPage() {
	if o.page > 0 {
		o.page++
		o.w.Page(o.page)
	}
}

// Write writes a block. A heading starts a section.
func (o *Writer) Write(b Block) error {
	if b.Level > 0 && o.w.Sections() < extract.MaxSections {
		return o.heading(b)
	}
	if b.Text == "" {
		return o.text(b)
	}
	separator := "\n\n"
	if b.Kind == o.last && o.begun && (b.Tight || b.Kind == ListItem || b.Kind == Code) {
		separator = "\n"
	} else if err := o.Close(); err != nil {
		return err
	} else if b.Kind == Code {
		separator += "```\n"
	}
	o.last, o.begun = b.Kind, true
	if err := o.w.Write(separator); err != nil {
		return err
	}
	return o.text(b)
}

func (o *Writer) heading(b Block) error {
	if err := o.Close(); err != nil {
		return err
	}
	o.last, o.begun = Plain, false
	for len(b.Breaks) > 0 && b.Breaks[0] == 0 {
		o.TurnPage()
		b.Breaks = b.Breaks[1:]
	}
	o.first = cmp.Or(o.first, b.Text)
	if b.Level == 1 {
		o.top = cmp.Or(o.top, b.Text)
	}
	if err := o.w.Begin(b.Level, b.Text); err != nil {
		return err
	}
	for range b.Breaks {
		o.TurnPage()
	}
	return nil
}

// text writes a block's text, and starts a page at each of its breaks.
func (o *Writer) text(b Block) error {
	from := 0
	for _, at := range b.Breaks {
		if err := o.w.Write(b.Text[from:at]); err != nil {
			return err
		}
		o.TurnPage()
		from = at
	}
	return o.w.Write(b.Text[from:])
}

// Close ends a block of code that is still open.
func (o *Writer) Close() error {
	if o.last != Code || !o.begun {
		return nil
	}
	o.last = Plain
	return o.w.Write("\n```")
}

var markup = regexp.MustCompile("(?m)^(#{1,6}\\s|>|[-+*]\\s|```|~~~)")

// Escape escapes a text whose start Markdown would read as a heading, quotation, list or code.
func Escape(text string) string {
	if text != "" && strings.IndexByte("#>-+*`~", text[0]) >= 0 || strings.Contains(text, "\n") {
		return markup.ReplaceAllString(text, `\$1`)
	}
	return text
}

// TrimLines removes the spaces at both ends of each line.
func TrimLines(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Raised returns a superscript. After a digit, its digits and signs become such characters, because 10⁶
// is not 106. Elsewhere, as in m2 and x2, it stays as people type it when they search. before is the text
// before it.
func Raised(before, text string) string {
	if n := len(before); n == 0 || before[n-1] < '0' || before[n-1] > '9' || strings.Trim(text, "0123456789+-−") != "" {
		return text
	}
	return raised.Replace(text)
}

var raised = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "+", "⁺", "-", "⁻", "−", "⁻")

// IsPageNumber reports whether a line of a header or footer has only the number of a page, perhaps with
// a word such as "Page".
func IsPageNumber(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, w := range words {
		switch strings.ToLower(w) {
		case "page", "of", "seite", "von", "pagina", "página", "de", "di", "van", "sur", "strona", "z", "strana", "стр", "из", "页", "第", "共", "頁":
		default:
			return false
		}
	}
	return true
}
