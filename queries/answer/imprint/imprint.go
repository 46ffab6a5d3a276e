// Package imprint reads what the beginning of a document says of the document itself: who wrote
// it, and when. That is in the fields of its front matter, in lines such as "By Ann Berg" and
// "Date: 3 May 2021", or in lines of a title page that have nothing else than names or a date.
//
// It imports events/prose and queries/answer/words.
package imprint

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"annals/events/prose"
	"annals/queries/answer/words"
)

// Part is a section, or its beginning, with which a document begins.
type Part struct{ Title, Text string }

// Imprint has the words for the authors and the date, as the document has them, and the indexes of
// the parts that have them. They are "" if they are not known.
type Imprint struct {
	Authors  string
	AuthorAt int
	Date     string
	DateAt   int
}

// Limits of what is read.
const (
	maxParts = 6
	maxPart  = 2000 // bytes
	maxLine  = 300  // bytes; a longer line is text
	maxLines = 40
)

// line is a line of a part.
type line struct {
	text string
	part int
}

// Of reads the beginning of a document with a title.
func Of(title string, parts []Part) Imprint {
	var lines []line
	for i, p := range parts[:min(len(parts), maxParts)] {
		all := p.Title + "\n" + p.Text
		if len(all) > maxPart { // a line that is cut might have half a name
			all = all[:strings.LastIndexByte(all[:maxPart], '\n')+1]
		}
		for s := range strings.Lines(all) {
			if s = plain(s); s != "" && len(lines) < maxLines {
				lines = append(lines, line{s, i})
			}
		}
	}
	var m Imprint
	m.Authors, m.AuthorAt = first(lines, field(authorField, authors))
	if m.Authors == "" {
		m.Authors, m.AuthorAt = first(lines, byline)
	}
	if m.Authors == "" {
		m.Authors, m.AuthorAt = underTitle(title, lines)
	}
	for _, find := range []func(string) string{field(publishedField, dateOf), field(dateField, dateOf), dateAlone, field(changedField, dateOf)} {
		if m.Date == "" {
			m.Date, m.DateAt = first(lines, find)
		}
	}
	return m
}

// Marks at the beginning of a line, and notes behind names.
var (
	marks = regexp.MustCompile(`^(?:[-*+>#|]+\s+)+`)
	notes = regexp.MustCompile(`[*∗†‡§¶¹²³⁴⁵⁶⁷⁸⁹]+|\([^()\pL]*\)|\^?\d{1,2}(?:,\d{1,2})*\b`)
)

// plain returns a line without marks and emphasis.
func plain(s string) string {
	s = marks.ReplaceAllString(strings.TrimSpace(s), "")
	return strings.TrimSpace(strings.Trim(strings.ReplaceAll(s, "**", ""), "*_|"))
}

func first(lines []line, find func(string) string) (string, int) {
	for _, l := range lines {
		if len(l.text) > maxLine {
			continue
		}
		if s := find(l.text); s != "" {
			return s, l.part
		}
	}
	return "", 0
}

// Names of fields, in front matter or before a colon in a line.
var (
	authorField    = regexp.MustCompile(`(?i)^(?:by|byline|(?:main |contributing |first )?authors?(?:\(s\))?|written by|prepared by|writers?|creator|autor(?:en|es|in)?|auteure?s?|verfasser(?:in)?|autore|forfatter|författare)\s*[:=]\s*(.+)$`)
	publishedField = regexp.MustCompile(`(?i)^(?:published(?:[ _](?:at|on|date))?|publish[ _]?date|pub[ _]?date|date[ _](?:of publication|published)|publication date|first published|issued(?: on)?|veröffentlicht(?: am)?|erschienen(?: am)?|publié(?: le)?|publicado(?: el)?)\s*[:=]?\s+(.+)$`)
	dateField      = regexp.MustCompile(`(?i)^(?:date|dated|created(?:[ _](?:at|on))?|written(?: on)?|datum|fecha|data|stand)\s*[:=]\s*(.+)$`)
	changedField   = regexp.MustCompile(`(?i)^(?:(?:last[ _]?)?(?:updated|modified|revised|changed)(?:[ _](?:at|on))?|lastmod|updated[ _]?date)\s*[:=]\s*(.+)$`)
)

func field(name *regexp.Regexp, value func(string) string) func(string) string {
	return func(s string) string {
		if m := name.FindStringSubmatch(s); m != nil {
			return value(strings.TrimSpace(strings.TrimLeft(m[1], "*_ ")))
		}
		return ""
	}
}

// authors returns the names in the value of a field: without what else is said of the authors,
// as in "name: Ann Berg, mail: ann@example.com".
func authors(value string) string {
	var names []string
	parts := strings.Split(value, ", ")
	named := slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(strings.ToLower(s), "name: ") })
	for _, s := range parts {
		key, rest, keyed := strings.Cut(s, ": ")
		switch {
		case keyed && named && strings.EqualFold(key, "name"):
			names = append(names, rest)
		case keyed && named:
		default:
			names = append(names, s)
		}
	}
	value = strings.Trim(strings.Join(names, ", "), `"' `)
	if !strings.ContainsFunc(value, unicode.IsLetter) {
		return ""
	}
	return value
}

// by matches a line that has a name after "by".
var by = regexp.MustCompile(`(?i)^(?:(?:a |an )?(?:\pL+ )?(?:written |edited )?by|von|par|por|di)\s+(.+)$`)

// byline returns the names in a line such as "By Ann Berg and Tom Ray".
func byline(s string) string {
	m := by.FindStringSubmatch(s)
	if m == nil || prose.IsComplete(s) && !initial.MatchString(s) {
		return ""
	}
	if n := names(m[1]); n > 0 {
		return bare(m[1])
	}
	return ""
}

// initial matches the end of a name such as "Berg Jr.".
var initial = regexp.MustCompile(`(?i)\b(?:jr|sr|phd|ph\.d|m\.d|\pL)\.$`)

// bare returns a list of names without notes.
func bare(s string) string {
	s = notes.ReplaceAllString(s, "")
	s = strings.Join(strings.Fields(s), " ")
	return strings.Trim(strings.ReplaceAll(s, " ,", ","), " ,;·")
}

// underTitle returns the names that stand alone below the title of the document, if what follows them
// shows that they are those of its authors: a date, an address, an institute or an abstract.
func underTitle(title string, lines []line) (string, int) {
	const below, near = 4, 4 // lines
	at := slices.IndexFunc(lines, func(l line) bool { return alike(l.text, title) })
	if at < 0 {
		return "", 0
	}
	for i := at + 1; i < min(at+1+below, len(lines)); i++ {
		s := lines[i].text
		if alike(s, title) || len(s) > maxLine {
			continue
		}
		n := names(s)
		if n == 0 {
			continue
		}
		marked := n > 1 || notes.MatchString(s)
		for _, next := range lines[i+1 : min(i+1+near, len(lines))] {
			marked = marked || dateAlone(next.text) != "" || affiliated.MatchString(next.text)
		}
		if marked {
			return bare(s), lines[i].part
		}
	}
	return "", 0
}

// affiliated matches a line that often follows the names of authors.
var affiliated = regexp.MustCompile(`(?i)@\S+\.\pL|^abstract\b|^(?:the )?[\pL ,.&'-]{0,60}\b(?:university|universität|université|universidad|institute?|institut|college|department|laborator(?:y|ies)|hospital|school of|faculty)\b`)

// alike reports whether two titles have the same words.
func alike(a, b string) bool {
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	x, y := words(a), words(b)
	return len(x) > 0 && slices.Equal(x, y)
}

// particles may be a part of names, in lower case.
var particles = words.Set("de da del della der den des di du la le van von zu zur bin ibn al el y e und and et dos das af av")

// roles are words in capitals on title pages that are no names.
var roles = words.Set(`report guide manual handbook policy introduction overview summary contents table chapter part section appendix draft version edition volume university institute department center centre college school
	office agency ministry service services company corporation inc ltd llc gmbh press publishing publisher ebooks books free sample confidential internal public private annual quarterly research development user reference
	resource project plan proposal minutes meeting agenda notes statement notice form application letter memo memorandum paper thesis dissertation january february march april may june july august september october november december
	monday tuesday wednesday thursday friday saturday sunday united states national international federal health care act law rules terms conditions agreement contract license licence system software data information technology`)

// names returns the number of names that a line is a list of, or 0 if it has anything else.
func names(s string) int {
	s = bare(s)
	if s == "" || strings.ContainsAny(s, "@:/\\?!<>{}[]=|") {
		return 0
	}
	n := 0
	for _, name := range separator.Split(s, -1) {
		parts := strings.Fields(name)
		if len(parts) == 0 {
			continue
		}
		long := 0
		for _, p := range parts {
			r := []rune(p)
			lower := strings.ToLower(strings.Trim(p, ".,'’"))
			switch {
			case particles[lower] && !unicode.IsUpper(r[0]):
			case !unicode.IsUpper(r[0]) || roles[lower] || words.Common[lower] || prose.ClassOf(lower) != prose.Content && len(r) > 2 || strings.ContainsFunc(p, unicode.IsDigit):
				return 0
			case len(r) > 2:
				long++
			}
		}
		if len(parts) < 2 || len(parts) > 5 || long == 0 {
			return 0
		}
		n++
	}
	return n
}

// separator separates names.
var separator = regexp.MustCompile(`\s*(?:,|;|·|•|&|\band\b|\bund\b|\bet\b|\by\b)\s*`)

// Forms of dates.
const month = `(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez|janvier|février|mars|avril|juin|juillet|août|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto)\pL{0,8}\.?`

var date = regexp.MustCompile(`(?i)^(?:(?:19|20)\d\d-\d\d(?:-\d\d)?|\d{1,2}\.\s?\d{1,2}\.\s?(?:19|20)\d\d|\d{1,2}/\d{1,2}/(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th|\.)? ` + month + `,? [12]\d{3}|` + month + ` (?:\d{1,2}(?:st|nd|rd|th)?, )?[12]\d{3}|(?:1[4-9]|20)\d\d)`)

// dateOf returns the date that a value begins with.
func dateOf(value string) string { return date.FindString(strings.Trim(value, `"' `)) }

// dateAlone returns a line that is a date and nothing else.
func dateAlone(s string) string {
	s = strings.Trim(s, "()., ")
	if d := date.FindString(s); d == s {
		return d
	}
	return ""
}
