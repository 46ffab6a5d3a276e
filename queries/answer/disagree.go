package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// Limits of what counts as a disagreement.
const (
	maxVersions  = 3  // statements in an answer
	maxStatement = 80 // words of a statement
	maxValue     = 8  // words in which two statements differ
	ownSubject   = 4  // content words that two statements share if their documents have different titles
)

// statement is a unit as it would be quoted, for comparing it with others.
type statement struct {
	unit   int
	text   string
	tokens []words.Token // without determiners
}

// disagreements returns the units of other documents that make the same statement as the
// best unit with another value, such as "The notice period is 6 weeks" and "The notice
// period is 4 weeks"; the best unit is among them, and the newest document is first. It returns none if no other document disagrees.
//
// Documents about different things have similar sentences as well. So the statements must be
// equal but for one run of words with a number or name, of which the question has no word,
// and their documents must have the same title but for its numbers, or else the statements
// must name their subject themselves.
func (f *finding) disagreements() []statement {
	best := f.statement(f.best)
	if len(best.tokens) == 0 || len(best.tokens) > maxStatement {
		return nil
	}
	all := []statement{best}
	seen := map[string]bool{f.source(f.best).ID: true}
	for i := range f.units {
		id := f.source(i).ID
		if seen[id] || f.units[i].Kind != f.units[f.best].Kind || len(all) == maxVersions {
			continue
		}
		if f.question.Other(f.units, i, &f.passages[f.units[i].Passage]) { // of another year, for example
			continue
		}
		if s := f.statement(i); f.disagree(best, s) {
			all = append(all, s)
			seen[id] = true
		}
	}
	if len(all) == 1 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b statement) int {
		return f.time(b).Compare(f.time(a))
	})
	return all
}

// datesOf returns the dates that documents give themselves, by the document's id.
func datesOf(passages []Passage) map[string]matching.Date {
	parts := map[string][]Passage{}
	for _, p := range passages {
		parts[p.ID] = append(parts[p.ID], p)
	}
	dates := map[string]matching.Date{}
	for id, some := range parts {
		if id != "" {
			dates[id] = matching.DateOf(some)
		}
	}
	return dates
}

// time returns the date that the document of a statement gives itself, or else that of its last
// change.
func (f *finding) time(s statement) time.Time {
	return f.dated(f.source(s.unit))
}

// dated returns the date of a passage's document.
func (f *finding) dated(p *Passage) time.Time {
	if d := f.date(p); !d.Time.IsZero() {
		return d.Time
	}
	return p.Changed
}

// date returns the date that the document of a passage gives itself, also if it is only that
// of its title page.
func (f *finding) date(p *Passage) matching.Date {
	if !p.Date.Time.IsZero() {
		return p.Date
	}
	return matching.DateIn(f.imprints[p.ID].Date)
}

// source returns the passage of unit i.
func (f *finding) source(i int) *Passage { return &f.passages[f.units[i].Passage].Source }

func (f *finding) statement(i int) statement {
	u := &f.units[i]
	if u.Kind == markdown.Code || u.To-u.From > maxStatement {
		return statement{unit: i}
	}
	s := statement{unit: i, text: f.wording(i, u.Whole())}
	for _, t := range words.Tokenize(s.text, 0, len(s.text), nil) {
		if t.Class != prose.Determiner {
			f.question.Match(&t)
			s.tokens = append(s.tokens, t)
		}
	}
	return s
}

// disagree reports whether two statements disagree.
func (f *finding) disagree(a, b statement) bool {
	x, y := a.tokens, b.tokens
	if len(y) == 0 || len(y) > maxStatement {
		return false
	}
	from := 0
	for from < min(len(x), len(y)) && x[from].Lower == y[from].Lower {
		from++
	}
	tail := 0
	for tail < min(len(x), len(y))-from && x[len(x)-1-tail].Lower == y[len(y)-1-tail].Lower {
		tail++
	}
	shared := 0
	named := false
	for k := range x {
		if k >= from && k < len(x)-tail {
			continue
		}
		if x[k].Class == prose.Content {
			shared++
			named = named || x[k].Capital && k > 0
		}
	}
	if !value(x[from:len(x)-tail]) || !value(y[from:len(y)-tail]) || shared == 0 {
		return false
	}
	return sameTitle(f.source(a.unit), f.source(b.unit)) || shared >= ownSubject || named && shared > 1
}

// value reports whether the words may be a value in which two statements differ: numbers,
// units, dates and names, none of which is in the question.
func value(tokens []words.Token) bool {
	if len(tokens) == 0 || len(tokens) > maxValue {
		return false
	}
	some := false
	for _, t := range tokens {
		here := words.Number(&t) || t.Capital || words.Calendar[t.Lower] || words.Measures[t.Lower]
		if t.Term >= 0 || words.Negative(t.Lower) || t.Class == prose.Content && !here {
			return false
		}
		some = some || here
	}
	return some
}

// sameTitle reports whether the titles of two passages' documents and sections are equal but
// for numbers: "Handbook 2023" and "Handbook 2024".
func sameTitle(a, b *Passage) bool {
	return undated(a.Document) == undated(b.Document) && undated(a.Section) == undated(b.Section)
}

// undated returns the words of a title without its numbers.
func undated(title string) string {
	title = matching.Cut(title, matching.MaxTitle)
	var rest []string
	for _, t := range words.Tokenize(title, 0, len(title), nil) {
		if !t.Digit && !words.Calendar[t.Lower] {
			rest = append(rest, t.Lower)
		}
	}
	return strings.Join(rest, " ")
}

// versions returns the answer that quotes statements that disagree, each with its document
// and its date: that which it gives itself, or else the day on which it was changed.
func (f *finding) versions() string {
	lines := make([]string, len(f.disagreeing))
	for i, s := range f.disagreeing {
		lines[i] = fmt.Sprintf("%s (%s)", s.text, f.titleAndDate(f.source(s.unit)))
	}
	return strings.Join(lines, "\n")
}

// titleAndDate names the document of a passage, with its date.
func (f *finding) titleAndDate(p *Passage) string {
	from := "untitled document"
	if title := strings.Join(strings.Fields(matching.Cut(p.Document, matching.MaxTitle)), " "); title != "" {
		from = "“" + title + "”"
	}
	switch d := f.date(p); {
	case !d.Time.IsZero():
		from += ", dated " + d.String()
	case !p.Changed.IsZero():
		from += ", changed on " + p.Changed.UTC().Format(time.DateOnly)
	}
	return from
}
