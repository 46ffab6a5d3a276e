package richtext

import (
	"html"
	"html/template"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"
)

const (
	// maxMarks is the maximum number of texts that are looked for.
	maxMarks = 64
	// leastWord is the minimum length of a word of a query that is marked, in characters.
	leastWord = 3
)

// Words returns the words of a query that are worth marking.
func Words(query string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(query, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if utf8.RuneCountInString(w) >= leastWord && !common[strings.ToLower(w)] {
			out = append(out, w)
		}
	}
	return out
}

// common are words that questions consist of. Marking them tells nothing.
var common = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`the and for are was were who what when where why how which that this with from does did has have had can may must not
		you your its their there into about than then them they will would should could been being der die das und ist wer was wann wie den dem des ein eine
		les des est une qui que quoi dans pour sur avec`) {
		all[w] = true
	}
	return all
}()

// sentenceEnd is where a sentence of an answer may end.
var sentenceEnd = regexp.MustCompile(`[.!?…:;]["”»)]*\s+`)

// leastSentence is the minimum number of words of a part of a line that is looked for by itself.
const leastSentence = 4

// Sentences returns the lines of an answer, and after each its sentences, which may stand in
// different places.
func Sentences(answer string) []string {
	var out []string
	for line := range strings.Lines(answer) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "or: ")
		if line == "" {
			continue
		}
		out = append(out, line)
		start := 0
		for _, end := range append(sentenceEnd.FindAllStringIndex(line, maxMarks), []int{len(line), len(line)}) {
			if part := line[start:end[1]]; part != line && len(split(part)) >= leastSentence {
				out = append(out, strings.TrimSpace(part))
			}
			start = end[1]
		}
	}
	return out
}

// token is a word of HTML text: its letters and digits, in lower case, and where they are.
type token struct {
	word       string
	start, end int // in the HTML
	text       int // number of the text between tags that has it
}

// mark puts <mark> around the parts of HTML that have the same words as one of marks. A part
// that goes over tags is marked between them.
func mark(source string, marks []string) string {
	if len(marks) > maxMarks {
		marks = marks[:maxMarks]
	}
	if len(marks) == 0 {
		return source
	}
	tokens := tokenize(source)
	first := map[string][]int{}
	for i, t := range tokens {
		first[t.word] = append(first[t.word], i)
	}
	marked := make([]bool, len(tokens))
	for _, m := range marks {
		words := split(m)
		if len(words) == 0 {
			continue
		}
		for _, at := range first[words[0]] {
			if matches(tokens[at:], words) {
				for i := range words {
					marked[at+i] = true
				}
			}
		}
	}
	return paint(source, tokens, func(i int) string {
		if marked[i] {
			return "<mark>"
		}
		return ""
	})
}

// paint puts tags around words. tag returns the start tag of the mark around a word, "" for none.
// Words that follow each other with the same tag share a mark.
func paint(source string, tokens []token, tag func(i int) string) string {
	var out strings.Builder
	last := 0
	for i := 0; i < len(tokens); i++ {
		start := tag(i)
		if start == "" {
			continue
		}
		j := i
		for j+1 < len(tokens) && tokens[j+1].text == tokens[i].text && tag(j+1) == start {
			j++
		}
		out.WriteString(source[last:tokens[i].start])
		out.WriteString(start + source[tokens[i].start:tokens[j].end] + "</mark>")
		last, i = tokens[j].end, j
	}
	return out.String() + source[last:]
}

// Mark says how a word is marked.
type Mark int

// Marks of words: none, part of the passage, and part of what answers.
const (
	Unmarked Mark = iota
	Passage
	Answers
)

// Marked returns a text as HTML with marks. pick returns them for the words of the text. What
// was marked first has the id "hit".
func Marked(source string, pick func(words []string) []Mark) template.HTML {
	plain := string(HTML(source, nil))
	tokens := tokenize(plain)
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.word
	}
	picked := pick(words)
	painted := paint(plain, tokens, func(i int) string { return [...]string{"", `<mark class="passage-mark">`, "<mark>"}[picked[i]] })
	before, after, found := strings.Cut(painted, "<mark")
	if !found {
		return template.HTML(painted)
	}
	return template.HTML(before + `<mark id="hit"` + after) // what was cut is a tag that paint wrote: text has no "<"
}
func matches(tokens []token, words []string) bool {
	if len(tokens) < len(words) {
		return false
	}
	for i, w := range words {
		if tokens[i].word != w {
			return false
		}
	}
	return true
}

// split returns the words of a plain text, in lower case.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// tokenize returns the words of the text in HTML. Character references are one character.
func tokenize(source string) (tokens []token) {
	z := nethtml.NewTokenizer(strings.NewReader(source))
	at := 0
	for text := 0; ; text++ {
		kind := z.Next()
		if kind == nethtml.ErrorToken {
			return tokens
		}
		raw := z.Raw()
		if kind == nethtml.TextToken {
			tokens = appendWords(tokens, string(raw), at, text)
		}
		at += len(raw)
	}
}

func appendWords(tokens []token, raw string, base, text int) []token {
	var word strings.Builder
	start := 0
	flush := func(end int) {
		if word.Len() > 0 {
			tokens = append(tokens, token{strings.ToLower(word.String()), base + start, base + end, text})
			word.Reset()
		}
	}
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRuneInString(raw[i:])
		if r == '&' {
			if end := strings.IndexByte(raw[i:min(len(raw), i+12)], ';'); end > 0 {
				r, _ = utf8.DecodeRuneInString(html.UnescapeString(raw[i : i+end+1]))
				size = end + 1
			}
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			if word.Len() == 0 {
				start = i
			}
			word.WriteRune(r)
		} else {
			flush(i)
		}
		i += size
	}
	flush(len(raw))
	return tokens
}

// Span is a range of the words of a text: from From, before To.
type Span struct{ From, To int }

// Find returns where the words of a quotation stand in a text: of the first one that does. It
// reports false if of none they stand there one after the other.
func Find(source string, quotations []string) (Span, bool) {
	tokens := tokenize(string(HTML(source, nil)))
	for _, quotation := range quotations[:min(len(quotations), maxMarks)] {
		words := split(quotation)
		if len(words) == 0 {
			continue
		}
		for i := range tokens {
			if matches(tokens[i:], words) {
				return Span{i, i + len(words)}, true
			}
		}
	}
	return Span{}, false
}

// WordsOf returns the words of a text without its markup, in lower case.
func WordsOf(source string) []string {
	tokens := tokenize(string(HTML(source, nil)))
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.word
	}
	return words
}
