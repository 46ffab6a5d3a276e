package html

import (
	"bytes"
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// converter turns tokens of HTML into headings and Markdown.
type converter struct {
	z   *html.Tokenizer
	out Sink

	title string // text of the first title element
	first string // the first heading
	began bool   // something was written since the last heading
	text  []byte // blocks that are complete but not written yet

	line    []byte // text of the open block
	partial bool   // the start of the open block was written
	space   bool   // a space precedes the next word of the block
	code    int    // depth of open code elements

	skipped atom.Atom // the element that is left out, 0 if there is none
	depth   int       // how many elements of that name are open
	inTitle bool

	heading int // level of the open heading, or 0
	quotes  int
	lists   []list
	item    bool // the next block is the first of a list item
	tight   bool // the next block follows an item of the same list
	pre     *code
	tables  []*table
}

// list is an open list.
type list struct {
	ordered bool
	next    int // number of the next item
}

// code is an open pre element.
type code struct {
	language string
	text     []byte
}

// attributes are the attributes of a start tag that matter.
type attributes struct {
	alt, class, role, kind, start, colspan, rowspan string
	hidden, checked                                 bool
}

func (c *converter) attributes(more bool) (a attributes) {
	for more {
		var key, value []byte
		key, value, more = c.z.TagAttr()
		switch string(key) {
		case "alt":
			a.alt = string(value)
		case "class":
			a.class = string(value)
		case "role":
			a.role = string(value)
		case "type":
			a.kind = string(value)
		case "start":
			a.start = string(value)
		case "colspan":
			a.colspan = string(value)
		case "rowspan":
			a.rowspan = string(value)
		case "hidden":
			a.hidden = !strings.EqualFold(string(value), "until-found")
		case "checked":
			a.checked = true
		}
	}
	return a
}

func (c *converter) start(closed bool) error {
	name, more := c.z.TagName()
	element := atomOf(name)
	a := c.attributes(more)
	if c.skipped != 0 {
		switch {
		case element == c.skipped && !closed:
			c.depth++
		case c.skipped == atom.Nav && (element == atom.Main || element == atom.Article || element == atom.H1): // the end tag is missing
			c.skipped = 0
		}
		if c.skipped != 0 {
			return nil
		}
	}
	if element == 0 { // an unknown element only has its text
		return nil
	}
	if leftOut[element] || (a.hidden || a.role == "navigation") && !void[element] {
		if !closed {
			c.skipped, c.depth = element, 1
		}
		return nil
	}
	if c.pre != nil && !paragraphs[element] {
		if element == atom.Code && c.pre.language == "" {
			c.pre.language = language(a.class)
		}
		if element == atom.Br {
			c.pre.text = append(c.pre.text, '\n')
		}
		return nil
	}
	if paragraphs[element] {
		if err := c.block(); err != nil {
			return err
		}
	}
	return c.open(element, a, closed)
}

func (c *converter) open(element atom.Atom, a attributes, closed bool) error {
	switch element {
	case atom.Title:
		switch {
		case closed:
		case c.title == "":
			c.inTitle = true
		default:
			c.skipped, c.depth = atom.Title, 1
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		if err := c.layout(); err != nil { // tables with headings are only there for their looks
			return err
		}
		if err := c.block(); err != nil {
			return err
		}
		c.heading = levelOf(element)
	case atom.Ul, atom.Menu, atom.Ol:
		first, err := strconv.Atoi(a.start)
		if err != nil || first < 0 {
			first = 1
		}
		c.lists = append(c.lists[:min(len(c.lists), maxNesting)], list{element == atom.Ol, first})
	case atom.Li:
		c.item = true
	case atom.Blockquote:
		c.quotes++
	case atom.Pre:
		if !closed {
			c.pre = &code{language: language(a.class)}
		}
	case atom.Br:
		c.breakLine()
	case atom.Img:
		c.inline(a.alt)
	case atom.Input:
		switch {
		case a.kind == "image":
			c.inline(a.alt)
		case a.kind == "checkbox" && a.checked:
			c.inline("[x] ")
		case a.kind == "checkbox":
			c.inline("[ ] ")
		}
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		if c.code++; c.code == 1 && c.heading == 0 {
			c.mark("`")
		}
	case atom.Q:
		c.mark("“")
	case atom.Table:
		return c.beginTable(a)
	case atom.Tr:
		return c.beginRow()
	case atom.Td, atom.Th:
		return c.beginCell(a)
	}
	return nil
}

func (c *converter) finish(element atom.Atom) error {
	if c.skipped != 0 {
		if element == c.skipped {
			c.depth--
		}
		if c.depth == 0 || element == atom.Body || element == atom.Html {
			c.skipped = 0
		}
		return nil
	}
	if c.inTitle {
		c.inTitle = element != atom.Title
		return nil
	}
	if c.pre != nil && element != atom.Pre {
		return nil
	}
	switch element {
	case atom.Pre:
		return c.endPre()
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		if c.code > 0 {
			if c.code--; c.code == 0 && c.heading == 0 {
				c.endCode()
			}
		}
	case atom.Q:
		c.line = append(c.line, "”"...)
	case atom.Td, atom.Th:
		return c.endCell()
	}
	if paragraphs[element] {
		if err := c.block(); err != nil {
			return err
		}
	}
	switch element {
	case atom.Ul, atom.Menu, atom.Ol:
		if n := len(c.lists); n > 0 {
			c.lists = c.lists[:n-1]
		}
		c.item = false
		c.tight = len(c.lists) > 0
	case atom.Blockquote:
		c.quotes = max(c.quotes-1, 0)
	case atom.Tr:
		return c.endRow()
	case atom.Table:
		return c.endTable()
	}
	return nil
}

func levelOf(element atom.Atom) int { return int(element.String()[1] - '0') }

// language returns the language of code that a class such as "language-go" names.
func language(class string) string {
	for name := range strings.FieldsSeq(class) {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-"} {
			if l, ok := strings.CutPrefix(name, prefix); ok && len(l) < 20 && strings.Trim(strings.ToLower(l), "abcdefghijklmnopqrstuvwxyz0123456789+#-") == "" {
				return l
			}
		}
	}
	return ""
}

func (c *converter) textToken() error {
	switch {
	case c.skipped != 0:
		return nil
	case c.inTitle:
		if len(c.title) < extract.MaxTitle {
			c.title += string(c.z.Text())
		}
		return nil
	case c.pre != nil:
		c.pre.text = append(c.pre.text, c.z.Text()...)
		if len(c.pre.text) > maxPre {
			again := c.pre.language
			if err := c.endPre(); err != nil {
				return err
			}
			c.pre = &code{language: again}
		}
		return nil
	}
	text := c.z.Text()
	for len(text) > 0 {
		n := min(len(text), maxLine)
		for n < len(text) && n > maxLine-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		c.inline(string(text[:n]))
		text = text[n:]
		if err := c.spill(); err != nil {
			return err
		}
	}
	return nil
}

// inline adds text to the open block, with runs of white space as one space.
func (c *converter) inline(text string) {
	for len(text) > 0 {
		r, _ := utf8.DecodeRuneInString(text)
		if isSpace(r) {
			c.space = true
			text = strings.TrimLeftFunc(text, isSpace)
			continue
		}
		n := strings.IndexFunc(text, isSpace)
		if n < 0 {
			n = len(text)
		}
		c.word(text[:n])
		text = text[n:]
	}
}

func isSpace(r rune) bool { return r <= ' ' || r == 0xa0 || unicode.IsSpace(r) || r == 0x7f }

func (c *converter) word(word string) {
	if c.space && (len(c.line) > 0 || c.partial) && !c.opened() {
		c.line = append(c.line, ' ')
	}
	c.space = false
	if c.code == 0 {
		word = escaped(word)
	}
	c.line = append(c.line, word...)
}

// opened reports whether the block ends with a mark that begins inline code.
func (c *converter) opened() bool { return c.code > 0 && bytes.HasSuffix(c.line, []byte("`")) }

// escaped escapes what a reader of Markdown would take for the start of a tag.
func escaped(word string) string {
	if !strings.Contains(word, "<") {
		return word
	}
	return tagStart.ReplaceAllString(word, `\<$1`)
}

var tagStart = regexp.MustCompile(`<([A-Za-z/!?])`)

// mark adds a mark to the open block, after the space that precedes it.
func (c *converter) mark(text string) {
	if c.space && len(c.line) > 0 {
		c.line = append(c.line, ' ')
	}
	c.space = false
	c.line = append(c.line, text...)
}

// endCode adds the mark that ends inline code, or removes the one that began it.
func (c *converter) endCode() {
	if before, empty := bytes.CutSuffix(c.line, []byte("`")); empty {
		c.line = before
		return
	}
	c.line = append(c.line, '`')
}

func (c *converter) breakLine() {
	if c.heading > 0 || c.inCell() {
		c.space = true
	} else if len(c.line) > 0 {
		c.line = append(c.line, '\n')
		c.space = false
	}
}

// spill writes the start of a block that is too long.
func (c *converter) spill() error {
	if len(c.line) < maxLine {
		return nil
	}
	if err := c.layout(); err != nil {
		return err
	}
	if c.heading > 0 {
		c.heading = 0
	}
	c.put(string(c.line))
	c.line, c.partial = c.line[:0], true
	return c.flush()
}

// block ends the open block.
func (c *converter) block() error {
	if c.inCell() {
		c.space = true // the paragraphs of a cell are one text
		return nil
	}
	line := strings.TrimRight(string(c.line), " \n")
	c.line, c.space = c.line[:0], false
	if c.code > 0 {
		line, c.code = strings.TrimSuffix(line, "`"), 0
	}
	level := c.heading
	c.heading = 0
	if line == "" && !c.partial {
		return nil
	}
	if level > 0 {
		if len(c.lists) == 0 && c.quotes == 0 {
			return c.begin(level, line)
		}
		line = strings.ReplaceAll(line, "\n", " ")
	}
	c.put(line)
	c.partial = false
	return c.flush()
}

func (c *converter) begin(level int, title string) error {
	if err := c.write(); err != nil {
		return err
	}
	c.first = cmp.Or(c.first, title)
	c.tight, c.item, c.began = false, false, false
	return c.out.Begin(level, title)
}

// put adds a block of text, with the marks of the lists and quotations that are open.
func (c *converter) put(text string) {
	if text == "" {
		return
	}
	if c.partial {
		c.text = append(c.text, text...)
		return
	}
	marked := c.item && len(c.lists) > 0
	if c.began || len(c.text) > 0 {
		c.text = append(c.text, '\n')
		if !(c.tight && marked) {
			c.text = append(c.text, '\n')
		}
	}
	c.began = true
	quote := strings.Repeat("> ", min(c.quotes, maxNesting))
	first, rest := quote, quote
	for i := range c.lists {
		l := &c.lists[i]
		mark := "- "
		if l.ordered {
			mark = strconv.Itoa(l.next) + ". "
		}
		blank := strings.Repeat(" ", len(mark))
		rest += blank
		if marked && i == len(c.lists)-1 {
			first += mark
			l.next++
		} else {
			first += blank
		}
	}
	if !marked && !strings.HasPrefix(text, "```") {
		text = blocks.Escape(text)
	}
	c.item, c.tight = false, len(c.lists) > 0
	c.text = append(append(c.text, first...), strings.ReplaceAll(text, "\n", "\n"+rest)...)
}

// endPre writes the open block of code.
func (c *converter) endPre() error {
	if c.pre == nil {
		return nil
	}
	text := strings.Trim(strings.ReplaceAll(string(c.pre.text), "\r\n", "\n"), "\n")
	language := c.pre.language
	c.pre = nil
	if c.inCell() {
		if strings.Trim(text, "0123456789 \n") == "" { // numbers of lines beside code
			return nil
		}
		if !strings.Contains(text, "\n") {
			c.inline(text)
			return nil
		}
		if err := c.layout(); err != nil {
			return err
		}
		if err := c.block(); err != nil {
			return err
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	fence := "```"
	for strings.Contains(text, fence) && len(fence) < 16 {
		fence += "`"
	}
	c.put(fence + language + "\n" + text + "\n" + fence)
	return c.flush()
}

// flush writes the blocks if there are many.
func (c *converter) flush() error {
	if len(c.text) < blockBytes {
		return nil
	}
	return c.write()
}

func (c *converter) write() error {
	if len(c.text) == 0 {
		return nil
	}
	err := c.out.Write(string(c.text))
	c.text = c.text[:0]
	return err
}

// end ends everything that is open.
func (c *converter) end() error {
	if err := c.endPre(); err != nil {
		return err
	}
	for len(c.tables) > 0 {
		if err := c.endTable(); err != nil {
			return err
		}
	}
	if err := c.block(); err != nil {
		return err
	}
	return c.write()
}
