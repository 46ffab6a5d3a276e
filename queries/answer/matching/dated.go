package matching

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"annals/queries/answer/words"
)

// Date is the date that a document gives itself. It is zero if there is none.
type Date struct {
	Time  time.Time // its first day
	Whole bool      // the day is known, and not only the year
}

// String returns the date as 2024-03-01, or its year.
func (d Date) String() string {
	if d.Whole {
		return d.Time.Format(time.DateOnly)
	}
	return d.Time.Format("2006")
}

// What a line must begin with, and how far from the start of its document, to give the
// document's date.
var (
	dateLine = regexp.MustCompile(`(?im)^[\s>*_|-]*(?:date|dated|version|edition|as of|valid from|effective(?: date| from)?|(?:last )?(?:updated|revised|changed)|published|issued|stand|datum|gültig ab|fassung vom|fecha|data|version du|en vigueur le)[*_]*\s*[:=]?[*_]*\s+["'*_]*([^\n]{4,40})`)
	iso      = regexp.MustCompile(`\b(?:19|20)\d\d-\d\d-\d\d\b`)
	dotted   = regexp.MustCompile(`\b\d{1,2}\.\s?\d{1,2}\.\s?(?:19|20)\d\d\b`)
	english  = regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th)? ([a-z]{3,9})\.?,? ((?:19|20)\d\d)\b|\b([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?, ((?:19|20)\d\d)\b`)
	anyYear  = regexp.MustCompile(`\b(?:19|20)\d\d\b`)
)

// maxDateLine is the number of bytes at the start of a document in which it may give its date.
const maxDateLine = 500

// DateOf returns the date that the document of some passages gives itself: in a line such as
// "Date: 2024-03-01" or "Stand: 1.3.2024" at its start, or as the only date or year of its title.
func DateOf(passages []Passage) Date {
	for _, p := range passages {
		if !p.Front && (!p.Opens || len(p.Path) > 0 && p.Section != p.Document) { // not the document's first section
			continue
		}
		for _, line := range dateLine.FindAllStringSubmatch(Cut(p.Text, maxDateLine), 3) {
			if d := DateIn(line[1]); !d.Time.IsZero() {
				return d
			}
		}
	}
	if len(passages) > 0 {
		if title := Cut(passages[0].Document, MaxTitle); len(anyYear.FindAllString(title, 2)) == 1 {
			return DateIn(title)
		}
	}
	return Date{}
}

// DateIn returns the first date in a text, or its first year.
func DateIn(text string) Date {
	whole := func(layout, s string) (Date, bool) {
		t, err := time.Parse(layout, s)
		return Date{t, true}, err == nil
	}
	if d, ok := whole(time.DateOnly, iso.FindString(text)); ok {
		return d
	}
	if d, ok := whole("2.1.2006", strings.ReplaceAll(dotted.FindString(text), " ", "")); ok {
		return d
	}
	if m := english.FindStringSubmatch(text); m != nil {
		day, month, year := m[1]+m[5], m[2]+m[4], m[3]+m[6]
		if d, ok := whole("2 Jan 2006", day+" "+strings.ToUpper(month[:1])+strings.ToLower(month[1:3])+" "+year); ok {
			return d
		}
	}
	if t, err := time.Parse("2006", anyYear.FindString(text)); err == nil {
		return Date{t, false}
	}
	return Date{}
}

// year reports whether a token is a year.
func year(t *words.Token) bool {
	n, err := strconv.Atoi(t.Lower)
	return err == nil && n >= 1000 && n < 2100
}

// otherYear reports whether a unit is of another year than the question names: it has another
// one, or its document has, and neither the passage nor, of a row, the row has that of the question.
func (q *Question) otherYear(p *Parsed, u *Unit, row bool) bool {
	for i := range q.Tokens {
		t := &q.Tokens[i]
		if t.Term < 0 || !year(t) {
			continue
		}
		const enough = 0.5
		if u.Credits[t.Term] >= enough || u.Context[t.Term] >= enough || !row && p.Credits[t.Term] >= enough {
			continue
		}
		if !p.Source.Date.Time.IsZero() {
			return true
		}
		for k := u.From; k < u.To; k++ {
			if year(&p.Tokens[k]) {
				return true
			}
		}
	}
	return false
}
