// Package support checks whether passages say what a sentence says that somebody else wrote
// about them, such as a language model.
//
// It imports events/prose, queries/answer/matching and the packages beside that, and
// libraries.
package support

import (
	"regexp"
	"slices"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// Checker checks sentences of an answer to a question. It is
// strict rather than fair: a sentence that is true but says it in quite other words is not
// supported.
type Checker struct {
	asked    matching.Question
	passages []matching.Passage
}

// New returns a Checker for an answer to a question from passages.
func New(asked string, passages []matching.Passage) *Checker {
	return &Checker{matching.ParseQuestion(matching.Cut(asked, matching.MaxQuestion)), passages[:min(len(passages), matching.MaxPassages)]}
}

// maxClaim is the maximum number of bytes of a sentence to check. A longer one is not
// supported.
const maxClaim = 600

// maxCited is the maximum number of passages that one sentence may rest on.
const maxCited = 3

// leastSupport is the share of the words of a sentence, weighted by their rarity, that the
// passages must have. Words of the question count half if they are missing.
const leastSupport = 0.75

// Supports reports whether the passages with the given indexes say what a sentence, without
// markup, says. The numbers and names of the sentence, its addresses on the web, its
// negation, and the words that limit it or say who speaks, such as "only", "must" and "we", must be in one place of a
// passage, and so must most of its other words. If the sentence rests on several passages, they may be in one
// place of each of two.
func (s *Checker) Supports(sentence string, cited []int) bool {
	if len(sentence) > maxClaim || len(cited) == 0 || len(cited) > maxCited {
		return false
	}
	c := s.claim(sentence)
	if len(c.Terms) == 0 {
		return false
	}
	var best []place // of each cited passage
	for _, i := range cited {
		if i < 0 || i >= len(s.passages) {
			return false
		}
		p := s.passages[i]
		if !s.concerns(p) {
			return false
		}
		p.Text = matching.TableHead(s.passages, i) + p.Text
		places := c.places(matching.Parse(&c.Question, p))
		top := -1
		for at := range places {
			if c.holds(&places[at]) {
				return true
			}
			if top < 0 || c.share(places[at].credits) > c.share(places[top].credits) {
				top = at
			}
		}
		if top >= 0 {
			best = append(best, places[top])
		}
	}
	for i := range best {
		for j := range best[:i] {
			if both := best[i].with(&best[j]); c.holds(&both) {
				return true
			}
		}
	}
	return false
}

// Covers reports whether a text has the words of a sentence about it: its numbers with what they
// count, its names and addresses, and most of its other words, wherever they stand. A sentence that denies something is not
// covered, because the words alone do not say what is denied.
func Covers(sentence, text string) bool {
	s := New("", nil)
	c := s.claim(sentence)
	if len(sentence) > maxClaim || len(c.Terms) == 0 || c.Denied {
		return false
	}
	whole := place{credits: make([]float64, len(c.Terms))}
	for len(text) > 0 {
		part := matching.Cut(text, matching.MaxPassage)
		text = text[max(1, min(len(text), len(part))):]
		for _, p := range c.places(matching.Parse(&c.Question, matching.Passage{Text: part})) {
			whole = whole.with(&p)
		}
	}
	return c.share(whole.credits) >= leastSupport && c.named(&whole) && c.counted(&whole) && c.linked(&whole)
}

// concerns reports whether a passage has a word of the question, or its titles have one.
func (s *Checker) concerns(p matching.Passage) bool {
	return s.asked.Bare || slices.ContainsFunc(matching.Parse(&s.asked, p).Credits, func(c float64) bool { return c >= 0.5 })
}

// claim is a sentence to check.
type claim struct {
	matching.Question // the sentence, parsed like a question
	numbers           []int
	names             []int
	limits            []string
	weights           []float64 // of the terms
	links             []string
}

// limiting are words that change what a sentence says, by group of those that may stand for
// each other.
var limiting = func() map[string]string {
	m := map[string]string{}
	for _, group := range []string{"only solely exclusively", "all every each", "always", "must shall required mandatory obliged need needs requires", "except", "unless", "until",
		"i me my", "we us our", "you your", "least minimum", "most maximum", "more over above exceeding", "less under below fewer", "before", "after", "without"} {
		words := strings.Fields(group)
		for _, w := range words {
			m[w] = words[0]
		}
	}
	return m
}()

// attributing are words with which a sentence names its source. They need not be in it.
var attributing = words.Set(`document documents passage passages text section source sources according state states stated mention mentions mentioned
	describe describes described provide provides provided information question answer`)

// link matches addresses on the web and of mail, and names of hosts and files.
var link = regexp.MustCompile(`[^\s()<>\[\]"“”]*(?:://|@|\pL\.\pL{2}|\d\.\pL{2})[^\s()<>\[\]"“”]*`)

func (s *Checker) claim(sentence string) claim {
	c := claim{Question: matching.ParseQuestion(sentence)}
	for i := range c.Tokens {
		t := &c.Tokens[i]
		if group, ok := limiting[t.Lower]; ok {
			c.limits = append(c.limits, group)
		}
		switch {
		case t.Digit || words.Numerals[t.Lower] && t.Lower != "one" && t.Lower != "once":
			c.numbers = append(c.numbers, i)
		case t.Capital && i > 0 && t.Class == prose.Content:
			c.names = append(c.names, i)
		}
	}
	for i, t := range c.Terms {
		for _, o := range words.Synonyms[t.Stem] { // those of the word itself are there already: "costs" has none, "cost" has
			if v := words.Stem(o); words.Synonyms[t.Word] == nil && v != t.Stem {
				c.AddSynonym(i, v)
			}
		}
		w := matching.Rarity(&words.Token{Lower: t.Word, Digit: t.Number, Capital: t.Name}, 1)
		switch {
		case attributing[t.Word] || limiting[t.Word] != "":
			w = 0
		case slices.ContainsFunc(s.asked.Terms, func(a matching.Term) bool { return a.Stem == t.Stem }):
			w /= 2
		}
		c.weights = append(c.weights, w)
	}
	c.links = links(sentence)
	return c
}

// place is a unit of a passage with what belongs to it: its lead-in and titles, and of a
// sentence the sentences around it.
type place struct {
	units   [][]words.Token // the unit, and those around it; numbers and names are related within each
	context []words.Token   // lead-in and titles
	rows    bool            // the unit is a row, in which a number stands far from what it counts
	credits []float64       // best credit of each term
	text    string          // of the passage
}

// with returns a place that has both.
func (p *place) with(o *place) place {
	both := place{units: slices.Concat(p.units, o.units), context: slices.Concat(p.context, o.context), rows: p.rows || o.rows,
		credits: slices.Clone(p.credits), text: p.text + "\n" + o.text}
	for t, c := range o.credits {
		both.credits[t] = max(both.credits[t], c)
	}
	return both
}

// places returns the places of a passage.
func (c *claim) places(p matching.Parsed) []place {
	var titles []words.Token
	for _, title := range append([]string{p.Source.Section, p.Source.Document}, p.Source.Path[:min(len(p.Source.Path), 10)]...) {
		titles = words.Tokenize(matching.Cut(title, matching.MaxTitle), 0, len(matching.Cut(title, matching.MaxTitle)), titles)
	}
	units := matching.AppendUnits(nil, 0, &p)
	places := make([]place, len(units))
	for i := range units {
		u := &units[i]
		at := place{units: [][]words.Token{p.Tokens[u.From:u.To]}, rows: u.Kind == markdown.Row, text: p.Text}
		at.context = slices.Concat(p.Tokens[u.Leads[0]:u.Leads[1]], titles)
		at.credits = slices.Clone(u.Credits)
		for t := range at.credits {
			at.credits[t] = max(at.credits[t], u.Context[t])
		}
		for _, near := range [2]int{i - 1, i + 1} {
			if u.Kind == markdown.Row || near < 0 || near >= len(units) || units[near].Kind == markdown.Row {
				continue
			}
			at.units = append(at.units, p.Tokens[units[near].From:units[near].To])
			for t, credit := range units[near].Credits {
				at.credits[t] = max(at.credits[t], credit)
			}
		}
		places[i] = at
	}
	return places
}

// share returns the share of the claim's weight that credits cover.
func (c *claim) share(credits []float64) float64 {
	found, total := 0.0, 0.0
	for t, w := range c.weights {
		total += w
		if credits[t] >= 0.5 {
			found += w
		}
	}
	if total == 0 {
		return 0
	}
	return found / total
}

// holds reports whether a place says what the claim says.
func (c *claim) holds(p *place) bool {
	return c.share(p.credits) >= leastSupport && c.limited(p) && c.named(p) && c.counted(p) && c.linked(p) && c.denies(p)
}

// limited reports whether the place has the limiting words of the claim, and for no word of the
// claim its opposite instead.
func (c *claim) limited(p *place) bool {
	has, groups := map[string]bool{}, map[string]bool{}
	for t := range p.all() {
		has[t.Lower] = true
		groups[limiting[t.Lower]] = true
	}
	for _, group := range c.limits {
		if !groups[group] {
			return false
		}
	}
	for i := range c.Tokens {
		word := c.Tokens[i].Lower
		if o, ok := words.Opposites[word]; ok && has[o] && !has[word] {
			return false
		}
	}
	return true
}

// all iterates over the tokens of a place.
func (p *place) all() func(yield func(*words.Token) bool) {
	return func(yield func(*words.Token) bool) {
		for _, part := range append([][]words.Token{p.context}, p.units...) {
			for i := range part {
				if !yield(&part[i]) {
					return
				}
			}
		}
	}
}

// named reports whether the place has the names of the claim.
func (c *claim) named(p *place) bool {
	for _, i := range c.names {
		found := false
		for t := range p.all() {
			if found = alike(t, &c.Tokens[i]); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// alike reports whether two tokens are the same name or number.
func alike(a, b *words.Token) bool {
	if a.Lower == b.Lower {
		return true
	}
	if a.Digit || b.Digit {
		return strings.ReplaceAll(a.Lower, ",", "") == strings.ReplaceAll(b.Lower, ",", "") || slices.Contains(words.Synonyms[a.Lower], b.Lower) && words.Number(a) && words.Number(b)
	}
	return !words.Number(a) && !words.Number(b) && a.Class == prose.Content && words.Similarity(words.Stem(a.Lower), words.Stem(b.Lower)) >= 0.6
}

// counted reports whether the place has the numbers of the claim, each with the noun after it, and with
// none of several names that the claim does not name.
func (c *claim) counted(p *place) bool {
	for _, n := range c.numbers {
		if !c.counts(p, n) {
			return false
		}
	}
	return true
}

func (c *claim) counts(p *place, n int) bool {
	number := &c.Tokens[n]
	var noun *words.Token
	if n+1 < len(c.Tokens) && !c.Tokens[n+1].Pause && c.Tokens[n+1].Class == prose.Content && !words.Number(&c.Tokens[n+1]) {
		noun = &c.Tokens[n+1]
	}
	for at, unit := range append([][]words.Token{p.context}, p.units...) {
		for i := range unit {
			if !alike(&unit[i], number) {
				continue
			}
			if at == 0 || p.rows || (noun == nil || near(unit, i, noun)) && c.owns(unit, i) {
				return true
			}
		}
	}
	return false
}

// near reports whether a noun is within three words of unit[i].
func near(unit []words.Token, i int, noun *words.Token) bool {
	for k := max(0, i-3); k <= min(len(unit)-1, i+3); k++ {
		if k != i && alike(&unit[k], noun) {
			return true
		}
	}
	return false
}

// owns reports whether the names nearest to unit[i], on the left and on the right, are such that the number there may
// belong to a name of the claim: if there are names at all, one of the nearest is in the claim.
func (c *claim) owns(unit []words.Token, i int) bool {
	if len(c.names) == 0 {
		return true
	}
	nearest, found := len(unit)+1, true
	for k := range unit {
		t := &unit[k]
		if k == i || !t.Capital || k == 0 && !c.isNamed(t) || t.Class != prose.Content || t.Digit {
			continue
		}
		switch d := max(k-i, i-k); {
		case d < nearest:
			nearest, found = d, c.isNamed(t)
		case d == nearest:
			found = found || c.isNamed(t)
		}
	}
	return found
}

// isNamed reports whether a token is a name of the claim.
func (c *claim) isNamed(t *words.Token) bool {
	return slices.ContainsFunc(c.Tokens, func(o words.Token) bool { return o.Capital && o.Class == prose.Content && alike(t, &o) })
}

// linked reports whether the place's passage has the addresses of the claim, character by
// character.
func (c *claim) linked(p *place) bool {
	if len(c.links) == 0 {
		return true
	}
	known := links(p.text)
	return !slices.ContainsFunc(c.links, func(l string) bool { return !slices.Contains(known, l) })
}

// links returns the addresses in a text.
func links(text string) []string {
	all := link.FindAllString(text, -1)
	for i, l := range all {
		all[i] = strings.TrimRight(l, ".,;:!?'’”)")
	}
	return all
}

// denies reports whether the place is negated if the claim is, and only then. Of each unit,
// only the words from the first to the last one that the claim has count, and a few around
// them that no punctuation separates: "Entry is free, but parking is not".
func (c *claim) denies(p *place) bool {
	const around = 3
	known := make([]bool, len(c.Terms))
	denied := false
	for _, unit := range p.units {
		first, last := -1, -1
		for i := range unit {
			if t := &unit[i]; t.Term >= 0 && t.Credit >= 0.5 && !known[t.Term] {
				if first < 0 {
					first = i
				}
				last = i
			}
		}
		if first < 0 {
			continue
		}
		for i := first; i <= last; i++ {
			if t := unit[i].Term; t >= 0 {
				known[t] = true
			}
		}
		for n := 0; n < around && first > 0 && !unit[first].Pause; n++ {
			first--
		}
		for n := 0; n < around && last+1 < len(unit) && !unit[last+1].Pause; n++ {
			last++
		}
		denied = denied || slices.ContainsFunc(unit[first:last+1], func(t words.Token) bool { return words.Negative(t.Lower) })
	}
	return denied == c.Denied && c.deniesWhat(p)
}

// deniesWhat reports whether the place negates each word that the claim negates.
func (c *claim) deniesWhat(p *place) bool {
	known := map[int]bool{}
	for _, unit := range p.units {
		for _, i := range negated(unit) {
			if t := &unit[i]; t.Term >= 0 && t.Credit >= 0.5 {
				known[t.Term] = true
			}
		}
	}
	return !slices.ContainsFunc(negated(c.Tokens), func(i int) bool { return !known[c.Tokens[i].Term] })
}

// negated returns the indexes of the words that are negated: the first content word after
// each negation, or the last one before it if punctuation or the end comes first.
func negated(tokens []words.Token) (denied []int) {
	for i := range tokens {
		if !words.Negative(tokens[i].Lower) {
			continue
		}
		at := i + 1
		for at < len(tokens) && !tokens[at].Pause && tokens[at].Class != prose.Content {
			at++
		}
		if at == len(tokens) || tokens[at].Pause {
			for at = i - 1; at >= 0 && tokens[at].Class != prose.Content; {
				at--
			}
		}
		if at >= 0 {
			denied = append(denied, at)
		}
	}
	return denied
}

// Plain returns a text in Markdown without inline markup.
func Plain(text string) string { return markdown.Plain(text) }
