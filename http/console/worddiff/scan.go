package worddiff

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a number or another character, without the white space that follows it.
type token struct {
	text  string
	space string // what follows it: "", " ", "\n" or "\n\n"
	page  int    // 0 if the text has no pages
}

const (
	// maxWord is the maximum length of a word in bytes. Longer ones count as several.
	maxWord = 256
	// maxMark is the maximum length of a comment that marks a page.
	maxMark = 200
	// maxKnown is the number of words that a scanner remembers, so that it does not allocate
	// memory for each occurrence.
	maxKnown = 1 << 16
)

// scanner reads the tokens of a Markdown text as the vault writes it: with a front matter,
// and with comments that say where pages begin.
type scanner struct {
	r     *bufio.Reader
	page  int
	word  []byte
	known map[string]string
	err   error // other than io.EOF
}

func newScanner(r io.Reader) *scanner {
	s := &scanner{r: bufio.NewReaderSize(r, 64<<10), known: map[string]string{}}
	s.skipFrontMatter()
	return s
}

// skipFrontMatter skips the lines that say how the document was read. They are not its text.
func (s *scanner) skipFrontMatter() {
	if start, _ := s.r.Peek(4); string(start) != "---\n" {
		return
	}
	for first := true; ; first = false {
		line, err := s.r.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull || !first && string(line) == "---\n" {
			return
		}
	}
}

// next returns the next token. ok is false at the end of the text.
func (s *scanner) next() (t token, ok bool) {
	for {
		r, ok := s.read()
		switch {
		case !ok:
			return t, false
		case unicode.IsSpace(r):
		case r == '<' && s.skipMark():
		default:
			s.word = utf8.AppendRune(s.word[:0], r)
			t.page = s.page
			if inWord(r) {
				s.readWord()
			}
			t.text, t.space = s.known[string(s.word)], s.readSpace()
			if t.text == "" {
				t.text = s.remember()
			}
			return t, true
		}
	}
}

func (s *scanner) read() (rune, bool) {
	r, _, err := s.r.ReadRune()
	if err != nil && err != io.EOF {
		s.err = err
	}
	return r, err == nil
}

// readWord reads the rest of a word.
func (s *scanner) readWord() {
	for len(s.word) < maxWord {
		r, ok := s.read()
		if !ok {
			return
		}
		if !inWord(r) {
			_ = s.r.UnreadRune() // cannot fail after a read
			return
		}
		s.word = utf8.AppendRune(s.word, r)
	}
}

// readSpace reads white space.
func (s *scanner) readSpace() string {
	any, lines := false, 0
	for {
		r, ok := s.read()
		if ok && unicode.IsSpace(r) {
			any = true
			if r == '\n' {
				lines++
			}
			continue
		}
		if ok {
			_ = s.r.UnreadRune()
		}
		switch {
		case lines > 1:
			return "\n\n"
		case lines == 1:
			return "\n"
		case any:
			return " "
		}
		return ""
	}
}

func (s *scanner) remember() string {
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	word := strings.ToValidUTF8(string(s.word), "\uFFFD")
	s.known[string(s.word)] = word
	return word
}

// pageMark is the comment before the text of a page. The same characters in a document's own
// text are escaped by the vault.
var pageMark = regexp.MustCompile(`^!-- page ([0-9]{1,9}) -->`)

// skipMark skips the rest of a comment that says where a page begins or that text was
// recognised. It reports whether there is one.
func (s *scanner) skipMark() bool {
	ahead, _ := s.r.Peek(maxMark)
	end := bytes.Index(ahead, []byte("-->"))
	page := pageMark.FindSubmatch(ahead)
	if end < 0 || page == nil && !bytes.HasPrefix(ahead, []byte("!-- recognised in a picture of ")) {
		return false
	}
	if page != nil {
		s.page, _ = strconv.Atoi(string(page[1])) // at most nine digits
	}
	_, _ = s.r.Discard(end + len("-->")) // these bytes are in the buffer
	return true
}

// inWord reports whether a character is part of a word. Scripts without spaces between words
// are compared by character.
func inWord(r rune) bool {
	if r < unicode.MaxASCII {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
