package xlsx

import (
	"slices"
	"strconv"
	"strings"
)

// numberFormat is the way in which a cell displays numbers: up to four sections, for positive and
// negative numbers, zero and texts.
type numberFormat []formatSection

type formatSection struct {
	tokens    []token
	date      bool
	general   bool
	thousands bool    // digits are in groups of three
	percents  int     // percent signs: each multiplies by 100
	scale     int     // commas behind the digits: each divides by 1,000
	operator  string  // of a condition; "" means none
	operand   float64 // of the condition
}

// token is an element of a format. Its kind is 'l' for a literal, '0', '#' or '?' for a digit, '.', 'E',
// '/' in a fraction, '@' for the text, 'G' for General, 'y', 'm', 'd', 'h', 's' or 'A' for a part of a
// date or time, 'n' for minutes, 'f' for fractions of a second, and 'H', 'N' or 'S' for elapsed hours,
// minutes and seconds.
type token struct {
	kind byte
	text string
}

const maxFormat = 255 // bytes of a format; Excel allows no more

// builtin has the formats that files refer to only by number. Excel shows 14 and 22 as the settings of
// the user's system say; here such dates are in the order that all readers understand.
var builtin = map[int]string{
	1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: "$#,##0;-$#,##0", 6: "$#,##0;-$#,##0", 7: "$#,##0.00;-$#,##0.00", 8: "$#,##0.00;-$#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
	12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
	27: "yyyy-mm-dd", 28: "yyyy-mm-dd", 29: "yyyy-mm-dd", 30: "yyyy-mm-dd", 31: "yyyy-mm-dd", 32: "h:mm", 33: "h:mm:ss", 34: "yyyy-mm-dd", 35: "yyyy-mm-dd", 36: "yyyy-mm-dd",
	37: "#,##0;-#,##0", 38: "#,##0;-#,##0", 39: "#,##0.00;-#,##0.00", 40: "#,##0.00;-#,##0.00", 41: "#,##0;-#,##0;-", 42: "$#,##0;-$#,##0;-", 43: "#,##0.00;-#,##0.00;-", 44: "$#,##0.00;-$#,##0.00;-",
	45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@", 50: "yyyy-mm-dd", 51: "yyyy-mm-dd", 52: "yyyy-mm-dd", 53: "yyyy-mm-dd", 54: "yyyy-mm-dd", 55: "yyyy-mm-dd", 56: "yyyy-mm-dd", 57: "yyyy-mm-dd", 58: "yyyy-mm-dd",
}

// parseFormat parses the code of a format. An empty or too long code means General.
func parseFormat(code string) numberFormat {
	if len(code) > maxFormat {
		code = ""
	}
	f := numberFormat{{}}
	for i := 0; i < len(code); {
		s := &f[len(f)-1]
		c := code[i]
		i++
		switch {
		case c == ';':
			if len(f) == 4 {
				return f.finish()
			}
			f = append(f, formatSection{})
		case c == '"':
			end := strings.IndexByte(code[i:], '"')
			if end < 0 {
				end = len(code) - i
			}
			s.literal(code[i : i+end])
			i = min(i+end+1, len(code))
		case c == '\\' || c == '_' || c == '*':
			n := runeLength(code[i:])
			if c == '\\' {
				s.literal(code[i : i+n])
			} else if c == '_' {
				s.literal(" ")
			}
			i += n
		case c == '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				end = len(code) - i
			}
			s.bracket(code[i : i+end])
			i = min(i+end+1, len(code))
		case c == '0' || c == '#' || c == '?' || c == '@' || c == ',':
			s.tokens = append(s.tokens, token{c, string(c)})
		case c == '.':
			if n := len(s.tokens); s.date && n > 0 && (s.tokens[n-1].kind == 's' || s.tokens[n-1].kind == 'S') {
				zeros := len(code[i:]) - len(strings.TrimLeft(code[i:], "0"))
				s.tokens = append(s.tokens, token{'f', code[i : i+zeros]})
				i += zeros
				break
			}
			s.tokens = append(s.tokens, token{'.', "."})
		case c == '%':
			s.percents++
			s.literal("%")
		case (c == 'E' || c == 'e') && i < len(code) && (code[i] == '+' || code[i] == '-'):
			s.tokens = append(s.tokens, token{'E', code[i : i+1]})
			i++
		case len(code)-i >= 6 && strings.EqualFold(code[i-1:i+6], "general"):
			s.tokens, s.general = append(s.tokens, token{'G', ""}), true
			i += 6
		case len(code)-i >= 4 && strings.EqualFold(code[i-1:i+4], "am/pm"):
			s.tokens, s.date = append(s.tokens, token{'A', "AM/PM"}), true
			i += 4
		case len(code)-i >= 2 && strings.EqualFold(code[i-1:i+2], "a/p"):
			s.tokens, s.date = append(s.tokens, token{'A', "A/P"}), true
			i += 2
		case strings.IndexByte("yYmMdDhHsSeE", c) >= 0:
			from := i - 1
			for i < len(code) && code[i]|0x20 == c|0x20 {
				i++
			}
			kind, text := c|0x20, strings.ToLower(code[from:i])
			if kind == 'e' { // the year of an era
				kind, text = 'y', "yyyy"
			}
			s.tokens, s.date = append(s.tokens, token{kind, text}), true
		case c == '/':
			s.tokens = append(s.tokens, token{'/', "/"})
		default:
			n := runeLength(code[i-1:])
			s.literal(code[i-1 : i-1+n])
			i += n - 1
		}
	}
	return f.finish()
}

// runeLength returns the bytes of the first character.
func runeLength(s string) int {
	for i := range s {
		if i > 0 {
			return i
		}
	}
	return len(s)
}

func (s *formatSection) literal(text string) {
	s.tokens = append(s.tokens, token{'l', text})
}

// bracket reads what stands in square brackets: elapsed time, a currency, a condition, a colour or a
// language.
func (s *formatSection) bracket(text string) {
	lower := strings.ToLower(text)
	switch {
	case text == "":
	case strings.Trim(lower, "h") == "", strings.Trim(lower, "m") == "", strings.Trim(lower, "s") == "":
		s.tokens, s.date = append(s.tokens, token{map[byte]byte{'h': 'H', 'm': 'N', 's': 'S'}[lower[0]], lower}), true
	case text[0] == '$':
		currency, _, _ := strings.Cut(text[1:], "-")
		s.literal(currency)
	case strings.IndexByte("<>=", text[0]) >= 0:
		operand := strings.TrimLeft(text, "<>=")
		if n, err := strconv.ParseFloat(operand, 64); err == nil {
			s.operator, s.operand = text[:len(text)-len(operand)], n
		}
	}
}

// finish decides what depends on neighbours: whether "m" means minutes, and commas.
func (f numberFormat) finish() numberFormat {
	for i := range f {
		s := &f[i]
		if s.date {
			minutes(s.tokens)
			for t := range s.tokens {
				if strings.IndexByte("0#?,./", s.tokens[t].kind) >= 0 {
					s.tokens[t].kind = 'l'
				}
			}
			continue
		}
		digits := func(t token) bool { return t.kind == '0' || t.kind == '#' || t.kind == '?' }
		kept := s.tokens[:0]
		for t, one := range s.tokens {
			if one.kind != ',' {
				kept = append(kept, one)
				continue
			}
			if before := t > 0 && (digits(s.tokens[t-1]) || s.tokens[t-1].kind == ','); !before {
				kept = append(kept, token{'l', ","})
			} else if slices.ContainsFunc(s.tokens[t+1:], digits) && !(t+1 < len(s.tokens) && s.tokens[t+1].kind == '.') {
				s.thousands = true
			} else {
				s.scale++
			}
		}
		s.tokens = kept
	}
	return f
}

// minutes marks each "m" or "mm" that stands after hours or before seconds as minutes.
func minutes(tokens []token) {
	last := byte(0)
	for i := range tokens {
		t := &tokens[i]
		if strings.IndexByte("ymdhsHNS", t.kind) < 0 {
			continue
		}
		if t.kind == 'm' && len(t.text) <= 2 {
			next := byte(0)
			for _, later := range tokens[i+1:] {
				if strings.IndexByte("ymdhsHNS", later.kind) >= 0 {
					next = later.kind
					break
				}
			}
			if last == 'h' || last == 'H' || next == 's' || next == 'S' {
				t.kind = 'n'
			}
		}
		last = t.kind
	}
}
