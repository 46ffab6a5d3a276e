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
)

func (c *converter) textToken() error {
	switch {
	case c.skipped != 0:
		return nil
	case c.inTitle:
		if len(c.title) < extract.MaxTitle {
			c.title += string(c.z.Text())
		}
		return nil
	case c.inRuby && c.pre == nil:
		if len(c.ruby) < maxRuby {
			text := c.z.Text()
			c.ruby += string(text[:min(len(text), maxRuby)])
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

// endRuby adds the pronunciations of the open ruby element after its text, in brackets.
func (c *converter) endRuby() {
	text := strings.ToValidUTF8(strings.TrimSpace(c.ruby), "")
	c.inRuby, c.ruby = false, ""
	if text != "" {
		c.inline("(" + text + ")")
	}
}

// plain returns a text as a block without elements has it.
func plain(text string) string { return escaped(strings.Join(strings.FieldsFunc(text, isSpace), " ")) }

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
	c.endRuby()
	if c.inCell() {
		c.space = true // the paragraphs of a cell are one text
		return nil
	}
	line := strings.TrimRight(string(c.line), " \n")
	c.line, c.space = c.line[:0], false
	if c.code > 0 {
		line, c.code = strings.TrimSuffix(line, "`"), 0
	}
	if c.caption && line != "" {
		if c.caption = false; line == c.alt { // pandoc writes a caption twice
			line = ""
		}
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
