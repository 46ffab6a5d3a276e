package summarise

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/events/prose"
)

const (
	maxSentence  = 500     // bytes; longer sentences are ignored
	maxParagraph = 8 << 10 // bytes; longer paragraphs are split
)

// paragraphs calls visit with each paragraph and list item of a Markdown text, as a single line of
// plain text. Rows of tables count as list items. It skips code, headings and comments.
func paragraphs(text string, visit func(paragraph string, item bool)) {
	var paragraph strings.Builder
	item, fence := false, ""
	flush := func() {
		if paragraph.Len() > 0 {
			if plain := plainText(paragraph.String()); plain != "" {
				visit(plain, item)
			}
		}
		paragraph.Reset()
		item = false
	}
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		line = strings.TrimSpace(line)
		for strings.HasPrefix(line, ">") {
			line = strings.TrimSpace(line[1:])
		}
		switch {
		case fence != "":
			if strings.HasPrefix(line, fence) {
				fence = ""
			}
			continue
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			flush()
			fence = line[:3]
			continue
		case line != "" && line[0] == '|':
			flush()
			if row := strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == '|' }), ","); strings.Trim(row, "-:, ") != "" {
				paragraph.WriteString(strings.Trim(row, " ,"))
				item = true
				flush()
			}
			continue
		case line == "" || line[0] == '#' || strings.HasPrefix(line, "<!--") || strings.HasPrefix(line, "[^"):
			flush()
			continue
		case strings.Trim(line, "-=*_ ") == "":
			flush()
			continue
		case indented && paragraph.Len() == 0 && strings.ContainsAny(line, "{};="): // code
			continue
		}
		if rest, ok := listItem(line); ok {
			flush()
			line, item = rest, true
		}
		for paragraph.Len()+len(line) > maxParagraph {
			piece := cut(line, maxParagraph-min(paragraph.Len(), maxParagraph/2))
			paragraph.WriteByte(' ')
			paragraph.WriteString(piece)
			line = line[len(piece):]
			wasItem := item
			flush()
			item = wasItem
		}
		if paragraph.Len() > 0 {
			paragraph.WriteByte(' ')
		}
		paragraph.WriteString(line)
	}
	flush()
}

// listItem returns the text of a line that starts a list item.
func listItem(line string) (string, bool) {
	if len(line) > 2 && strings.IndexByte("-*+", line[0]) >= 0 && line[1] == ' ' {
		return strings.TrimSpace(line[2:]), true
	}
	rest := strings.TrimLeft(line, "0123456789")
	if n := len(line) - len(rest); n > 0 && n < 4 && len(rest) > 2 && (rest[0] == '.' || rest[0] == ')') && rest[1] == ' ' {
		return strings.TrimSpace(rest[2:]), true
	}
	return line, false
}

// plainText removes markup from inline Markdown: emphasis, code marks, tags, pictures and the
// targets of links.
func plainText(text string) string {
	if !strings.ContainsAny(text, "*_`[]<>\\!&|\t\r\v\f") && !strings.Contains(text, "  ") {
		return strings.TrimSpace(text)
	}
	var out strings.Builder
	out.Grow(len(text))
	brackets := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text) && text[i+1] < utf8.RuneSelf && !isWordByte(text[i+1]):
			i++
			out.WriteByte(text[i])
		case c == '`':
			n := span(text[i:], "`", "`")
			out.WriteString(strings.Trim(text[i:i+n], "`"))
			i += n - 1
		case c == '*':
		case c == '_' && (i == 0 || i+1 == len(text) || !isWordByte(text[i-1]) || !isWordByte(text[i+1])):
		case c == '!' && i+1 < len(text) && text[i+1] == '[':
			i += 1 + span(text[i+1:], "[", "]")
			if i < len(text) && text[i] == '(' {
				i += span(text[i:], "(", ")")
			}
			i--
		case c == '[' && strings.HasPrefix(text[i:], "[^"):
			i += span(text[i:], "[", "]") - 1
		case c == '[':
			brackets++
		case c == ']' && brackets > 0:
			brackets--
			if i+1 < len(text) && (text[i+1] == '(' || text[i+1] == '[') {
				i += span(text[i+1:], text[i+1:i+2], map[byte]string{'(': ")", '[': "]"}[text[i+1]])
			}
		case c == '<' && i+1 < len(text) && (isWordByte(text[i+1]) || text[i+1] == '/' || text[i+1] == '!'):
			i += span(text[i:], "<", ">") - 1
		default:
			out.WriteByte(c)
		}
	}
	return oneLine(html.UnescapeString(out.String()))
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// span returns the length of the bracketed text at the start of text, or 1 if the closing bracket
// does not follow within 1,000 bytes.
func span(text, open, closing string) int {
	end := strings.Index(cut(text[len(open):], 1000), closing)
	if end < 0 {
		return 1
	}
	return len(open) + end + len(closing)
}

// sentences calls visit with each sentence of a paragraph of plain text. It skips sentences longer
// than maxSentence, unless all sentences are longer.
func sentences(paragraph string, visit func(string)) {
	found := false
	for start := 0; start < len(paragraph); {
		end := prose.SentenceEnd(paragraph, start, len(paragraph))
		text := strings.TrimSpace(paragraph[start:end])
		start = end
		if text != "" && len(text) <= maxSentence && strings.IndexFunc(text, unicode.IsLetter) >= 0 {
			found = true
			visit(text)
		}
	}
	if !found && paragraph != "" {
		visit(shorten(cut(paragraph, maxSentence)))
	}
}
