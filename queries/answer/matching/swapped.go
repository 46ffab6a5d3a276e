package matching

import (
	"slices"
	"strings"
	"unicode"

	"annals/events/prose"
	"annals/queries/answer/words"
)

// swapped reports whether a unit has another thing in the place of one that is asked for, of
// which its passage and its titles say nothing.
func (q *Question) swapped(units []Unit, i int, p *Parsed) bool {
	u := &units[i]
	tokens := p.Tokens[u.From:u.To]
	return q.otherModifier(p, tokens) || q.otherLine(units, i, p) || q.otherRate(tokens) || q.antonym(u, tokens) || q.otherNumber(p, tokens) || q.otherRun(p) || q.lacksNoun(p)
}

// otherModifier reports whether the last noun of a phrase of the question has another word before it wherever a unit
// has it: "employment taxes" for "sales taxes". Adjectives are left out, because they are often told in other words.
func (q *Question) otherModifier(p *Parsed, tokens []words.Token) bool {
	const enough = 0.5
	for k := 2; k < len(q.Tokens); k++ {
		asked, noun := &q.Tokens[k-1], &q.Tokens[k]
		if asked.Term < 0 || noun.Term < 0 || noun.Pause || p.Credits[asked.Term] >= enough || !words.Plainly(asked) || q.Tokens[k-2].Class == prose.Content || k+1 < len(q.Tokens) && q.Tokens[k+1].Class == prose.Content {
			continue
		}
		found, other := false, true
		for n := range tokens {
			if t := &tokens[n]; t.Term == noun.Term && t.Credit == 1 {
				found = true
				other = other && n > 0 && !t.Pause && words.Plainly(&tokens[n-1]) && tokens[n-1].Term < 0
			}
		}
		if found && other {
			return true
		}
	}
	return false
}

// lines are kinds of numbers to call that are not the usual one.
var lines = words.Set("fax mobile cell cellphone pager emergency hotline")

// otherLine reports whether a fax number or the like is asked for, and a unit has none.
func (q *Question) otherLine(units []Unit, i int, p *Parsed) bool {
	if q.Expected != Phone {
		return false
	}
	return slices.ContainsFunc(q.Tokens, func(t words.Token) bool { return lines[t.Lower] && t.Term >= 0 && !q.has(units, i, t.Term, p) })
}

// Words for a rate: "a month", "pro Monat", "par mois".
var (
	each  = words.Set("a an per each every pro im je par")
	rates = func() map[string]string {
		m := map[string]string{}
		for _, same := range []string{"year yearly annually annum jahr jahrlich an annee", "month monthly monat monatlich mois", "week weekly woche wochentlich semaine", "day daily tag taglich jour", "hour hourly stunde stundlich heure", "night nightly nacht nuit", "person kopf personne"} {
			of := strings.Fields(same)
			for _, w := range of {
				m[w] = of[0]
			}
		}
		return m
	}()
)

// ratesOf returns the rates among some words: "month" for "a month" and "monthly".
func ratesOf(tokens []words.Token) map[string]bool {
	m := map[string]bool{}
	for i := range tokens {
		w := tokens[i].Lower
		before := ""
		if i > 0 {
			before = tokens[i-1].Lower
		}
		alone := strings.HasSuffix(w, "ly") || strings.HasSuffix(w, "lich")
		if rates[w] != "" && (alone || each[before]) && (w != "an" || before == "par") {
			m[rates[w]] = true
		}
	}
	return m
}

// otherRate reports whether the question asks what something is a year, and a unit says what it is a month.
func (q *Question) otherRate(tokens []words.Token) bool {
	asked, told := ratesOf(q.Tokens), ratesOf(tokens)
	for r := range asked {
		if told[r] {
			return false
		}
	}
	return len(asked) > 0 && len(told) > 0
}

// antonyms are verbs of which one is no answer to the question for the other.
var antonyms = func() map[string][]string {
	m := map[string][]string{}
	for _, pair := range []string{
		"open opens opened|close closes closed", "begin begins began begun start starts started|end ends ended finish finishes finished", "arrive arrives arrived|leave leaves left depart departs departed", "buy buys bought|sell sells sold",
		"minimum|maximum", "pass passes passed enact enacts enacted adopt adopts adopted|repeal repeals repealed revoke revokes revoked", "enable enables enabled|disable disables disabled", "upload uploads uploaded|download downloads downloaded", "import imports imported|export exports exported", "install installs installed|uninstall uninstalls uninstalled remove removes removed",
		"lock locks locked|unlock unlocks unlocked", "borrow borrows borrowed|lend lends lent return returns returned", "admit admits admitted|discharge discharges discharged", "hire hires hired|dismiss dismisses dismissed",
		"offnet offnen geoffnet|schließt schließen schliesst schliessen geschlossen", "beginnt beginnen|endet enden", "ouvre ouvrent ouverte|ferme ferment fermee", "commence commencent|finit finissent termine terminent",
	} {
		a, b, _ := strings.Cut(pair, "|")
		for _, w := range strings.Fields(a) {
			m[w] = append(m[w], strings.Fields(b)...)
		}
		for _, w := range strings.Fields(b) {
			m[w] = append(m[w], strings.Fields(a)...)
		}
	}
	return m
}()

// antonym reports whether a unit has the opposite of a verb of the question, and not the verb.
func (q *Question) antonym(u *Unit, tokens []words.Token) bool {
	const enough = 0.5
	for _, t := range q.Tokens {
		if t.Term < 0 || u.Credits[t.Term] >= enough || u.Context[t.Term] >= enough {
			continue
		}
		if opposite := antonyms[t.Lower]; opposite != nil && slices.ContainsFunc(tokens, func(o words.Token) bool { return slices.Contains(opposite, o.Lower) }) {
			return true
		}
	}
	return false
}

// otherNumber reports whether a unit has another number between the same words as the question, whose number
// the passage has not: "under six years" for "under ten years".
func (q *Question) otherNumber(p *Parsed, tokens []words.Token) bool {
	const enough = 0.5
	number := func(t *words.Token) bool { return words.Number(t) || foreignNumerals[t.Lower] }
	for k := 1; k < len(q.Tokens); k++ {
		t := &q.Tokens[k]
		if !number(t) || t.Term < 0 || p.Credits[t.Term] >= enough {
			continue
		}
		before := &q.Tokens[k-1]
		for n := 1; n < len(tokens); n++ {
			if number(&tokens[n]) && tokens[n].Lower != t.Lower && tokens[n-1].Lower == before.Lower && (k+1 == len(q.Tokens) || n+1 < len(tokens) && same(&q.Tokens[k+1], &tokens[n+1])) {
				return true
			}
		}
	}
	return false
}

// otherRun reports whether a question in Chinese or Japanese has a word of several characters of which no two
// stand together in a passage or its titles, beside others that do: 大阪 in a text about 京都.
func (q *Question) otherRun(p *Parsed) bool {
	text := p.Text + "\n" + p.Source.Document + "\n" + p.Source.Section + "\n" + strings.Join(p.Source.Path, "\n")
	found, missing := false, false
	for k := 0; k < len(q.Tokens); {
		from := k
		for k < len(q.Tokens) && script(&q.Tokens[k]) != nil && (k == from || !q.Tokens[k].Pause && q.Tokens[k].Joined && script(&q.Tokens[k]) == script(&q.Tokens[from])) {
			k++
		}
		if k-from >= 2 {
			some := false
			for n := from + 1; n < k; n++ {
				some = some || strings.Contains(text, q.Tokens[n-1].Lower+q.Tokens[n].Lower)
			}
			found, missing = found || some, missing || !some
		}
		k = max(k, from+1)
	}
	return found && missing
}

// script returns the script of a character of a Chinese or Japanese word, or nil.
func script(t *words.Token) *unicode.RangeTable {
	r := []rune(t.Lower)
	switch {
	case len(r) == 0 || strings.ContainsRune("何誰的是在了吗嗎几幾什么", r[0]):
	case unicode.Is(unicode.Han, r[0]):
		return unicode.Han
	case unicode.Is(unicode.Katakana, r[0]):
		return unicode.Katakana
	}
	return nil
}

// Articles of German and French after which a noun stands, and verbs with which questions of yes or no are asked.
var (
	articlesBefore = words.Set("le la les l un une des du au aux der die das den dem ein eine einen einem einer")
	foreignVerbs   = words.Set("est-il est-elle est-ce sont-ils sont-elles a-t-il a-t-elle peut-on doit-on ist sind darf durfen kann konnen muss mussen")
)

// lacksNoun reports whether a question of yes or no in German or French has a noun after an article that a passage
// has not. Other questions, which have a question word, may name what they ask for: "Quelle est la durée".
func (q *Question) lacksNoun(p *Parsed) bool {
	const enough, stem = 0.5, 4
	if q.Foreign || !q.says(foreignVerbs) {
		return false
	}
	for k := 1; k < len(q.Tokens); k++ {
		t := &q.Tokens[k]
		if t.Term < 0 || len(t.Lower) < stem || p.Credits[t.Term] >= enough || words.Number(t) || !(articlesBefore[q.Tokens[k-1].Lower] && !t.Pause) {
			continue
		}
		if !slices.ContainsFunc(p.Tokens, func(o words.Token) bool { return strings.Contains(o.Lower, t.Lower[:max(stem, len(t.Lower)-2)]) }) {
			return true
		}
	}
	return false
}
