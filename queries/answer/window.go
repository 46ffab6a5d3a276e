package answer

import (
	"math"
	"regexp"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/words"
)

// lengthCost is the price of length in the choice of the window: a window of twice the
// words must be more probable by lengthCost·ln 2 to contain the right span. With a lower
// price, answers would be longer and right more often.
const lengthCost = 0.15

// narrow returns the run of words of a unit with the highest utility, and its chance to
// contain the answer if the unit does.
func (f *finding) narrow(i int, r reading) (span, float64) {
	u := &f.units[i]
	whole := span{u.from, u.to}
	if len(r.spans) == 0 {
		return whole, 1
	}
	p := &f.passages[u.passage]
	w := readable(p.tokens, u, likely(r.spans, r.chances, whole))
	if f.question.expected == aNumber {
		w = quantity(p.tokens, u, w)
	}
	w = wholeDate(p, u, w)
	if start, end := p.bounds(u, w); markdown.IsSyntax(p.text[start:end]) || !f.question.satisfiedBy(p, u, w) && f.question.satisfied(p, u) {
		w = whole
	}
	mass := 0.0
	for k, s := range r.spans {
		if s.from >= w.from && s.to <= w.to {
			mass += r.chances[k]
		}
	}
	return w, mass
}

// quantity widens a window that begins or ends at a number to what belongs to it: "at most 100
// days" for "most 100".
func quantity(tokens []words.Token, u *unit, w span) span {
	for n := 0; n < 2 && w.to < u.to && tokens[w.to].Class == prose.Content && !tokens[w.to].Pause && (n > 0 || words.Number(&tokens[w.to-1])); n++ {
		w.to++
	}
	if w.from > u.from && !tokens[w.from].Pause {
		switch tokens[w.from-1].Lower + " " + tokens[w.from].Lower {
		case "at most", "at least", "up to", "more than", "less than", "fewer than":
			w.from--
		}
	}
	return w
}

// maxDate is the number of words beyond a window that are read as a part of its date.
const maxDate = 4

// wholeDate widens a window that begins or ends at the day of a date to the whole date:
// "November 10, 2009" for "10".
func wholeDate(p *passage, u *unit, w span) span {
	part := func(i int) bool {
		t := &p.tokens[i]
		return words.Calendar[t.Lower] && t.Capital || dayOrYear.MatchString(t.Lower)
	}
	follows := func(i int) bool { // word i goes on with the date of word i-1
		return i > u.from && i < u.to && part(i-1) && part(i) && strings.Trim(p.text[p.tokens[i-1].End:p.tokens[i].Start], " \n,.-–/") == ""
	}
	from, to := w.from, w.to
	for from > w.from-maxDate && follows(from) {
		from--
	}
	for to < w.to+maxDate && follows(to) {
		to++
	}
	named, days := false, 0
	for i := from; i < to; i++ {
		inside := i >= w.from && i < w.to
		edge := i == w.from || i == w.to-1
		named = named || part(i) && words.Calendar[p.tokens[i].Lower] && (!inside || edge || to-from <= maxDate)
		if edge && part(i) && len(p.tokens[i].Lower) <= 4 && !words.Calendar[p.tokens[i].Lower] && !fullYear.MatchString(p.tokens[i].Lower) {
			days++
		}
	}
	if !named || days == 0 {
		return w
	}
	return span{from, to}
}

// Numbers in dates.
var (
	dayOrYear = regexp.MustCompile(`^(\d{1,2}(st|nd|rd|th)?|\d{4})$`)
	fullYear  = regexp.MustCompile(`^\d{4}$`)
)

// shortItem is the number of words up to which a list item is quoted as a whole.
const shortItem = 12

// readable widens a window of more than a few words to a clause, if there is punctuation
// nearby. A window that then has most of the unit's words becomes the whole unit.
func readable(tokens []words.Token, u *unit, w span) span {
	const short, reach = 6, 5
	if w.to-w.from > short {
		for i := w.from; i >= max(u.from, w.from-reach); i-- {
			if i == u.from || tokens[i].Pause {
				w.from = i
				break
			}
		}
		for i := w.to; i <= min(u.to, w.to+reach); i++ {
			if i == u.to || tokens[i].Pause {
				w.to = i
				break
			}
		}
	}
	if whole := 4*(w.to-w.from) >= 3*(u.to-u.from); whole || u.kind == markdown.Item && u.to-u.from <= shortItem {
		return span{u.from, u.to}
	}
	if w.to-w.from > 1 && tokens[w.to-1].Pause {
		w.to-- // "12 sites, one" has a word too many
	}
	for w.from > u.from && w.from+1 < w.to && (tokens[w.from].Class == prose.Auxiliary || tokens[w.from].Class == prose.Conjunction) {
		w.from++ // "are located on a campus" reads better without its "are"
	}
	return w
}

// likely returns the window with the highest utility: the sum of the chances of the spans
// in it, less the price of its length.
func likely(spans []span, chances []float64, whole span) span {
	n := whole.to - whole.from
	// sums[i][j] is the sum of the chances of the spans within [i, j). Longer windows
	// are computed from shorter ones.
	sums := make([]float64, (n+1)*(n+1))
	at := func(i, j int) *float64 { return &sums[i*(n+1)+j] }
	for k, s := range spans {
		*at(s.from-whole.from, s.to-whole.from) += chances[k]
	}
	best, most := whole, math.Inf(-1)
	for length := 1; length <= n; length++ {
		price := lengthCost * math.Log(float64(length+1))
		for i := 0; i+length <= n; i++ {
			j := i + length
			h := at(i, j)
			if length > 1 {
				*h += *at(i+1, j) + *at(i, j-1)
				if length > 2 {
					*h -= *at(i+1, j-1)
				}
			}
			if *h-price > most {
				best, most = span{whole.from + i, whole.from + j}, *h-price
			}
		}
	}
	return best
}

// bounds returns the byte range of a window. It includes signs, quotes, brackets and the
// full stop that are attached to the first or last word.
func (p *passage) bounds(u *unit, w span) (start, end int) {
	start, end = u.start, u.end
	if w.from > u.from {
		start = p.tokens[w.from].Start
		for start > u.start && !isSpace(p.text[start-1]) {
			start--
		}
	}
	if w.to < u.to {
		end = p.tokens[w.to-1].End
		for end < u.end && !isSpace(p.text[end]) {
			end++
		}
	}
	if w.from > u.from || w.to < u.to {
		start, end = markdown.Trim(p.text, start, end)
	}
	return start, end
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }
