// Package form parses the JSON bodies and queries of requests to the core and the vault,
// and reports errors in them in the words of each service. The size of bodies and errors is
// bounded. It imports
// http/problem, events and schema.
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"annals/http/problem"
)

// ReadBody reads the body of a request into memory. A body of more than limit bytes is an
// error.
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, &problem.Error{Status: http.StatusRequestEntityTooLarge, Text: "the body is longer than " + strconv.FormatInt(limit, 10) + " bytes"}
	case err != nil:
		return nil, &problem.Error{Status: http.StatusBadRequest, Text: "There was an error parsing the body"}
	}
	return text, nil
}

// isJSON reports whether a Content-Type is application/json or another type with the suffix
// +json.
func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	kind, sub, _ := strings.Cut(media, "/")
	return err == nil && kind == "application" && (sub == "json" || strings.HasSuffix(sub, "+json"))
}

// isText returns a body without a byte order mark. It reports false if the body is not UTF-8.
func isText(body []byte) ([]byte, bool) {
	return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), utf8.Valid(body)
}

// maxDepth is the maximum nesting depth of JSON values, the same as in encoding/json.
const maxDepth = 10_000

// DecodeJSON decodes one JSON value, with numbers as json.Number.
func DecodeJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode JSON: more than one value")
	}
	if HasLoneSurrogate(text) {
		return nil, errors.New("decode JSON: a string has a lone surrogate")
	}
	return v, nil
}

// HasLoneSurrogate reports whether a string in a JSON text contains an escaped half of a
// surrogate pair. encoding/json would silently replace it by U+FFFD.
func HasLoneSurrogate(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 >= len(text) {
			return false
		}
		width, lone := escape(text[i:])
		if lone {
			return true
		}
		text = text[i+width:]
	}
}

// escape returns the length of the escape sequence at the beginning of text. A surrogate pair
// counts as one sequence. lone reports whether the sequence is only half of a pair.
func escape(text []byte) (width int, lone bool) {
	r, ok := escaped(text)
	switch {
	case !ok:
		return 2, false
	case !utf16.IsSurrogate(r):
		return 6, false
	}
	low, ok := escaped(text[6:])
	return 12, !ok || utf16.DecodeRune(r, low) == utf8.RuneError
}

// escaped decodes the \uXXXX at the beginning of text.
func escaped(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// JSONFault returns the position, in characters, of the first error in an invalid JSON text,
// and the error message of Python's json module, which clients of FastAPI expect. Call it only
// for texts that DecodeJSON refused.
func JSONFault(text []byte) (position int, why string) {
	f := jsonFinder{text: []rune(string(text))}
	end, ok := f.value(f.space(0), 0)
	if ok {
		if end = f.space(end); end < len(f.text) {
			return end, "Extra data"
		}
		return 0, expectingValue // unreachable, because encoding/json refused the text
	}
	return f.position, f.why
}

const (
	expectingValue = "Expecting value"
	expectingName  = "Expecting property name enclosed in double quotes"
)

// jsonFinder scans a text like Python's json.scanner and stops at the first error. Its methods
// return the index of the character after the part that they scanned.
type jsonFinder struct {
	text     []rune
	position int
	why      string
}

func (f *jsonFinder) fail(position int, why string) (int, bool) {
	f.position, f.why = position, why
	return 0, false
}

// at returns the character at index i, or 0 if i is beyond the end.
func (f *jsonFinder) at(i int) rune {
	if i < len(f.text) {
		return f.text[i]
	}
	return 0
}

func (f *jsonFinder) space(i int) int {
	for c := f.at(i); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = f.at(i) {
		i++
	}
	return i
}

func (f *jsonFinder) value(i, depth int) (int, bool) {
	if depth > maxDepth {
		return f.fail(i, expectingValue)
	}
	switch c := f.at(i); {
	case c == '"':
		return f.str(i)
	case c == '{':
		return f.object(i+1, depth)
	case c == '[':
		return f.array(i+1, depth)
	case c == '-' || isDigit(c):
		return f.number(i)
	}
	for _, word := range []string{"null", "true", "false"} {
		if end := i + len(word); end <= len(f.text) && string(f.text[i:end]) == word {
			return end, true
		}
	}
	return f.fail(i, expectingValue)
}

func (f *jsonFinder) object(i, depth int) (int, bool) {
	i = f.space(i)
	if f.at(i) == '}' {
		return i + 1, true
	}
	for {
		if f.at(i) != '"' {
			return f.fail(i, expectingName)
		}
		end, ok := f.str(i)
		if !ok {
			return 0, false
		}
		if i = f.space(end); f.at(i) != ':' {
			return f.fail(i, "Expecting ':' delimiter")
		}
		if end, ok = f.value(f.space(i+1), depth+1); !ok {
			return 0, false
		}
		switch i = f.space(end); f.at(i) {
		case '}':
			return i + 1, true
		case ',':
			i = f.space(i + 1)
		default:
			return f.fail(i, "Expecting ',' delimiter")
		}
	}
}

func (f *jsonFinder) array(i, depth int) (int, bool) {
	i = f.space(i)
	if f.at(i) == ']' {
		return i + 1, true
	}
	for {
		end, ok := f.value(i, depth+1)
		if !ok {
			return 0, false
		}
		switch i = f.space(end); f.at(i) {
		case ']':
			return i + 1, true
		case ',':
			i = f.space(i + 1)
		default:
			return f.fail(i, "Expecting ',' delimiter")
		}
	}
}

func (f *jsonFinder) str(begin int) (int, bool) {
	for i := begin + 1; i < len(f.text); i++ {
		switch c := f.text[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return f.fail(i, "Invalid control character at")
		case c != '\\':
			continue
		}
		i++ // skip the backslash
		switch f.at(i) {
		case 0:
			return f.fail(begin, "Unterminated string starting at")
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			for k := 1; k <= 4; k++ {
				if i+5 >= len(f.text) || !isHex(f.at(i+k)) {
					return f.fail(i, `Invalid \uXXXX escape`)
				}
			}
			const pair = 12 // length of the longest escape sequence, a surrogate pair
			width, lone := escape([]byte(string(f.text[i-1 : min(i-1+pair, len(f.text))])))
			if lone {
				return f.fail(i-1, "Lone surrogate in hex escape")
			}
			i += width - 2
		default:
			return f.fail(i-1, `Invalid \escape`)
		}
	}
	return f.fail(begin, "Unterminated string starting at")
}

func (f *jsonFinder) number(begin int) (int, bool) {
	i := begin
	if f.at(i) == '-' {
		i++
	}
	switch {
	case f.at(i) == '0':
		i++
	case isDigit(f.at(i)):
		i = f.digits(i)
	default:
		return f.fail(begin, expectingValue)
	}
	if f.at(i) == '.' && isDigit(f.at(i+1)) {
		i = f.digits(i + 1)
	}
	if c := f.at(i); c == 'e' || c == 'E' {
		j := i + 1
		if c := f.at(j); c == '+' || c == '-' {
			j++
		}
		if isDigit(f.at(j)) {
			i = f.digits(j)
		}
	}
	return i, true
}

func (f *jsonFinder) digits(i int) int {
	for isDigit(f.at(i)) {
		i++
	}
	return i
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }

func isHex(c rune) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
