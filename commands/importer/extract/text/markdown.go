package text

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/charset"
	inhtml "annals/commands/importer/extract/html"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	goldmarktext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const maxParsed = 8 << 20 // bytes of a Markdown file that is parsed; larger files are read line by line

// readMarkdown parses Markdown or, if that would take too much time or memory, reads it line by
// line.
func readMarkdown(ctx context.Context, f *charset.File, w *extract.Writer) (extract.Info, error) {
	r, err := f.Decode(ctx)
	if err != nil {
		return extract.Info{}, err
	}
	if f.Size > maxParsed {
		return scanMarkdown(ctx, f, r, w)
	}
	var source bytes.Buffer
	source.Grow(int(f.Size) + bytes.MinRead)
	if _, err := source.ReadFrom(r); err != nil {
		return extract.Info{}, err
	}
	m := markdown{w: w, matter: frontMatter(source.Bytes())}
	source.Next(m.matter.length)
	if err := m.w.Write(m.matter.text + "\n"); err != nil {
		return m.info(), err
	}
	if tooComplex(source.Bytes()) {
		err = m.scan(ctx, &source, f.Size)
	} else {
		err = m.parse(ctx, source.Bytes())
	}
	return m.info(), err
}

func scanMarkdown(ctx context.Context, f *charset.File, r io.Reader, w *extract.Writer) (extract.Info, error) {
	buffered := bufio.NewReaderSize(r, MaxFrontMatter)
	head, err := buffered.Peek(MaxFrontMatter)
	if err != nil && err != io.EOF {
		return extract.Info{}, err
	}
	m := markdown{w: w, matter: frontMatter(head)}
	if _, err := buffered.Discard(m.matter.length); err != nil {
		return extract.Info{}, err
	}
	if err := m.w.Write(m.matter.text + "\n"); err != nil {
		return m.info(), err
	}
	err = m.scan(ctx, buffered, f.Size)
	return m.info(), err
}

type markdown struct {
	w      *extract.Writer
	matter matter
	top    string // the first heading of level 1
	first  string // the first heading
}

func (m *markdown) info() extract.Info {
	return extract.Info{Title: cmp.Or(m.matter.title, m.top, m.first)}
}

// begin starts a section. ok is false if the title is empty or the file has too many sections.
func (m *markdown) begin(level int, title string) (ok bool, err error) {
	if title == "" || m.w.Sections() >= extract.MaxSections {
		return false, nil
	}
	m.first = cmp.Or(m.first, title)
	if level == 1 {
		m.top = cmp.Or(m.top, title)
	}
	return true, m.w.Begin(level, title)
}

// blocks parses only the blocks of a file, which is enough to find headings. Inline markup may be
// slow to parse, or deeply nested.
var blocks = parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))

func (m *markdown) parse(ctx context.Context, source []byte) error {
	if bytes.IndexByte(source, '\r') >= 0 {
		source = bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n"))
		source = bytes.ReplaceAll(source, []byte("\r"), []byte("\n"))
	}
	doc := blocks.Parse(goldmarktext.NewReader(source))
	tags := markup{source: source}
	out := textBlock{w: m.w}
	written := 0
	copyTo := func(end int) error {
		from := written
		written = max(written, end)
		return out.add(ctx, source[from:written])
	}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			done, err := m.heading(n, source, written, copyTo, &out)
			if err != nil {
				return err
			}
			if done > 0 {
				written = done
				continue
			}
		case *ast.HTMLBlock:
			start, end := htmlSpan(n)
			if start < written || !structured.Match(source[start:end]) {
				break
			}
			if err := copyTo(start); err != nil {
				return err
			}
			if _, err := inhtml.Convert(ctx, bytes.NewReader(source[start:end]), htmlSink{m, &out}); err != nil {
				return err
			}
			written = end
			continue
		}
		for _, e := range tags.block(n) {
			if err := copyTo(e.start); err != nil {
				return err
			}
			if err := out.add(ctx, []byte(e.text)); err != nil {
				return err
			}
			written = e.end
		}
	}
	if err := copyTo(len(source)); err != nil {
		return err
	}
	return out.flush()
}

// heading begins a section at a heading, after the text before it. It returns the end of the
// heading in the source, or 0 if the heading is part of the text.
func (m *markdown) heading(h *ast.Heading, source []byte, written int, copyTo func(end int) error, out *textBlock) (end int, err error) {
	if h.Lines().Len() == 0 {
		return 0, nil
	}
	start, end := headingSpan(h, source)
	if start < written || m.w.Sections() >= extract.MaxSections {
		return 0, nil
	}
	title := inlineText(headingSource(h, source))
	if title == "" {
		return 0, nil
	}
	if err := copyTo(start); err != nil {
		return 0, err
	}
	if err := out.flush(); err != nil {
		return 0, err
	}
	_, err = m.begin(h.Level, title)
	return end, err
}

// htmlSink receives the text of a block of HTML in Markdown.
type htmlSink struct {
	m   *markdown
	out *textBlock
}

func (s htmlSink) Begin(level int, title string) error {
	title = extract.CleanTitle(title)
	if title == "" {
		return nil
	}
	if err := s.out.flush(); err != nil {
		return err
	}
	if ok, err := s.m.begin(level, title); ok || err != nil {
		return err
	}
	return s.Write("\n" + title + "\n")
}

func (s htmlSink) Write(text string) error {
	return s.out.add(context.Background(), []byte(text+"\n"))
}

// headingSpan returns the start and end of a heading in the source, including the underline of a
// setext heading.
func headingSpan(h *ast.Heading, source []byte) (start, end int) {
	first, last := h.Lines().At(0), h.Lines().At(h.Lines().Len()-1)
	start = bytes.LastIndexByte(source[:first.Start], '\n') + 1
	end = lineEnd(source, max(last.Start, last.Stop-1))
	if line := bytes.TrimLeft(source[start:], " "); !bytes.HasPrefix(line, []byte("#")) || h.Lines().Len() > 1 {
		end = lineEnd(source, end)
	}
	return start, end
}

// lineEnd returns the offset after the end of the line at offset i.
func lineEnd(source []byte, i int) int {
	if n := bytes.IndexByte(source[min(i, len(source)):], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(source)
}

func headingSource(h *ast.Heading, source []byte) []byte {
	var b bytes.Buffer
	for i := range h.Lines().Len() {
		line := h.Lines().At(i)
		b.Write(bytes.TrimSpace(line.Value(source)))
		b.WriteByte(' ')
	}
	return b.Bytes()
}

// titles parses a heading's text, which is a single line.
var titles = parser.NewParser(
	parser.WithBlockParsers(util.Prioritized(parser.NewATXHeadingParser(parser.WithHeadingAttribute()), 100), util.Prioritized(parser.NewParagraphParser(), 200)),
	parser.WithInlineParsers(parser.DefaultInlineParsers()...))

// inlineText returns the plain text of a heading, without emphasis, links and attributes. It uses
// at most the first extract.MaxTitle bytes.
func inlineText(b []byte) string {
	if len(b) > extract.MaxTitle {
		b = b[:extract.MaxTitle-charset.IncompleteRune(b[:extract.MaxTitle])]
	}
	b = bytes.ReplaceAll(bytes.TrimSpace(b), []byte("\n"), []byte(" "))
	if !bytes.ContainsAny(b, "\\`*_[]<>&{!") || hasManyMarks(b) {
		return extract.CleanTitle(withoutControls(b))
	}
	source := append([]byte("# "), b...)
	var out strings.Builder
	_ = ast.Walk(titles.Parse(goldmarktext.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					out.Write(t.Segment.Value(source))
				}
			}
			return ast.WalkSkipChildren, nil
		case *ast.AutoLink:
			out.Write(n.Label(source))
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				segment := n.Segments.At(i)
				if t, _, _ := parseTag(segment.Value(source)); t.name == "img" {
					out.WriteString(t.text)
				}
			}
		case *ast.Text:
			out.Write(unescaped(n.Segment.Value(source)))
		case *ast.String:
			out.Write(n.Value)
		}
		return ast.WalkContinue, nil
	})
	return extract.CleanTitle(withoutControls([]byte(out.String())))
}

func unescaped(b []byte) []byte {
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b)))
}

// scan reads Markdown line by line. The only markup that it recognises are headings that start
// with "#" and fenced code.
func (m *markdown) scan(ctx context.Context, r io.Reader, size int64) error {
	lines := newLines(ctx, r, size)
	out := textBlock{w: m.w}
	fence := []byte(nil)
	comment := false // the line is in a comment
	for begun := true; lines.next(); begun = lines.whole {
		line := lines.text
		if begun {
			mark := fenceMark(line)
			switch {
			case fence == nil && mark != nil:
				fence = bytes.Clone(mark)
			case fence != nil && mark != nil && mark[0] == fence[0] && len(mark) >= len(fence) && len(bytes.Trim(line, "`~ \t\r")) == 0:
				fence = nil
			case fence == nil && lines.whole && !comment:
				if level, title := atxHeading(line); level > 0 {
					if err := out.flush(); err != nil {
						return err
					}
					ok, err := m.begin(level, inlineText(title))
					if err != nil {
						return err
					}
					if ok {
						continue
					}
				}
			}
		}
		if fence == nil {
			line, comment = withoutHTML(line, comment)
		}
		if err := out.line(line, lines.whole); err != nil {
			return err
		}
	}
	if err := lines.err(); err != nil {
		return err
	}
	return out.flush()
}

// unindented removes up to three spaces at the start of a line.
func unindented(line []byte) []byte {
	for i := 0; i < 3 && len(line) > 0 && line[0] == ' '; i++ {
		line = line[1:]
	}
	return line
}

// fenceMark returns the backticks or tildes at the start of a line, if there are at least three.
func fenceMark(line []byte) []byte {
	line = unindented(line)
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return nil
	}
	n := len(line) - len(bytes.TrimLeft(line, string(line[:1])))
	if n < 3 || line[0] == '`' && bytes.IndexByte(line[n:], '`') >= 0 {
		return nil
	}
	return line[:n]
}

// atxHeading parses a heading such as "## Title ##". If the line is not such a heading, level is
// 0.
func atxHeading(line []byte) (level int, title []byte) {
	line = unindented(line)
	rest := bytes.TrimLeft(line, "#")
	level = len(line) - len(rest)
	if level == 0 || level > 6 || len(rest) == 0 || rest[0] != ' ' && rest[0] != '\t' {
		return 0, nil
	}
	rest = bytes.TrimSpace(rest)
	if closing := bytes.TrimRight(rest, "#"); len(closing) == 0 || closing[len(closing)-1] == ' ' {
		rest = bytes.TrimSpace(closing)
	}
	return level, rest
}
