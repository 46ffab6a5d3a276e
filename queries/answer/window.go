package answer

import (
	"math"
	"regexp"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// lengthCost is the price of length in the choice of the window: a window of twice the
// words must be more probable by lengthCost·ln 2 to contain the right span. With a lower
// price, answers would be longer and right more often.
const lengthCost = 0.15

// narrow returns the run of words of a unit with the highest utility, and its chance to
// contain the answer if the unit does.
func (f *finding) narrow(i int, r reading) (matching.Span, float64) {
	u := &f.units[i]
	whole := u.Whole()
	if len(r.spans) == 0 {
		return whole, 1
	}
	p := &f.passages[u.Passage]
	w := readable(p.Tokens, u, likely(r.spans, r.chances, whole))
	if f.question.Expected == matching.Number {
		w = quantity(p.Tokens, u, w)
	}
	w = wholeDate(p, u, w)
	if f.question.Expected == matching.Person && w != whole {
		w = withoutYear(p.Tokens, w)
	}
	if start, end := p.Bounds(u, w); markdown.IsSyntax(p.Text[start:end]) || !f.question.SatisfiedBy(p, u, w) && f.question.Satisfied(p, u) || f.question.Dangles(&p.Tokens[w.To-1]) {
		w = whole
	}
	mass := 0.0
	for k, s := range r.spans {
		if s.From >= w.From && s.To <= w.To {
			mass += r.chances[k]
		}
	}
	return w, mass
}

// withoutYear leaves out the number before the verb and a name: "Ann Berg" for "2022 is Ann Berg".
func withoutYear(tokens []words.Token, w matching.Span) matching.Span {
	if w.To-w.From > 2 && tokens[w.From].Digit && tokens[w.From+1].Class == prose.Auxiliary && tokens[w.From+2].Named {
		w.From += 2
	}
	return w
}

// quantity widens a window that begins or ends at a number to what belongs to it: "at most 100
// days" for "most 100".
func quantity(tokens []words.Token, u *matching.Unit, w matching.Span) matching.Span {
	for n := 0; n < 2 && w.To < u.To && tokens[w.To].Class == prose.Content && !tokens[w.To].Pause && (n > 0 || words.Number(&tokens[w.To-1])); n++ {
		w.To++
	}
	if w.From > u.From && !tokens[w.From].Pause {
		switch tokens[w.From-1].Lower + " " + tokens[w.From].Lower {
		case "at most", "at least", "up to", "more than", "less than", "fewer than":
			w.From--
		}
	}
	return w
}

// maxDate is the number of words beyond a window that are read as a part of its date.
const maxDate = 4

// wholeDate widens a window that begins or ends at the day of a date to the whole date:
// "November 10, 2009" for "10".
func wholeDate(p *matching.Parsed, u *matching.Unit, w matching.Span) matching.Span {
	part := func(i int) bool {
		t := &p.Tokens[i]
		return words.Calendar[t.Lower] && t.Capital || dayOrYear.MatchString(t.Lower)
	}
	follows := func(i int) bool { // word i goes on with the date of word i-1
		return i > u.From && i < u.To && part(i-1) && part(i) && strings.Trim(p.Text[p.Tokens[i-1].End:p.Tokens[i].Start], " \n,.-–/") == ""
	}
	from, to := w.From, w.To
	for from > w.From-maxDate && follows(from) {
		from--
	}
	for to < w.To+maxDate && follows(to) {
		to++
	}
	named, days := false, 0
	for i := from; i < to; i++ {
		inside := i >= w.From && i < w.To
		edge := i == w.From || i == w.To-1
		named = named || part(i) && words.Calendar[p.Tokens[i].Lower] && (!inside || edge || to-from <= maxDate)
		if edge && part(i) && len(p.Tokens[i].Lower) <= 4 && !words.Calendar[p.Tokens[i].Lower] && !fullYear.MatchString(p.Tokens[i].Lower) {
			days++
		}
	}
	if !named || days == 0 {
		return w
	}
	return matching.Span{From: from, To: to}
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
func readable(tokens []words.Token, u *matching.Unit, w matching.Span) matching.Span {
	const short, reach = 6, 2
	if w.To-w.From > short {
		for i := w.From; i >= max(u.From, w.From-reach); i-- {
			if i == u.From || tokens[i].Pause {
				w.From = i
				break
			}
		}
		for i := w.To; i <= min(u.To, w.To+reach); i++ {
			if i == u.To || tokens[i].Pause {
				w.To = i
				break
			}
		}
	}
	if whole := 4*(w.To-w.From) >= 3*(u.To-u.From); whole || u.Kind == markdown.Item && u.To-u.From <= shortItem {
		return u.Whole()
	}
	if w.To-w.From > 1 && tokens[w.To-1].Pause {
		w.To-- // "12 sites, one" has a word too many
	}
	for w.From > u.From && w.From+1 < w.To && (tokens[w.From].Class == prose.Auxiliary || tokens[w.From].Class == prose.Conjunction) {
		w.From++ // "are located on a campus" reads better without its "are"
	}
	return w
}

// likely returns the window with the highest utility: the sum of the chances of the spans
// in it, less the price of its length.
func likely(spans []matching.Span, chances []float64, whole matching.Span) matching.Span {
	n := whole.To - whole.From
	// sums[i][j] is the sum of the chances of the spans within [i, j). Longer windows
	// are computed from shorter ones.
	sums := make([]float64, (n+1)*(n+1))
	at := func(i, j int) *float64 { return &sums[i*(n+1)+j] }
	for k, s := range spans {
		*at(s.From-whole.From, s.To-whole.From) += chances[k]
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
				best, most = matching.Span{From: whole.From + i, To: whole.From + j}, *h-price
			}
		}
	}
	return best
}
