package summarise

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxSentence  = 500     // bytes; a longer one is cut out of consideration
	maxParagraph = 8 << 10 // bytes; a longer one is looked at in pieces
)

// paragraphs calls visit with the paragraphs and list items of a Markdown
// text as plain text, one line each; rows of tables count as list items. Code,
// headings and comments are left out.
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

// listItem returns the text of a line that begins a list item.
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

// plainText takes links, emphasis, code marks, tags and pictures out of
// inline Markdown.
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

// span returns the length of a bracketed piece that text begins with, of one
// byte where its end is not near.
func span(text, open, closing string) int {
	end := strings.Index(cut(text[len(open):], 1000), closing)
	if end < 0 {
		return 1
	}
	return len(open) + end + len(closing)
}

// abbreviations end in a full stop that ends no sentence.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "sr": true, "jr": true, "vs": true, "etc": true,
	"e.g": true, "i.e": true, "cf": true, "al": true, "fig": true, "no": true, "nr": true, "vol": true, "pp": true, "p": true, "ca": true,
	"inc": true, "ltd": true, "co": true, "corp": true, "dept": true, "approx": true, "eq": true, "sec": true, "ch": true,
	"z.b": true, "d.h": true, "u.a": true, "bzw": true, "usw": true, "vgl": true, "abb": true, "bspw": true, "m": true, "mme": true, "sra": true,
	"jan": true, "feb": true, "mar": true, "apr": true, "jun": true, "jul": true, "aug": true, "sep": true, "sept": true, "oct": true, "nov": true, "dec": true,
}

// sentences calls visit with each sentence of a paragraph of plain text.
// Those longer than maxSentence are left out, but for a paragraph of nothing else.
func sentences(paragraph string, visit func(string)) {
	start, found := 0, false
	emit := func(end int) {
		text := strings.TrimSpace(paragraph[start:end])
		start = end
		if text != "" && len(text) <= maxSentence && strings.IndexFunc(text, unicode.IsLetter) >= 0 {
			found = true
			visit(text)
		}
	}
	for i, r := range paragraph {
		switch r {
		case '。', '！', '？', '｡':
			emit(afterClosing(paragraph, i+utf8.RuneLen(r)))
		case '.', '!', '?', '…':
			end := afterClosing(paragraph, i+utf8.RuneLen(r))
			if end > start && endsSentence(paragraph, start, i, end) {
				emit(end)
			}
		}
	}
	emit(len(paragraph))
	if !found && paragraph != "" {
		visit(shorten(cut(paragraph, maxSentence)))
	}
}

// afterClosing returns the offset after the quotes and brackets at i.
func afterClosing(text string, i int) int {
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !strings.ContainsRune("\"')]”’»」』）", r) {
			break
		}
		i += n
	}
	return i
}

// endsSentence reports whether the mark at stop, with what closes after it
// up to end, ends the sentence begun at start.
func endsSentence(text string, start, stop, end int) bool {
	if end == len(text) {
		return true
	}
	if text[end] != ' ' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[end:], " \"'(“‘«[*_"))
	if unicode.IsLower(next) {
		return false
	}
	if text[stop] != '.' || stop < start {
		return true
	}
	word := text[start:stop]
	word = word[strings.LastIndexAny(word, " (\"'“")+1:]
	if abbreviations[strings.ToLower(word)] {
		return false
	}
	first, n := utf8.DecodeRuneInString(word)
	return n < len(word) || !unicode.IsUpper(first) // else the initial of a name
}
