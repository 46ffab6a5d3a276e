package matching

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/words"
)

// Words of times and of how often something happens.
var (
	timeUnits = words.Set("second seconds minute minutes hour hours day days night nights week weeks month months quarter quarters year years decade decades century centuries time times")
	temporal  = words.Set("when after before during until till since while once ago later earlier always never immediately daily")
	clock     = words.Set("at by from to about around")
	frequency = words.Set("every each daily weekly monthly yearly annually quarterly hourly nightly once twice always never rarely often regularly continuously per")
)

// Words of how long something is or lasts, besides numbers with a unit.
var (
	lengthUnits = words.Set("km kilometre kilometres kilometer kilometers mi mile miles metre metres meter meters m cm mm ft foot feet inch inches yard yards page pages word words line lines character characters byte bytes letter letters ms s min h")
	lasting     = words.Set("forever always permanently indefinitely overnight until till since between throughout life lifetime seconds minutes hours days nights weeks months quarters years decades centuries")
	single      = words.Set("a an one half whole full entire per every each this that")
	measuredIn  = regexp.MustCompile(`^\d+([.,]\d+)*(ms|s|h|min|m|km|cm|mm|d|ft|mi)$|^\d+h\d+$`)
)

// Words that tell what a number is: the place of something in a document, a year, or a count.
var (
	referring = words.Set("page pages section sections chapter chapters figure table listing line lines form forms step article version release paragraph appendix rule volume edition issue publication")
	dating    = words.Set("in since until till during circa dated copyright")
	counts    = words.Set("number count quantity quantities total amount pieces stock sum")
)

// Words with which German and French tell times and numbers.
var (
	foreignTimes = words.Set(`januar februar marz april mai juni juli august september oktober november dezember montag montags dienstag dienstags mittwoch mittwochs donnerstag donnerstags freitag freitags samstag samstags
		sonntag sonntags uhr morgens mittags abends nachts taglich wochentags jederzeit immer nie nach vor wahrend bis seit sobald wenn nachdem bevor janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre
		lundi mardi mercredi jeudi vendredi samedi dimanche midi minuit matin soir jour jours semaine mois an annee apres avant pendant jusqu'a depuis toujours jamais lorsque quand`)
	foreignNumerals = words.Set(`ein eine einen einem einer zwei drei vier funf sechs sieben acht neun zehn elf zwolf zwanzig dreißig vierzig funfzig sechzig hundert tausend keine keinen nichts kostenlos
		un une deux trois quatre cinq six sept huit neuf dix onze douze quinze vingt trente quarante cinquante soixante cent mille aucun aucune rien gratuit gratuite`)
)

// wants returns the kind of answer that is asked for, also by the German and French question words
// for times and numbers.
func (q *Question) wants() Kind {
	if !q.Foreign {
		return q.Expected
	}
	for i := range q.Tokens {
		switch next := min(i+1, len(q.Tokens)-1); q.Tokens[i].Lower {
		case "wann", "quand":
			return Time
		case "wieviel", "wieviele", "combien":
			return Number
		case "wie":
			if n := q.Tokens[next].Lower; n == "viel" || n == "viele" {
				return Number
			}
		}
	}
	return q.Expected
}

// says reports whether the question has one of the words.
func (q *Question) says(set map[string]bool) bool {
	return slices.ContainsFunc(q.Tokens, func(t words.Token) bool { return set[t.Lower] })
}

// measure returns the word after "how": "long" in "How long is it?".
func (q *Question) measure() string {
	if at := q.questionWord(); at >= 0 && at+1 < len(q.Tokens) && q.Tokens[at].Lower == "how" {
		return q.Tokens[at+1].Lower
	}
	return ""
}

// Satisfied reports whether a unit can answer a question for a time or number: it has a word
// of that kind which the question has not. Numbers such as 1.2.3 are versions, and a number
// of two digits alone is no time; neither are those in code. A year is no duration and no amount.
func (q *Question) Satisfied(p *Parsed, u *Unit) bool {
	return q.SatisfiedBy(p, u, u.Whole())
}

// SatisfiedBy is satisfied for some words of a unit.
func (q *Question) SatisfiedBy(p *Parsed, u *Unit, w Span) bool {
	kind := q.wants()
	if kind != Time && kind != Number || u.Kind == markdown.Code {
		return kind != Time
	}
	how := q.measure()
	if how == "many" && !q.Foreign && u.Kind == markdown.Row && !q.countedIn(p, u) {
		return false
	}
	tokens := p.Tokens[u.From:u.To]
	copyright := !q.says(copyrights) && (strings.Contains(p.Text[u.Start:u.End], "©") || len(tokens) > 0 && tokens[0].Lower == "copyright")
	for i := w.From - u.From; i < w.To-u.From; i++ {
		t := &tokens[i]
		switch {
		case t.Term >= 0 && (!t.Digit || kind == Number && fullYear(t)), copyright && fullYear(t):
		case how == "often":
			if frequency[t.Lower] || i > 0 && timeUnits[t.Lower] && words.Number(&tokens[i-1]) {
				return true
			}
		case kind == Number && how == "long":
			if q.lasts(p, u, i) {
				return true
			}
		case kind == Number:
			if words.Number(t) && !identifier(t) && strings.Count(t.Lower, ".") < 2 && !q.refers(tokens, i) && !q.period(tokens, i) && (u.Kind == markdown.Row || !dates(p.Text, tokens, i)) || q.Foreign && foreignNumerals[t.Lower] {
				return true
			}
		case q.Foreign && foreignTimes[t.Lower], timeWord(t), temporal[t.Lower], timeUnits[t.Lower], dated.MatchString(t.Lower), i > 0 && t.Joined && t.Digit && tokens[i-1].Digit, i > 0 && words.Number(t) && clock[tokens[i-1].Lower]:
			return true
		}
	}
	return false
}

var copyrights = words.Set("copyright copyrighted copyrights")

// timeWord reports whether a word is one of dates. "may" and "march" in lower case are verbs.
func timeWord(t *words.Token) bool {
	return words.Calendar[t.Lower] && (t.Capital || t.Lower != "may" && t.Lower != "march")
}

// dated matches years, decades, dates and ranges: "1931", "1990s", "2024-05-01", "9-12".
var dated = regexp.MustCompile(`^(1\d{3}|2[01]\d{2})s?$|^\d+([-.]\d+){2}$|^\d+-\d+$`)

// fullYear reports whether a word has the form of a year.
func fullYear(t *words.Token) bool {
	return len(t.Lower) == 4 && (t.Lower[0] == '1' || t.Lower[:2] == "20" || t.Lower[:2] == "21") && strings.Trim(t.Lower, "0123456789") == ""
}

// dates reports whether tokens[i] is a year, and no amount: "in 1854", "May 1854", "1854.", but not
// "$1854" or "1854 workers".
func dates(text string, tokens []words.Token, i int) bool {
	t := &tokens[i]
	if !fullYear(t) || t.Start > 0 && currency(text[:t.Start]) || strings.HasPrefix(text[t.End:], "%") {
		return false
	}
	if i > 0 && !t.Pause && (dating[tokens[i-1].Lower] || timeWord(&tokens[i-1])) {
		return true
	}
	next := i + 1
	return next == len(tokens) || tokens[next].Pause || tokens[next].Class != prose.Content // "2000 guests" are an amount
}

// identifier reports whether a word with digits begins with a letter, such as i32 or A4.
func identifier(t *words.Token) bool { return t.Digit && t.Lower[0] >= 'a' && t.Lower[0] <= 'z' }

// currency reports whether a text ends in the sign of a currency.
func currency(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.Is(unicode.Sc, r)
}

// refers reports whether tokens[i] is the number of a part of a document, such as "page 42" or
// "line 10", or of a version, such as "Go 1.25", for which the question does not ask.
func (q *Question) refers(tokens []words.Token, i int) bool {
	for i > 0 && tokens[i].Joined && tokens[i-1].Digit {
		i--
	}
	if i == 0 || tokens[i].Pause || !tokens[i].Digit {
		return false
	}
	before := &tokens[i-1]
	if referring[before.Lower] {
		return !slices.ContainsFunc(q.Tokens, func(t words.Token) bool { return t.Lower == before.Lower })
	}
	last := i+1 == len(tokens) || tokens[i+1].Pause || tokens[i+1].Class != prose.Content
	return last && before.Named && i > 1 && strings.Contains(tokens[i].Lower, ".")
}

// period reports whether tokens[i] counts years, days or hours, or is a time of day: no answer to "How much does he
// have?", unlike to "How much time does he have?". "Three times" is an amount.
func (q *Question) period(tokens []words.Token, i int) bool {
	at := q.questionWord()
	if q.measure() != "much" || at+2 >= len(q.Tokens) || q.Tokens[at+2].Class == prose.Content {
		return false
	}
	next := i + 1
	for next < len(tokens) && tokens[next].Joined && tokens[next].Digit {
		next++
	}
	if next == len(tokens) || tokens[next].Pause {
		return false
	}
	unit := tokens[next].Lower
	return timeUnits[unit] && unit != "time" && unit != "times" || unit == "am" || unit == "pm"
}

// lasts reports whether the word u.From+i of a unit tells how long something is or lasts: a number with a
// unit, or a word such as "since".
func (q *Question) lasts(p *Parsed, u *Unit, i int) bool {
	tokens := p.Tokens[u.From:u.To]
	t := &tokens[i]
	unit := func(word string) bool {
		return timeUnits[word] && word != "time" && word != "times" || lengthUnits[word]
	}
	number, noun, hyphened := strings.Cut(t.Lower, "-")
	switch {
	case lasting[t.Lower], measuredIn.MatchString(t.Lower):
		return true
	case hyphened && words.Numerals[number]:
		return unit(noun)
	case unit(t.Lower):
		return i > 0 && single[tokens[i-1].Lower]
	case !words.Number(t):
		return false
	}
	if q.says(timeUnits) || q.says(lengthUnits) { // "How long is it in miles?"
		return !dates(p.Text, tokens, i)
	}
	if u.Kind == markdown.Row { // the unit may be in the header
		return !fullYear(t)
	}
	if i > 1 && t.Digit && tokens[i-1].Lower == "to" && tokens[i-2].Digit || i > 0 && t.Joined && tokens[i-1].Digit { // from 1914 to 1918
		return true
	}
	const reach = 3
	for k := i + 1; k < min(i+1+reach, len(tokens)) && !(tokens[k].Pause && k > i+1); k++ {
		if unit(tokens[k].Lower) {
			return true
		}
	}
	return false
}

// countedIn reports whether a row has a number of what the question counts: beside its name, in a row of
// that name, or in a column with its name, one such as "Quantity", or none.
func (q *Question) countedIn(p *Parsed, u *Unit) bool {
	headers := markdown.Cells(p.Text[u.header[0]:u.header[1]])
	if len(headers) == 0 || q.Focus < 0 {
		return true
	}
	named := false
	for i, value := range markdown.Cells(p.Text[u.Start:u.End]) {
		about := named || i >= len(headers) || headers[i] == "" || q.counts(headers[i])
		named = named || i == 0 && q.counts(value)
		for _, t := range words.Tokenize(value, 0, len(value), nil) {
			if words.Number(&t) && (about || q.counts(value)) {
				return true
			}
		}
	}
	return false
}

// counts reports whether a text has the noun after "how many", or a word for a count.
func (q *Question) counts(text string) bool {
	return slices.ContainsFunc(words.Tokenize(text, 0, len(text), nil), func(t words.Token) bool {
		q.Match(&t)
		return counts[t.Lower] || t.Term >= 0 && t.Term == q.Focus
	})
}
