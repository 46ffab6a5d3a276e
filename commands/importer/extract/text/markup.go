package text

import (
	"bytes"
	"html"
	"regexp"
	"strings"

	inhtml "annals/commands/importer/extract/html"

	"github.com/yuin/goldmark/ast"
)

const (
	maxTag     = 16 << 10 // bytes of a tag
	maxBraced  = 256      // bytes of a value in braces
	maxTagWork = 64 << 20 // bytes in which tags of one file are looked for
)

// markup finds the HTML in Markdown, and what is to be read instead of it. Code is left as it is.
type markup struct {
	source []byte
	ends   map[string]bool // names of the end tags in source; nil if they were not collected yet
	work   int             // bytes in which tags were looked for
	edits  []edit
	no     [3]bool // for each of the marks in unended, whether the block has no end of it
}

// edit replaces a range of the source.
type edit struct {
	start, end int
	text       string
}

// block returns the edits of a block and of the blocks in it, in their order. They are valid until
// the next call.
func (m *markup) block(n ast.Node) []edit {
	m.edits = m.edits[:0]
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Type() != ast.TypeBlock {
			return ast.WalkSkipChildren, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.HTMLBlock:
			start, end := htmlSpan(n)
			m.inline(start, end, false)
		case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
			if lines := n.Lines(); lines.Len() > 0 {
				m.inline(lines.At(0).Start, lines.At(lines.Len()-1).Stop, true)
			}
		}
		return ast.WalkContinue, nil
	})
	return m.edits
}

// withoutHTML returns a line of Markdown without its HTML. in and out say whether the line begins
// and ends in a comment.
func withoutHTML(line []byte, in bool) (text []byte, out bool) {
	if in {
		end := bytes.Index(line, []byte("-->"))
		if end < 0 {
			return nil, true
		}
		line = line[end+len("-->"):]
	}
	m := markup{source: line}
	m.inline(0, len(line), true)
	last := 0
	for _, e := range m.edits {
		text = append(append(text, line[last:e.start]...), e.text...)
		last = e.end
	}
	if rest := line[last:]; m.no[0] { // a comment ends on another line
		if begin := bytes.LastIndex(rest, []byte("<!--")); begin >= 0 {
			return append(text, rest[:begin]...), true
		}
	}
	if last == 0 {
		return line, false
	}
	return append(text, line[last:]...), false
}

// htmlSpan returns the start and end of a block of HTML in the source.
func htmlSpan(n *ast.HTMLBlock) (start, end int) {
	lines := n.Lines()
	if lines.Len() == 0 {
		return n.ClosureLine.Start, n.ClosureLine.Stop
	}
	start, end = lines.At(0).Start, lines.At(lines.Len()-1).Stop
	if n.HasClosure() {
		end = max(end, n.ClosureLine.Stop)
	}
	return start, end
}

// structured matches HTML whose text is best read as HTML: tables, lists, code, headings, and what
// is no text.
var structured = regexp.MustCompile(`(?i)<(?:table|tr|ul|ol|dl|pre|h[1-6]|script|style|svg|template|iframe|video|select)[\s/>]`)

// inline finds the HTML in a range of the source. If spans, backticks delimit code.
func (m *markup) inline(start, end int, spans bool) {
	b := m.source[start:end]
	if bytes.IndexByte(b, '<') < 0 && bytes.IndexByte(b, '&') < 0 && !bytes.Contains(b, []byte("{{")) && !bytes.Contains(b, []byte(base64Mark)) {
		return
	}
	m.no = [3]bool{}
	unclosed := map[int]bool{} // lengths of runs of backticks that are not closed
	for i := 0; i < len(b); i++ {
		n, text := 0, ""
		switch b[i] {
		case '\\':
			i++
			continue
		case '`':
			run := len(b[i:]) - len(bytes.TrimLeft(b[i:], "`"))
			if spans && !unclosed[run] {
				if length := codeSpan(b[i:], run); length > 0 {
					run = length
				} else {
					unclosed[run] = true
				}
			}
			i += run - 1
			continue
		case '<':
			n, text = m.tag(b, i)
		case '&':
			n, text = entity(b[i:])
		case '{':
			n, text = m.shortcode(b, i)
		case base64Mark[0]:
			n, text = embedded(b[i:]), base64Mark
		}
		if n > 0 {
			m.edits = append(m.edits, edit{start + i, start + i + n, text})
			i += n - 1
		}
	}
}

// base64Mark precedes the bytes of a file that is embedded in an address, such as a picture.
const base64Mark = ";base64,"

// embedded returns the length of the embedded file at the start of b, with its mark, or 0.
func embedded(b []byte) int {
	if !bytes.HasPrefix(b, []byte(base64Mark)) {
		return 0
	}
	n := len(base64Mark)
	for n < len(b) && (b[n] >= '0' && b[n] <= '9' || isLetter(b[n]) || bytes.IndexByte([]byte("+/=%-_"), b[n]) >= 0) {
		n++
	}
	return n
}

// codeSpan returns the length of the code that begins with a run of backticks, or 0.
func codeSpan(b []byte, run int) int {
	for i := run; i < len(b); {
		at := bytes.IndexByte(b[i:], '`')
		if at < 0 {
			return 0
		}
		i += at
		n := len(b[i:]) - len(bytes.TrimLeft(b[i:], "`"))
		if i += n; n == run {
			return i
		}
	}
	return 0
}

// unended are the marks whose end may be far away, and their ends.
var unended = [3][2]string{{"<!--", "-->"}, {"<?", "?>"}, {"<![CDATA[", "]]>"}}

// tag returns the length of the tag or comment at b[i:], and what is read instead of it. The length
// is 0 if there is none, or if it looks like a placeholder, such as <T> or <file>.
func (m *markup) tag(b []byte, i int) (int, string) {
	rest := b[i:]
	for k, mark := range unended {
		if !bytes.HasPrefix(rest, []byte(mark[0])) {
			continue
		}
		if m.no[k] {
			return 0, ""
		}
		end := bytes.Index(rest[len(mark[0]):], []byte(mark[1]))
		if end < 0 {
			m.no[k] = true
			return 0, ""
		}
		return len(mark[0]) + end + len(mark[1]), ""
	}
	if m.work > maxTagWork || len(rest) < 3 {
		return 0, ""
	}
	t, n, scanned := parseTag(rest[:min(len(rest), maxTag)])
	m.work += scanned
	if n == 0 || !m.isTag(t) {
		return 0, ""
	}
	text := ""
	switch {
	case t.name == "img":
		text = t.text
	case !inhtml.IsElement(t.name):
		text = t.text // a component, whose caption is shown
	case inhtml.IsBlock(t.name) || t.name == "br" || t.name == "td" || t.name == "th":
		if i+n < len(b) && b[i+n] != '\n' && i > 0 && b[i-1] != '\n' {
			text = " "
		}
	}
	return n, text
}

// isTag reports whether t is a tag rather than a placeholder.
func (m *markup) isTag(t tag) bool {
	switch {
	case t.end:
		return true
	case t.name == "br" || t.name == "hr" || t.name == "wbr" || t.value:
		return true
	case inhtml.IsElement(t.name) && inhtml.EndIsOptional(t.name):
		return true
	case t.closed && (strings.Contains(t.name, "-") || t.upper):
		return true
	}
	if m.ends == nil {
		m.ends = map[string]bool{}
		for _, found := range endTag.FindAllSubmatch(m.source, 10_000) {
			m.ends[strings.ToLower(string(found[1]))] = true
		}
	}
	return m.ends[t.name]
}

var endTag = regexp.MustCompile(`</([A-Za-z][A-Za-z0-9.:_-]{0,60})\s*>`)

// tag is a tag of HTML, or of a component in Markdown for a program such as mdBook.
type tag struct {
	name   string // in lower case
	upper  bool   // the name begins with a capital
	end    bool   // </name>
	closed bool   // <name/>
	value  bool   // an attribute has a value
	text   string // alternative text, caption or title
}

// parseTag returns the tag at the start of b, as CommonMark defines tags; values in braces, as in
// JSX, are allowed too. n is its length, or 0 if there is no tag. scanned is how far it looked.
func parseTag(b []byte) (t tag, n, scanned int) {
	i := 1
	if b[i] == '/' {
		t.end = true
		i++
	}
	begin := i
	for i < len(b) && (isLetter(b[i]) || i > begin && (b[i] >= '0' && b[i] <= '9' || bytes.IndexByte([]byte("-.:_"), b[i]) >= 0)) {
		i++
	}
	if i == begin || i-begin > 60 {
		return t, 0, i
	}
	t.upper = b[begin] >= 'A' && b[begin] <= 'Z'
	t.name = strings.ToLower(string(b[begin:i]))
	for i < len(b) {
		from := i
		for i < len(b) && isBlank(b[i]) {
			i++
		}
		if i == len(b) {
			break
		}
		switch c := b[i]; {
		case c == '>':
			return t, i + 1, i
		case c == '/' && i+1 < len(b) && b[i+1] == '>' && !t.end:
			t.closed = true
			return t, i + 2, i
		case from == i || t.end || !isLetter(c) && c != '_' && c != ':' && c != '@':
			return t, 0, i
		}
		name := i
		for i < len(b) && (isLetter(b[i]) || b[i] >= '0' && b[i] <= '9' || bytes.IndexByte([]byte("-.:_@"), b[i]) >= 0) {
			i++
		}
		key := b[name:i]
		after := i
		for after < len(b) && isBlank(b[after]) {
			after++
		}
		if after == len(b) || b[after] != '=' {
			continue
		}
		for after++; after < len(b) && isBlank(b[after]); after++ {
		}
		length := attributeValue(b[after:])
		if length == 0 || length == 1 && (b[after] == '"' || b[after] == '\'') {
			return t, 0, after
		}
		t.value = true
		value := bytes.Trim(b[after:after+length], `"'`)
		i = after + length
		switch strings.ToLower(string(key)) {
		case "alt", "caption", "title", "label", "summary":
			if t.text == "" && len(value) > 0 && value[0] != '{' {
				t.text = shownText(string(value))
			}
		}
	}
	return t, 0, i
}

// shownText returns the text of an attribute that is shown, which may contain tags.
func shownText(value string) string {
	return strings.Join(strings.Fields(inhtml.Markdown(html.UnescapeString(value))), " ")
}

// attributeValue returns the length of the value at the start of b, or 0.
func attributeValue(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\'':
		return 1 + bytes.IndexByte(b[1:], b[0]) + 1
	case '{':
		depth := 0
		for i, c := range b[:min(len(b), maxBraced)] {
			switch c {
			case '{':
				depth++
			case '}':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return 0
	}
	n := bytes.IndexAny(b, " \t\r\n\"'=<>`")
	return max(n, 0)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

var entityName = regexp.MustCompile(`^&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});`)

// entity returns the length of the entity at the start of b, and its character in Markdown. The
// length is 0 if there is none, or if its character could be taken for markup.
func entity(b []byte) (int, string) {
	name := entityName.Find(b[:min(len(b), 40)])
	if name == nil {
		return 0, ""
	}
	text := html.UnescapeString(string(name))
	rest := b[len(name):]
	switch {
	case text == string(name), text < " ":
		return 0, ""
	case text == "\u00a0":
		return len(name), " "
	case text == "&":
		if entityName.Match(append([]byte("&"), rest[:min(len(rest), 40)]...)) {
			return 0, ""
		}
	case text == "<":
		if len(rest) > 0 && (isLetter(rest[0]) || strings.IndexByte("/!?", rest[0]) >= 0) {
			text = `\<`
		}
	case strings.Contains("\\`*_[]|#>~", text):
		text = `\` + text
	}
	return len(name), text
}

var shownValue = regexp.MustCompile(`(?:title|caption|alt|summary)\s*=\s*(?:"([^"]*)"|'([^']*)')`)

// shortcode returns the length of the shortcode of Hugo at b[i:], such as {{< figure >}}, and its
// title. The length is 0 if there is none.
func (m *markup) shortcode(b []byte, i int) (int, string) {
	rest := b[i:min(len(b), i+maxBraced*4)]
	for _, marks := range [][2]string{{"{{<", ">}}"}, {"{{%", "%}}"}} {
		if !bytes.HasPrefix(rest, []byte(marks[0])) || bytes.HasPrefix(rest[3:], []byte("/*")) {
			continue
		}
		end := bytes.Index(rest, []byte(marks[1]))
		if end < 0 {
			return 0, ""
		}
		text := ""
		if found := shownValue.FindSubmatch(rest[:end]); found != nil {
			text = shownText(string(found[1]) + string(found[2]))
		}
		return end + 3, text
	}
	return 0, ""
}
