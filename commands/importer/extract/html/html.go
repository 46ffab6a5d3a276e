// Package html reads HTML: web pages, and the HTML in other formats. It reads token by token and
// builds no tree, so that depth costs nothing. Nothing is fetched or run. It imports extract,
// extract/blocks, extract/charset and events/fault.
package html

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/charset"
	"annals/events/fault"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	maxToken   = 8 << 20   // bytes of a tag, or of text without a tag, such as an embedded picture
	blockBytes = 32 << 10  // bytes of text that are written at a time
	maxLine    = 64 << 10  // bytes of a paragraph; a longer one is written in pieces
	maxRuby    = 1 << 10   // bytes of the pronunciations of a text
	maxPre     = 256 << 10 // bytes of a block of code; a longer one becomes several
	maxNesting = 20        // depth of lists and quotations that is shown
)

// Sink receives the headings and the Markdown of HTML in their order. An extract.Writer is one.
type Sink interface {
	Begin(level int, title string) error
	Write(text string) error
}

// Read reads an HTML file.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	encoded := charset.File{File: f, Declared: declared}
	r, err := encoded.Decode(ctx)
	if err != nil {
		return extract.Info{}, err
	}
	title, err := Convert(ctx, r, w)
	return extract.Info{Title: title, Warnings: encoded.Warnings()}, err
}

var named = regexp.MustCompile(`(?i)(?:<meta\s[^>]*charset|<\?xml\s[^>]*encoding)\s*=\s*["']?\s*([a-z0-9_:.-]+)`)

// declared returns the encoding that a page names near its start, or nil.
func declared(head []byte) encoding.Encoding {
	found := named.FindSubmatch(head[:min(len(head), 4<<10)])
	if found == nil {
		return nil
	}
	enc, err := htmlindex.Get(string(found[1]))
	if err != nil {
		return nil
	}
	return enc
}

// Decode returns r as UTF-8: in the encoding of its byte order mark, else in the one that it declares,
// else as it is. The error is io.EOF if r is empty.
func Decode(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 4<<10)
	head, err := buffered.Peek(4 << 10)
	if len(head) == 0 {
		return nil, err
	}
	enc := declared(head)
	if enc == nil || bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		enc = encoding.Nop
	}
	return transform.NewReader(buffered, unicode.BOMOverride(enc.NewDecoder())), nil
}

// Convert reads HTML in UTF-8 and returns its title: that of the page, or its first heading.
func Convert(ctx context.Context, r io.Reader, out Sink) (title string, err error) {
	c := converter{out: out, z: html.NewTokenizer(bufio.NewReaderSize(r, 64<<10))}
	c.z.SetMaxBuf(maxToken)
	err = c.run(ctx)
	if c.title == "" {
		c.title = c.first
	}
	return extract.CleanTitle(c.title), err
}

// Markdown returns a piece of HTML as Markdown. Headings become lines that begin with "#".
func Markdown(fragment string) string {
	var out collector
	_, err := Convert(context.Background(), strings.NewReader(fragment), &out)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

type collector struct{ strings.Builder }

func (c *collector) Begin(level int, title string) error {
	if title != "" {
		c.WriteString("\n\n" + strings.Repeat("#", min(level, 6)) + " " + title + "\n\n")
	}
	return nil
}

func (c *collector) Write(text string) error {
	c.WriteString(text)
	return nil
}

func (c *converter) run(ctx context.Context) error {
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		switch c.z.Next() {
		case html.ErrorToken:
			if err := c.z.Err(); errors.Is(err, html.ErrBufferExceeded) {
				return fault.Errorf(fault.Invalid, "the HTML has a tag, or text without a tag, of more than %d MiB: save it again without embedded pictures, and upload the new file", maxToken>>20)
			} else if err != io.EOF {
				return err
			}
			return c.end()
		case html.TextToken:
			err = c.textToken()
		case html.StartTagToken:
			err = c.start(false)
		case html.SelfClosingTagToken:
			c.z.NextIsNotRawText() // in XHTML a script may have no end tag
			err = c.start(true)
		case html.EndTagToken:
			name, _ := c.z.TagName()
			err = c.finish(atomOf(name))
		}
		if err == nil {
			err = c.spill() // text may also be in attributes
		}
		if err != nil {
			return err
		}
	}
}
