// Package support checks whether passages say what a sentence says that somebody else wrote
// about them, such as a language model.
//
// It imports events/prose, queries/answer/matching and the packages beside that, and
// libraries.
package support

import (
	"iter"
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
	asked      matching.Question
	instructed bool // the question is about answers or instructions
	passages   []matching.Passage
}

// New returns a Checker for an answer to a question from passages.
func New(asked string, passages []matching.Passage) *Checker {
	return &Checker{matching.ParseQuestion(matching.Cut(asked, matching.MaxQuestion)), onInstructed.MatchString(strings.ToLower(asked)), passages[:min(len(passages), matching.MaxPassages)]}
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
// markup, says, and whether that is about the question (about.go). The numbers and names of the sentence, its
// addresses on the web, its negation, and the words that limit it or say who speaks, such as "only", "must" and "we", must be in one place of a
// passage, and so must most of its other words, in roles that they may have there (roles.go). If the sentence rests on several
// passages, they may be in places of two (join.go). A question is not supported, nor is a sentence that tells its reader what to
// answer (instructions.go).
func (s *Checker) Supports(sentence string, cited []int) bool {
	if len(sentence) > maxClaim || len(cited) == 0 || len(cited) > maxCited || strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？") {
		return false
	}
	for _, i := range cited {
		if i < 0 || i >= len(s.passages) {
			return false
		}
	}
	if instructs(strings.ToLower(sentence), s.instructed) {
		return false
	}
	reply, sentence := replied(canonical(sentence))
	c := s.claim(sentence)
	if s.contradicts(reply, &c) {
		return false
	}
	all := make([][]place, len(cited))
	for k, i := range cited {
		all[k] = s.places(&c, i)
		if slices.ContainsFunc(all[k], func(p place) bool { return c.holds(&p) && s.about(&c, &p) }) {
			return true
		}
	}
	return s.joined(sentence, &c, cited, all)
}

// Covers reports whether a text has the words of a sentence about it: its numbers with what they
// count, its names and addresses, and most of its other words, wherever they stand. A sentence that denies something is not
// covered, because the words alone do not say what is denied, nor is one that tells its reader what to answer.
func Covers(sentence, text string) bool {
	s := New("", nil)
	sentence, text = canonical(sentence), canonical(text)
	c := s.claim(sentence)
	if len(sentence) > maxClaim || c.Denied || instructs(strings.ToLower(sentence), false) {
		return false
	}
	whole := place{credits: make([]float64, len(c.Terms))}
	for len(text) > 0 {
		part := matching.Cut(text, matching.MaxPassage)
		text = text[max(1, min(len(text), len(part))):]
		parsed := matching.Parse(&c.Question, matching.Passage{Text: part})
		whole.text += parsed.Text + "\n"
		for _, p := range c.placesOf(parsed) {
			whole.units = append(whole.units, p.units[0])
			for t, credit := range p.credits {
				whole.credits[t] = max(whole.credits[t], credit)
			}
		}
	}
	return c.share(whole.credits) >= leastSupport && c.named(&whole) && c.counted(&whole) && c.linked(&whole)
}

// claim is a sentence to check.
type claim struct {
	matching.Question // the sentence, parsed like a question
	numbers           []int
	names             []int
	limits            []int
	weights           []float64 // of the terms
	links             []string
	rings             bool // it has a phone number
}

// limiting are words that change what a sentence says, by group of those that may stand for
// each other.
var limiting = func() map[string]string {
	m := map[string]string{}
	for _, group := range []string{"only solely exclusively", "all every each", "always", obliging + " shall required mandatory obliged need needs requires", "except", "if", "unless", "until",
		"i me my", "we us our", "you your", "least minimum", "most maximum", "more over above exceeding", "less under below fewer", "before", "after", "without"} {
		words := strings.Fields(group)
		for _, w := range words {
			m[w] = words[0]
		}
	}
	return m
}()

const (
	obliging   = "must"
	forbidding = "must not"
	sparing    = "need not" // who is spared does not have to do something, but may
)

// permitting are words that forbid if they are negated.
var permitting = words.Set("must shall may can could allowed permitted")

// limit returns the group of the limiting words that tokens[i] belongs to, or "".
func limit(tokens []words.Token, i int) string {
	word := tokens[i].Lower
	group, may := limiting[word], permitting[word]
	denied := i+1 < len(tokens) && tokens[i+1].Lower == "not" && !tokens[i+1].Pause || words.Denied(tokens, i)
	switch {
	case word == "cannot" || word == "can't" || word == "mustn't" || word == "couldn't" || may && denied:
		return forbidding
	case word == "needn't" || group == obliging && denied:
		return sparing
	}
	return group
}

// limits reports whether a word of some tokens belongs to a group of limiting words.
func limits(tokens []words.Token, group string) bool {
	for i := range tokens {
		if limit(tokens, i) == group {
			return true
		}
	}
	return false
}

// attributing are words with which a sentence names its source. They need not be in it.
var attributing = words.Set(`document documents passage passages text section source sources according state states stated mention mentions mentioned
	describe describes described provide provides provided information question answer`)

// link matches addresses on the web and of mail, and names of hosts and files.
var link = regexp.MustCompile(`[^\s()<>\[\]"“”]*(?:://|@|\pL\.\pL{2}|\d\.\pL{2})[^\s()<>\[\]"“”]*`)

func (s *Checker) claim(sentence string) claim {
	c := claim{Question: matching.ParseQuestion(sentence)}
	for i := range c.Tokens {
		t := &c.Tokens[i]
		if limit(c.Tokens, i) != "" {
			c.limits = append(c.limits, i)
		}
		switch {
		case t.Digit || words.Numerals[t.Lower] && t.Lower != "one" && t.Lower != "once":
			c.numbers = append(c.numbers, i)
			c.rings = c.rings || isPhone(t)
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
		case attributing[t.Word] || limiting[t.Word] != "" || c.rings && ringing[t.Word]:
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
	main    int             // number of units that are not around others: 1, or 2 for two places together
	after   int             // number of units, at the end, that follow the first one
	context []words.Token   // lead-in and titles
	lent    []float64       // best credit of each term in the context
	rows    bool            // the unit is a row, in which a number stands far from what it counts
	credits []float64       // best credit of each term
	text    string          // of the passage
}

// inOrder returns the units in the order of the passage.
func (p *place) inOrder() [][]words.Token {
	end := len(p.units) - p.after
	return slices.Concat(p.units[p.main:end], p.units[:p.main], p.units[end:])
}

// has reports whether some tokens have a term of the claim.
func has(tokens []words.Token, term int) bool {
	return slices.ContainsFunc(tokens, func(t words.Token) bool { return t.Term == term && t.Credit >= 0.5 })
}

// places returns the places of a passage, by its index.
func (s *Checker) places(c *claim, passage int) []place {
	p := s.passages[passage]
	p.Text = canonical(matching.TableHead(s.passages, passage) + p.Text)
	return c.placesOf(matching.Parse(&c.Question, p))
}

func (c *claim) placesOf(p matching.Parsed) []place {
	var titles []words.Token
	for _, title := range append([]string{p.Source.Section, p.Source.Document}, p.Source.Path[:min(len(p.Source.Path), 10)]...) {
		titles = words.Tokenize(matching.Cut(title, matching.MaxTitle), 0, len(matching.Cut(title, matching.MaxTitle)), titles)
	}
	units := matching.AppendUnits(nil, 0, &p)
	places := make([]place, len(units))
	for i := range units {
		u := &units[i]
		at := place{units: [][]words.Token{p.Tokens[u.From:u.To]}, main: 1, lent: u.Context, rows: u.Kind == markdown.Row, text: p.Text}
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
			at.after += max(0, near-i)
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
	return c.checkable() && c.share(p.credits) >= leastSupport && c.limited(p) && c.named(p) && c.counted(p) && c.linked(p) && c.denies(p) && c.fits(p)
}

// limited reports whether the place has the limiting words of the claim, each in a unit with the word after it in the claim,
// and for no word of the claim its opposite instead.
func (c *claim) limited(p *place) bool {
	said := map[string]bool{}
	for part := range p.parts() {
		for i := range part {
			said[part[i].Lower] = true
		}
	}
	for _, i := range c.limits {
		group, found := limit(c.Tokens, i), false
		limited := c.nearest(p, i, 1)
		if limited < 0 {
			limited = c.nearest(p, i, -1)
		}
		for part := range p.parts() {
			found = found || (limited < 0 || has(part, limited)) && limits(part, group)
		}
		if !found {
			return false
		}
	}
	for i := range c.Tokens {
		word := c.Tokens[i].Lower
		if o, ok := words.Opposites[word]; ok && said[o] && !said[word] {
			return false
		}
	}
	return true
}

// parts iterates over the context and the units of a place.
func (p *place) parts() iter.Seq[[]words.Token] {
	return func(yield func([]words.Token) bool) {
		_ = yield(p.context) && !slices.ContainsFunc(p.units, func(unit []words.Token) bool { return !yield(unit) })
	}
}

// contains reports whether the place has a name or number.
func (p *place) contains(name *words.Token) bool {
	for part := range p.parts() {
		if slices.ContainsFunc(part, func(t words.Token) bool { return alike(&t, name) }) {
			return true
		}
	}
	return false
}

// named reports whether the place has the names of the claim.
func (c *claim) named(p *place) bool {
	return !slices.ContainsFunc(c.names, func(i int) bool { return !p.contains(&c.Tokens[i]) })
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

// counted reports whether the place has the numbers of the claim, each with the noun after it, with a word that is
// beside it in the claim, and with none of several names that the claim does not name.
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
			if at == 0 || p.rows || (noun == nil || near(unit, i, noun)) && c.owns(unit, i) && (c.beside(p, n, unit) || isPhone(number)) {
				return true
			}
		}
	}
	return false
}

// beside reports whether a unit has one of those two words of the claim that are nearest to its token n, among the words that the
// place has.
func (c *claim) beside(p *place, n int, unit []words.Token) bool {
	left, right := c.nearest(p, n, -1), c.nearest(p, n, 1)
	return left < 0 && right < 0 || left >= 0 && has(unit, left) || right >= 0 && has(unit, right)
}

// nearest returns the first term after token n of the claim, in steps of 1 or -1, that the place has and that is no
// number, or -1.
func (c *claim) nearest(p *place, n, step int) int {
	for i := n + step; i >= 0 && i < len(c.Tokens); i += step {
		if t := c.Tokens[i].Term; t >= 0 && p.credits[t] >= 0.5 && !c.Tokens[i].Digit {
			return t
		}
	}
	return -1
}

// near reports whether a noun is within three words of the number unit[i], and not right behind another number, which counts it.
func near(unit []words.Token, i int, noun *words.Token) bool {
	for k := max(0, i-3); k <= min(len(unit)-1, i+3); k++ {
		if k != i && alike(&unit[k], noun) && (k == 0 || k-1 == i || unit[k].Pause || !words.Number(&unit[k-1])) {
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
		if k == i || !t.Capital || k == 0 && !c.isNamed(t) || t.Class != prose.Content || t.Digit || k > i && !c.isNamed(t) && acts(unit, k) {
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

// acts reports whether a name, unit[i], is of somebody by whom something is done: "by Jens Falk". A number before it is rather of
// what is done.
func acts(unit []words.Token, i int) bool {
	for i > 0 && !unit[i].Pause && unit[i-1].Capital {
		i--
	}
	return i > 0 && !unit[i].Pause && isBy(unit[i-1])
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
