package xlsx

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxDay = 2_958_466 // the day after 31 December 9999

// dateTime returns the date and time of day of a number of days.
func (s formatSection) dateTime(days float64, since1904 bool) string {
	if days < 0 || days >= maxDay {
		return general(days)
	}
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case since1904:
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days < 60: // Excel counts 29 February 1900, which never was
		epoch = epoch.AddDate(0, 0, 1)
	}
	unit := time.Second
	for _, t := range s.tokens {
		if t.kind == 'f' && len(t.text) > 0 {
			unit = time.Millisecond
		}
	}
	whole := math.Floor(days)
	clock := time.Duration((days - whole) * float64(24*time.Hour)).Round(unit)
	at := epoch.AddDate(0, 0, int(whole)).Add(clock)
	elapsed := time.Duration(0)
	if days < 100_000 { // of which a Duration can hold all
		elapsed = time.Duration(whole)*24*time.Hour + clock
	}
	half := slices.ContainsFunc(s.tokens, func(t token) bool { return t.kind == 'A' })
	var out strings.Builder
	for _, t := range s.tokens {
		switch t.kind {
		case 'l':
			out.WriteString(t.text)
		case 'A':
			name := at.Format("PM")
			if t.text == "A/P" {
				name = name[:1]
			}
			out.WriteString(name)
		case 'H':
			out.WriteString(padded(int(elapsed.Hours()), len(t.text)))
		case 'N':
			out.WriteString(padded(int(elapsed.Minutes()), len(t.text)))
		case 'S':
			out.WriteString(padded(int(elapsed.Seconds()), len(t.text)))
		case 'f':
			if n := min(len(t.text), 3); n > 0 {
				out.WriteString("." + padded(at.Nanosecond()/1e6, 3)[:n])
			}
		default:
			out.WriteString(datePart(at, t, half))
		}
	}
	return strings.TrimSpace(out.String())
}

// datePart returns the part of a date or time that t stands for. half means that hours are counted to
// 12.
func datePart(at time.Time, t token, half bool) string {
	n := len(t.text)
	switch t.kind {
	case 'y':
		if n <= 2 {
			return at.Format("06")
		}
		return at.Format("2006")
	case 'm', 'd':
		value, short, long := int(at.Month()), "Jan", "January"
		if t.kind == 'd' {
			value, short, long = at.Day(), "Mon", "Monday"
		}
		switch n {
		case 1, 2:
			return padded(value, n)
		case 3:
			return at.Format(short)
		case 5:
			return at.Format(long)[:1]
		}
		return at.Format(long)
	case 'h':
		hour := at.Hour()
		if half {
			hour = (hour+11)%12 + 1
		}
		return padded(hour, min(n, 2))
	case 'n':
		return padded(at.Minute(), n)
	case 's':
		return padded(at.Second(), min(n, 2))
	}
	return ""
}

// padded returns a number with at least width digits.
func padded(n, width int) string {
	text := strconv.Itoa(n)
	return strings.Repeat("0", max(0, width-len(text))) + text
}
