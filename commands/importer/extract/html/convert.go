package html

import (
	"regexp"
	"strconv"
	"strings"

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

	inRuby  bool   // a pronunciation is open
	ruby    string // the pronunciations of the open ruby element
	alt     string // text of the last picture in the open figure
	caption bool   // the open block is the caption of a figure
	scripts bool   // the text is for readers that run no scripts

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
	alt, class, role, kind, start, value, colspan, rowspan string
	hidden, checked                                        bool
}

// notDisplayed matches styles of elements that are not displayed, as the previews of messages.
var notDisplayed = regexp.MustCompile(`(?i)(^|;)\s*display\s*:\s*none\b`)

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
		case "value":
			a.value = string(value)
		case "style":
			a.hidden = a.hidden || notDisplayed.Match(value)
		case "colspan":
			a.colspan = string(value)
		case "rowspan":
			a.rowspan = string(value)
		case "hidden":
			a.hidden = a.hidden || !strings.EqualFold(string(value), "until-found")
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
		case c.skipped == atom.P && paragraphs[element]: // ends a paragraph without end tag
			c.skipped = 0
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
	// Some pages are hidden as a whole until a script shows them.
	hidden := a.hidden && element != atom.Html && element != atom.Body
	if leftOut[element] || hidden || a.role == "navigation" && !void[element] {
		if !closed && !void[element] {
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
		if n := len(c.lists); n > 0 {
			if value, err := strconv.Atoi(a.value); err == nil && value >= 0 {
				c.lists[n-1].next = value
			}
		}
	case atom.Rt:
		c.inRuby = true
	case atom.Figure:
		c.alt, c.caption = "", false
	case atom.Figcaption:
		c.caption = true
	case atom.Noscript:
		c.scripts, c.space = true, true
		c.z.NextIsNotRawText()
	case atom.Blockquote:
		c.quotes++
	case atom.Pre:
		if !closed {
			c.pre = &code{language: language(a.class)}
		}
	case atom.Br:
		c.breakLine()
	case atom.Img:
		if !c.scripts || plain(a.alt) != c.alt { // such a picture is often the same as the one before
			c.inline(a.alt)
		}
		c.alt = plain(a.alt)
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
	case atom.Rt:
		c.inRuby = false
	case atom.Ruby:
		c.endRuby()
	case atom.Noscript:
		c.scripts, c.space = false, true
	case atom.Td, atom.Th:
		return c.endCell()
	}
	if paragraphs[element] {
		if err := c.block(); err != nil {
			return err
		}
	}
	switch element {
	case atom.Figcaption:
		c.caption = false
	case atom.Figure:
		c.alt = ""
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
