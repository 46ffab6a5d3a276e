package compose

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"annals/events/prose"
	"annals/queries/answer/markdown"
)

// said is a sentence of a reply, and the indexes of the passages that it names.
type said struct {
	text  string
	cited []int
}

// reply reads a reply while it arrives. A line is one or more sentences with their passages
// behind each ("It is red. [1] It was blue. [2, 3]"), or before all of them ("[1] It is red.").
// Its memory is bounded by that of the reply.
type reply struct {
	passages  int    // number of the passages in the prompt
	abstains  bool   // a line says that there is no answer
	line      string // what has arrived of it
	inside    bool   // the begin of the line was read already
	thinking  bool   // inside of what a reasoning model writes to itself
	sentences int
}

// maxSentences is the number of sentences after which the rest of a reply is ignored.
const maxSentences = 24

// maxLine is the number of bytes after which a line is read as if it ended there, so that the time to read a
// reply is bounded.
const maxLine = 4096

var (
	marks    = regexp.MustCompile(`(?:[\s,;]*\[\s*\d{1,3}(?:\s*[,;]\s*\d{1,3})*\s*\])+`)
	number   = regexp.MustCompile(`\d+`)
	bullet   = regexp.MustCompile(`^(?:[-*•]|\d{1,2}[.)])\s+`)
	abstains = regexp.MustCompile(`(?i)^\W*no answer\W*$`)
)

// add returns the sentences that a piece of the reply completes.
func (r *reply) add(piece string) (found []said) {
	r.line += piece
	for {
		line, rest, ended := strings.Cut(r.line, "\n")
		if !ended && len(r.line) > maxLine {
			line, rest, ended = r.line, "", true
		}
		if !ended {
			break
		}
		r.line = rest
		found = append(found, r.read(line)...)
		r.inside = false
	}
	if !strings.Contains(r.line, "]") || r.thinking || !r.inside && strings.HasPrefix(lead(r.line), "[") || strings.Contains(r.line, "<think") {
		return found // the whole line is needed
	}
	// The marks after a sentence have ended if something other than another mark follows.
	for {
		at := marks.FindStringIndex(r.line)
		if at == nil {
			return found
		}
		rest := begin(r.line[at[1]:])
		if rest == "" || rest[0] == '[' {
			return found
		}
		found = append(found, r.read(r.line[:at[1]])...)
		r.line, r.inside = rest, true
	}
}

// between is what may stand between the marks of a sentence and the next sentence.
const between = " \t,;.!?。"

// begin returns a text without what may stand before its first sentence. A picture there stays one ("![…]").
func begin(text string) string {
	rest := strings.TrimLeft(text, between)
	if strings.HasPrefix(rest, "[") && strings.HasSuffix(text[:len(text)-len(rest)], "!") {
		return "!" + rest
	}
	return rest
}

// end returns the sentences at the end of the reply. If the reply was cut, the last one is left
// out, unless its passages are named.
func (r *reply) end(cut bool) []said {
	line := r.line
	r.line = ""
	if cut {
		all := marks.FindAllStringIndex(line, -1)
		if len(all) == 0 || !r.inside && strings.HasPrefix(lead(line), "[") {
			return nil
		}
		line = line[:all[len(all)-1][1]]
	}
	return r.read(line)
}

// read returns the sentences of a line, or of a part of it that ends with marks.
func (r *reply) read(line string) (found []said) {
	line = strings.TrimSpace(r.spoken(line))
	if !r.inside {
		line = lead(line)
	}
	all := marks.FindAllStringIndex(line, -1)
	switch {
	case strings.HasPrefix(line, "```"):
		return nil
	case !r.inside && abstains.MatchString(line):
		r.abstains = true
		return nil
	case !r.inside && len(all) > 0 && strings.HasPrefix(line, "["): // before
		var cited []int
		for _, at := range all {
			cited = append(cited, r.cited(line[at[0]:at[1]])...)
		}
		return r.split(marks.ReplaceAllString(line, ""), cited)
	}
	start := 0
	for _, at := range all {
		found = append(found, r.split(line[start:at[0]], r.cited(line[at[0]:at[1]]))...)
		start = at[1]
	}
	return append(found, r.split(line[start:], nil)...)
}

// lead returns a line without the mark of a list, heading or quotation at its begin.
func lead(line string) string {
	return bullet.ReplaceAllString(strings.TrimLeft(strings.TrimSpace(line), " \t#>"), "")
}

// spoken returns the part of a line that is not in think tags.
func (r *reply) spoken(line string) string {
	if r.thinking {
		_, after, ended := strings.Cut(line, "</think>")
		r.thinking = !ended
		return after
	}
	before, inside, begins := strings.Cut(line, "<think>")
	if !begins {
		return line
	}
	r.thinking = true
	return before + r.spoken(inside)
}

// split returns the sentences of a text that names passages.
func (r *reply) split(text string, cited []int) (found []said) {
	text = strings.TrimSpace(begin(text))
	for start := 0; start < len(text); {
		end := prose.SentenceEnd(text, start, len(text))
		if one := strings.TrimSpace(text[start:end]); strings.IndexFunc(one, wordRune) >= 0 && r.sentences < maxSentences {
			r.sentences++
			found = append(found, said{one, cited})
		}
		start = end
	}
	return found
}

func wordRune(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// cited returns the indexes of the passages that marks name. A number that no passage has becomes -1, so that the
// sentence is dropped.
func (r *reply) cited(marks string) (indexes []int) {
	seen := map[int]bool{}
	for _, digits := range number.FindAllString(marks, -1) {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > r.passages {
			n = 0
		}
		if !seen[n] {
			seen[n] = true
			indexes = append(indexes, n-1)
		}
	}
	return indexes
}

// markup matches what a client could take for markup that acts: tags, links, pictures, entities
// and code.
var markup = regexp.MustCompile("<[\\pL/!?]|\\]\\s*[(\\[:]|!\\[|```|&#?\\w+;|(?i:javascript|vbscript):\\S|(?i:data):\\w+/")

// picture matches a picture in Markdown with its description, which is no part of the sentence.
var picture = regexp.MustCompile(`!\[[^\[\]]*\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])?`)

// address matches what a client could make a link, even in plain text.
var address = regexp.MustCompile(`(?i)\w://|\bwww\.|\b(?:mailto|tel|sms):\S`)

// Clean returns a sentence as plain text: without pictures, and without links but with their
// text. It reports false if markup or an address with a scheme is left, such as https://h.example.
func Clean(text string) (string, bool) {
	text = strings.Join(strings.Fields(Visible(markdown.Plain(picture.ReplaceAllString(text, " ")))), " ")
	return text, text != "" && !markup.MatchString(text) && !address.MatchString(text)
}

// Visible returns a text without control characters, and without those characters that change
// the direction of a text or hide words in it.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // letters of some scripts need the last two
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, text)
}
