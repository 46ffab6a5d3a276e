package xlsx

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// text returns a text as a cell with this format displays it.
func (f numberFormat) text(value string) string {
	s := f[len(f)-1]
	if len(f) < 4 && !slices.ContainsFunc(s.tokens, func(t token) bool { return t.kind == '@' }) {
		return value
	}
	var out strings.Builder
	for _, t := range s.tokens {
		switch t.kind {
		case '@':
			out.WriteString(value)
		case 'l':
			out.WriteString(t.text)
		}
	}
	return out.String()
}

// number returns a number as a cell with this format displays it. Dates count days from 1900 or, if
// since1904 is set, from 1904.
func (f numberFormat) number(v float64, since1904 bool) string {
	s, negative := f.section(v)
	if negative {
		v = -v
	}
	switch {
	case f.isGeneral(), slices.ContainsFunc(s.tokens, func(t token) bool { return t.kind == '@' }):
		return general(v)
	case s.date:
		return s.dateTime(v, since1904)
	case s.general:
		var out strings.Builder
		for _, t := range s.tokens {
			if t.kind == 'G' {
				out.WriteString(general(v))
			} else {
				out.WriteString(t.text)
			}
		}
		return out.String()
	}
	text := s.decimal(math.Abs(v))
	if v < 0 && strings.ContainsAny(text, "123456789") {
		text = "-" + text
	}
	return strings.TrimSpace(text)
}

// isGeneral reports whether a cell has no format of its own.
func (f numberFormat) isGeneral() bool {
	return len(f) == 1 && (len(f[0].tokens) == 0 || f[0].general && len(f[0].tokens) == 1)
}

// section returns the section for a number. negative means that the section stands for negative numbers
// alone, so that it shows the number without its sign.
func (f numberFormat) section(v float64) (s formatSection, negative bool) {
	numbers := f[:min(len(f), 3)]
	for _, s := range numbers {
		if s.operator != "" && compare(v, s.operator, s.operand) {
			return s, v < 0 && len(numbers) > 1 && s.operator[0] == '<'
		}
	}
	if numbers[0].operator != "" {
		return numbers[len(numbers)-1], false
	}
	switch {
	case v < 0 && len(numbers) > 1:
		return numbers[1], true
	case v == 0 && len(numbers) > 2:
		return numbers[2], false
	}
	return numbers[0], false
}

func compare(v float64, operator string, with float64) bool {
	switch operator {
	case "<":
		return v < with
	case "<=":
		return v <= with
	case ">":
		return v > with
	case ">=":
		return v >= with
	case "<>":
		return v != with
	}
	return v == with
}

// general returns a number as cells without a format display it, but with all digits of whole numbers,
// because they may be the number of an article or a person.
func general(v float64) string {
	abs := math.Abs(v)
	switch {
	case abs == math.Trunc(abs) && abs < 1e20:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case abs >= 1e11 || abs < 1e-9 && abs > 0:
		return strings.Replace(strconv.FormatFloat(v, 'E', -1, 64), "E+0", "E+", 1)
	}
	digits := max(0, 9-max(0, int(math.Log10(max(abs, 1)))))
	text := strconv.FormatFloat(v, 'f', digits, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// decimal returns a number that is not negative.
func (s formatSection) decimal(v float64) string {
	for range s.percents {
		v *= 100
	}
	for range s.scale {
		v /= 1000
	}
	if i := slices.IndexFunc(s.tokens, func(t token) bool { return t.kind == '/' }); i >= 0 {
		return s.fraction(v, i)
	}
	places, exponent, hasExponent := 0, 0, false
	point := len(s.tokens) // token of the decimal point, or of the exponent, or the end
	for i, t := range s.tokens {
		switch t.kind {
		case 'E':
			hasExponent = true
			point = min(point, i)
		case '.':
			point = min(point, i)
		case '0', '#', '?':
			if i > point && !hasExponent {
				places++
			}
		}
	}
	if hasExponent && v != 0 {
		exponent = int(math.Floor(math.Log10(v)))
		v /= math.Pow(10, float64(exponent))
	}
	whole, decimals, _ := strings.Cut(rounded(v, min(places, 30)), ".")
	if whole == "0" {
		whole = ""
	}
	var out strings.Builder
	out.WriteString(s.whole(whole, point))
	exponentDone := false
	for i := point; i < len(s.tokens); i++ {
		switch t := s.tokens[i]; t.kind {
		case '.':
			if rest := strings.TrimRight(decimals, "0"); rest != "" || s.mandatory(i+1) {
				out.WriteByte('.')
			}
		case 'E':
			exponentDone = true
			sign := ""
			if exponent < 0 {
				sign = "-"
			} else if t.text == "+" {
				sign = "+"
			}
			width := 0
			for _, later := range s.tokens[i+1:] {
				if later.kind == '0' {
					width++
				}
			}
			digits := strconv.Itoa(max(exponent, -exponent))
			out.WriteString("E" + sign + strings.Repeat("0", max(0, min(width, 9)-len(digits))) + digits)
		case '0', '#', '?':
			if exponentDone || decimals == "" {
				continue
			}
			if t.kind == '0' || strings.Trim(decimals, "0") != "" || s.mandatory(i+1) {
				out.WriteByte(decimals[0])
			}
			decimals = decimals[1:]
		case 'l':
			out.WriteString(t.text)
		}
	}
	return out.String()
}

// rounded returns a number that is not negative with this many decimals. Like Excel, it rounds the
// decimal digits, and 5 upwards: strconv would round 2.5 to the even 2.
func rounded(v float64, places int) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	whole, decimals, _ := strings.Cut(text, ".")
	if len(decimals) <= places {
		return whole + "." + decimals + strings.Repeat("0", places-len(decimals))
	}
	digits := []byte(whole + decimals[:places])
	up := decimals[places] >= '5'
	for i := len(digits) - 1; i >= 0 && up; i-- {
		if up = digits[i] == '9'; up {
			digits[i] = '0'
		} else {
			digits[i]++
		}
	}
	if up {
		digits = append([]byte{'1'}, digits...)
	}
	return string(digits[:len(digits)-places]) + "." + string(digits[len(digits)-places:])
}

// mandatory reports whether a digit that is always shown follows token i.
func (s formatSection) mandatory(i int) bool {
	for _, t := range s.tokens[min(i, len(s.tokens)):] {
		if t.kind == 'E' {
			return false
		}
		if t.kind == '0' {
			return true
		}
	}
	return false
}

// whole fills the digits before token point from the right.
func (s formatSection) whole(digits string, point int) string {
	first := slices.IndexFunc(s.tokens[:point], func(t token) bool { return strings.IndexByte("0#?", t.kind) >= 0 })
	var out []string // in reverse order
	count := 0
	digit := func(d string) {
		if s.thousands && count > 0 && count%3 == 0 {
			out = append(out, ",")
		}
		out = append(out, d)
		count++
	}
	for i := point - 1; i >= 0; i-- {
		switch t := s.tokens[i]; t.kind {
		case '0', '#', '?':
			if digits != "" {
				digit(digits[len(digits)-1:])
				digits = digits[:len(digits)-1]
			} else if t.kind == '0' {
				digit("0")
			}
			for i == first && digits != "" {
				digit(digits[len(digits)-1:])
				digits = digits[:len(digits)-1]
			}
		case 'l':
			out = append(out, t.text)
		}
	}
	slices.Reverse(out)
	return strings.Join(out, "")
}

// fraction returns a number as a fraction; slash is the token between its parts.
func (s formatSection) fraction(v float64, slash int) string {
	places, fixed := 0, 0
	for _, t := range s.tokens[slash+1:] {
		if strings.IndexByte("0#?", t.kind) >= 0 {
			places++
		} else if n, err := strconv.Atoi(strings.TrimSpace(t.text)); err == nil && t.kind == 'l' && n > 0 && places == 0 {
			fixed = min(fixed*10+n, 9999)
		}
	}
	whole := math.Floor(v)
	rest := v - whole
	n, d := 0, 1
	if fixed > 0 {
		n, d = int(math.Round(rest*float64(fixed))), fixed
	} else {
		n, d = nearest(rest, int(math.Pow10(min(max(places, 1), 4)))-1)
	}
	if n == d {
		whole, n = whole+1, 0
	}
	groups := 0 // groups of digits before the slash: with two, the first is for the whole number
	for i, t := range s.tokens[:slash] {
		if strings.IndexByte("0#?", t.kind) >= 0 && (i == 0 || strings.IndexByte("0#?", s.tokens[i-1].kind) < 0) {
			groups++
		}
	}
	text := strconv.FormatFloat(whole, 'f', 0, 64)
	switch {
	case groups < 2 && whole < 1e9:
		return strconv.Itoa(int(whole)*d+n) + "/" + strconv.Itoa(d)
	case n == 0:
		return text
	case whole == 0:
		return strconv.Itoa(n) + "/" + strconv.Itoa(d)
	}
	return text + " " + strconv.Itoa(n) + "/" + strconv.Itoa(d)
}

// nearest returns the fraction with a denominator of at most limit that is nearest to v, which is
// between 0 and 1.
func nearest(v float64, limit int) (n, d int) {
	best := math.Inf(1)
	for denominator := 1; denominator <= limit; denominator++ {
		numerator := math.Round(v * float64(denominator))
		if away := math.Abs(v - numerator/float64(denominator)); away < best-1e-12 {
			best, n, d = away, int(numerator), denominator
		}
	}
	return n, d
}
