// Package words cuts text into words, and has what the answers know of the words of the
// English language: frequent ones, synonyms, opposites, stems, numbers and units.
//
// It imports events/prose and libraries.
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/events/prose"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// Common are frequent English words. A match of one is weaker evidence than a match of
// another word.
var Common = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`name names named call called kind type types sort form part parts thing things way ways time times year years day days people person man men woman women group groups member members place places area areas number
		numbers amount world country state city work works use uses used using make makes made making take takes took taken give gives given gave get gets got go goes went gone come comes came say says said see seen saw
		know known knew think thought become becomes became begin began begun start started end ended first second last next new old good great big large small long short high low many several few main major important
		different similar certain general common early late later example term terms word words fact result results reason reasons case cases cause caused causes change changes changed able happen happened happens find
		found show shown shows help helped need needed want wanted try tried put set follow following followed include included includes including consider considered believe believed allow allowed keep kept lead led hold
		held bring brought provide provided require required occur occurred occurs lot people's two three one once current currently original originally according due along another mean means meant describe described refer
		referred say state states often usually today now still well back another`) {
		m[w] = true
	}
	return m
}()

// Synonyms has, for each word, the words that questions and texts use for it.
var Synonyms = func() map[string][]string {
	m := map[string][]string{}
	for _, family := range []string{
		"die died death dead", "born birth", "begin began begun start started beginning onset", "end ended finish finished", "found founded establish established create created creation founder",
		"build built construct constructed building construction", "big large great largest biggest", "buy bought purchase purchased acquire acquired", "win won winner", "lead led leader head headed",
		"make made produce produced", "think thought believe believed", "write wrote written author writer", "teach taught teacher", "kill killed killing", "war battle", "city town", "country nation", "movie film",
		"cost price paid pay", "job occupation career profession", "rule ruled ruler reign reigned", "king emperor monarch", "law act legislation statute", "school college university", "student pupil",
		"people population inhabitants", "name named called call known", "choose chose chosen select selected elect elected", "speak spoke spoken", "rise rose risen increase increased grow grew grown",
		"fall fell fallen decrease decreased decline declined", "say said state stated", "give gave given grant granted", "get got receive received obtain obtained", "begin start launch launched",
		"leave left depart departed", "child children", "man men", "woman women", "percentage percent proportion share", "near close nearby", "company firm corporation business", "doctor physician",
		"allow permit permitted enable", "require need", "show demonstrate demonstrated", "use utilize employ", "old ancient age", "happen occur occurred", "see saw seen", "break broke broken", "meet met meeting",
		"join joined member", "run ran operate", "argue argued claim claimed", "reason cause because", "invent invented inventor", "discover discovered discovery", "fight fought", "flee fled", "lose lost loss",
		"sell sold sale", "describe described description", "january jan", "february feb", "march mar", "april apr", "june jun", "july jul", "august aug", "september sep sept", "october oct", "november nov",
		"december dec", "passenger passengers pax", "vote votes ballot ballots", "phone telephone tel", "email e-mail mail", "pain painful painless", "folder directory", "boss employer", "fix correct",
		"install installed setup", "remove uninstall delete", "payroll employment wages", "1 one", "2 two", "3 three", "4 four", "5 five", "6 six", "7 seven", "8 eight", "9 nine", "10 ten", "11 eleven", "12 twelve",
		"100 hundred", "1st first", "2nd second", "3rd third", "4th fourth", "5th fifth", "6th sixth", "7th seventh", "8th eighth", "9th ninth", "10th tenth", "come came", "go went gone", "take took taken",
		"locate located location", "originate origin originated",
	} {
		words := strings.Fields(family)
		for _, w := range words {
			for _, o := range words {
				if o != w {
					m[w] = append(m[w], o)
				}
			}
		}
	}
	return m
}()

// Excluding are words that deny, forbid or exclude, besides those of Negative.
var Excluding = Set(`none nobody nothing cannot unable fail fails failed lack lacks lacked refuse refuses refused refusal forbid forbids forbidden prohibit prohibits prohibited ban bans banned
	exclude excludes excluded excluding except exempt prevent prevents prevented avoid avoids avoided reject rejects rejected deny denies denied disallow disallows disallowed unless only
	illegal impossible unknown uncommon rarely seldom hardly instead rather unlike against stop stops stopped oppose opposes opposed keep keeps kept`)

// Denied reports whether "not" or the like stands right before tokens[i], or before one word
// between, with no pause.
func Denied(tokens []Token, i int) bool {
	for j := i - 1; j >= max(0, i-2); j-- {
		if tokens[j+1].Pause {
			return false
		}
		if Negative(tokens[j].Lower) && tokens[j].Lower != "no" {
			return tokens[j+1].Lower != "only"
		}
	}
	return false
}

// Opposites are pairs of words with opposite meanings.
var Opposites = func() map[string]string {
	m := map[string]string{}
	for _, pair := range []string{
		"largest smallest", "large small", "big small", "high low", "highest lowest", "higher lower", "more less", "most least", "increase decrease", "increased decreased", "first last", "before after", "north south",
		"east west", "northern southern", "eastern western", "always never", "above below", "early late", "earliest latest", "oldest youngest", "old new", "older newer", "strong weak", "stronger weaker", "rich poor",
		"longest shortest", "long short", "internal external", "public private", "win lose", "won lost", "support oppose", "supported opposed", "accept reject", "accepted rejected", "allowed forbidden", "allow prevent",
		"include exclude", "begin end", "began ended", "inside outside", "best worst", "majority minority", "same different", "positive negative", "hot cold", "male female", "legal illegal", "possible impossible",
		"common rare", "many few", "near far", "left right", "top bottom", "upper lower", "success failure", "encourage discourage", "encouraged discouraged", "agree disagree", "agreed disagreed", "add remove",
		"rise fall", "rose fell", "open closed",
	} {
		a, b, _ := strings.Cut(pair, " ")
		m[a], m[b] = b, a
	}
	return m
}()

// Numerals are numbers written as words.
var Numerals = Set(`one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
	nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million millions billion billions
	trillion dozen dozens half third thirds quarter quarters twice double triple once zero none`)

// Measures are units and other words that follow a number.
var Measures = Set(`percent percentage per cent million billion trillion thousand hundred years year days day months month weeks week hours hour
	minutes seconds km mi miles mile metres meters metre meter feet foot ft inches cm mm kg kilograms pounds pound tons tonnes acres hectares
	dollars pence euros people students members times square degrees`)

// Calendar are the words used in dates.
var Calendar = Set(`january february march april may june july august september october november december monday tuesday wednesday thursday
	friday saturday sunday century centuries decade bc ad bce ce spring summer autumn winter today`)

// Set returns the set of the words in a text.
func Set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// Token is one word of a passage or question.
type Token struct {
	Start, End int // bytes of the text
	Lower      string
	Class      prose.Class
	Capital    bool    // starts with a capital letter or is written in capitals
	Digit      bool    // has a digit
	Pause      bool    // there is punctuation between it and the previous word
	Named      bool    // it may be part of a proper name; Tokenize leaves it false
	Joined     bool    // there is nothing, or only a dash or sign, between it and the previous word
	Term       int     // index of the question's term that it matches, or -1; Tokenize sets it to -1
	Credit     float64 // how well it matches the term, from 0 to 1
}

// Tokenize appends the words of text[from:to] to dst. A word is a run of letters and
// digits, including apostrophes, hyphens, points and commas inside it. In scripts without
// spaces each character is a word.
func Tokenize(text string, from, to int, dst []Token) []Token {
	last := from
	for i := from; i < to; {
		r, n := utf8.DecodeRuneInString(text[i:to])
		if !IsWord(r) || unicode.IsMark(r) {
			i += n
			continue
		}
		t := Token{Start: i, Term: -1, Capital: unicode.IsUpper(r), Digit: unicode.IsDigit(r)}
		i += n
		for i < to && !unspaced(r) {
			next, n := utf8.DecodeRuneInString(text[i:to])
			if !IsWord(next) || unspaced(next) {
				if !inside(r, next) || i+n >= to {
					break
				}
				after, _ := utf8.DecodeRuneInString(text[i+n : to])
				if !IsWord(after) || unspaced(after) || next == '-' && unicode.IsDigit(r) != unicode.IsDigit(after) || (next == ',' || next == '.') && !(next == '.' && strings.Contains(text[t.Start:i], "@") || unicode.IsDigit(r) && unicode.IsDigit(after) || next == '.' && unicode.IsUpper(r) && unicode.IsUpper(after)) {
					break
				}
				t.Digit = t.Digit || unicode.IsDigit(after)
			}
			t.Digit = t.Digit || unicode.IsDigit(next)
			r = next
			i += n
		}
		t.End = i
		t.Lower = Plain(text[t.Start:t.End])
		t.Lower = unelided(strings.TrimSuffix(t.Lower, "'s"))
		t.Class = prose.ClassOf(t.Lower)
		t.Pause, t.Joined = between(text[last:t.Start])
		last = i
		dst = append(dst, t)
	}
	return dst
}

// unelided returns a word of French or Italian without the article or preposition that it is
// written together with: "essai" for "d'essai".
func unelided(word string) string {
	if before, rest, ok := strings.Cut(word, "'"); ok && len(rest) > 2 {
		switch before {
		case "l", "d", "qu", "j", "n", "s", "c", "dell", "all", "nell", "un":
			return rest
		}
	}
	return word
}

// Plain returns a word in lower case and without accents, because users often leave
// accents out, and with plain apostrophes.
func Plain(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return strings.Map(func(r rune) rune {
				switch {
				case unicode.Is(unicode.Mn, r) && r < 0x370:
					return -1
				case r == '’':
					return '\''
				}
				return r
			}, norm.NFKD.String(strings.ToLower(word)))
		}
	}
	return strings.ToLower(word)
}

// IsWord reports whether a character may be part of a word. Those that choose how an emoji is
// drawn may not.
func IsWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && !unicode.Is(unicode.Variation_Selector, r)
}

func unspaced(r rune) bool {
	return r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x0E00 && r < 0x0F00
}

// inside reports whether r is punctuation that may occur inside a word, directly after
// the character before.
func inside(before, r rune) bool {
	switch r {
	case '\'', '’', '-', '.', ',', '@':
		return before != r
	}
	return false
}

// between examines the text between two words. pause reports whether it has punctuation.
// joined reports whether the words belong together, as in "10-12" or "km/h": the text is
// empty or has only dashes, slashes, emphasis marks and currency signs.
func between(gap string) (pause, joined bool) {
	joined = true
	for _, r := range gap {
		switch {
		case unicode.IsSpace(r):
			joined = false
		case r == '–' || r == '-' || r == '/' || r == '*' || r == '_' || r == '$' || r == '£' || r == '€':
		default:
			pause = true
		}
	}
	return pause, joined && !pause
}

// Stem returns the English stem of a word in lower case, of irregular forms that of the base.
func Stem(word string) string {
	if base, ok := Base[word]; ok {
		word = base
	}
	return english.Stem(word, true)
}

// Base has the base of irregular forms of verbs and nouns. Forms that are more often
// another word, such as "found" and "left", are not there.
var Base = func() map[string]string {
	m := map[string]string{}
	for forms := range strings.SplitSeq(`arise arose arisen; awake awoke; bear bore borne; beat beaten; become became; begin began begun; bend bent; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built;
		burn burnt; buy bought; catch caught; choose chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell
		fallen; feed fed; feel felt; fight fought; flee fled; fling flung; fly flew flown; forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given;
		go went gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known; lead led; leap leapt; learn learnt; lend lent; lose lost; make made; mean meant; meet met; mistake
		mistook mistaken; pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; shrink
		shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun; spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung; strike
		struck stricken; strive strove striven; swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown; understand
		understood; undergo underwent undergone; undertake undertook undertaken; uphold upheld; wake woke woken; wear wore worn; weave wove woven; weep wept; win won; withdraw withdrew withdrawn; withstand withstood; write
		wrote written; overcome overcame; oversee oversaw overseen; overthrow overthrew overthrown; outgrow outgrew; child children; man men; woman women; foot feet; tooth teeth; goose geese; mouse mice; life lives; wife
		wives; knife knives; leaf leaves; half halves; wolf wolves; die dying; lie lying; tie tying; analysis analyses; crisis crises; thesis theses; hypothesis hypotheses; basis bases; phenomenon phenomena; criterion
		criteria; bacterium bacteria; medium media; curriculum curricula; nucleus nuclei; stimulus stimuli; index indices; appendix appendices; vertex vertices; matrix matrices`, ";") {
		words := strings.Fields(forms)
		for _, w := range words[1:] {
			m[w] = words[0]
		}
	}
	return m
}()

// derived are the endings of nouns for who or what does a thing, or for the deed: "editor"
// and "payment" are near "edit" and "pay".
var derived = Set("or er r ment ion al")

// Similarity returns 1 for equal stems, 0.6 for stems with a long common prefix or
// derived from one another, and 0 for all others.
func Similarity(a, b string) float64 {
	if a == b {
		return 1
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n >= 5 && 5*n >= 3*max(len(a), len(b)) {
		return 0.6
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	if n >= 4 && n == len(a) && derived[b[n:]] {
		return 0.6
	}
	return 0
}

// Misspelt reports whether two longer words differ in one letter, or in the order of two.
func Misspelt(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < 3 || len(b)-len(a) > 1 {
		return false
	}
	n, tail := 0, 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	for tail < len(a)-n && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[n:len(a)-tail], b[n:len(b)-tail]
	return len(y) <= 1 || len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]
}

// Classes of words, after the grammatical ones.
const (
	wordYear = 16 + iota
	wordDigits
	wordNumeral
	wordCalendar
	wordMeasure
	_
	wordCapital
	wordEnding // the first of those by ending
	wordPlain  = wordEnding + 9
)

// endings are endings of English words that hint at their class, each with its class.
var endings = [...]struct {
	ending string
	class  uint32
}{
	{"ing", 0}, {"ed", 1}, {"ly", 2}, {"tion", 3}, {"ment", 3}, {"ness", 3}, {"ity", 3}, {"ism", 3}, {"er", 4}, {"or", 4},
	{"al", 5}, {"ous", 5}, {"ive", 5}, {"ic", 5}, {"ful", 5}, {"able", 5}, {"ary", 5}, {"ent", 6}, {"ant", 6}, {"ss", 7}, {"s", 8},
}

// Code returns the class of a word: grammatical, kind of number or date, name, or the
// class that its ending hints at.
func Code(t *Token) uint32 {
	switch w := t.Lower; {
	case t.Digit && len(w) == 4 && (w[0] == '1' || w[0] == '2'):
		return wordYear
	case t.Digit:
		return wordDigits
	case t.Class != prose.Content:
		return uint32(t.Class)
	case Numerals[w]:
		return wordNumeral
	case Calendar[w]:
		return wordCalendar
	case Measures[w]:
		return wordMeasure
	case t.Capital:
		return wordCapital
	}
	for _, e := range endings {
		if len(t.Lower) > len(e.ending)+1 && strings.HasSuffix(t.Lower, e.ending) {
			return wordEnding + e.class
		}
	}
	return wordPlain
}

// Plainly reports whether a token is probably a common noun: no frequent word, name or number, and without an ending of
// adjectives, adverbs and participles.
func Plainly(t *Token) bool {
	c := Code(t)
	return t.Class == prose.Content && !Common[t.Lower] && (c == wordPlain || c == wordEnding+3 || c == wordEnding+4 || c >= wordEnding+7)
}

// Negative reports whether a word negates.
func Negative(word string) bool {
	return word == "not" || word == "never" || word == "no" || word == "without" || word == "neither" || word == "nor" || strings.HasSuffix(word, "n't") || word == "cannot"
}

// Number reports whether a token is a number, in digits or as a word.
func Number(t *Token) bool { return t.Digit || Numerals[t.Lower] }

// Hash returns the FNV-1a hash of a string.
func Hash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
