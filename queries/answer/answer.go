// Package answer extracts the answer to a question from the passages that a search
// found, and estimates the probability that it is right. It uses no index, no store and
// no statistics of other documents, so an answer reveals only passages that the caller
// may read.
//
// A question is parsed into terms (question.go), and classified by the kind of answer that
// it asks for (kind.go). Each passage is cut into units: sentences, table rows, list items
// and code blocks (package markdown), and these into words (package words). A network
// (network.go) ranks the units by what they share with the question (rank.go, measure.go,
// define.go). A second one ranks the spans of words in the best units (span.go). The answer
// is the span with the best ratio of probability and length (window.go), without markup; or
// the whole unit, if the kind of answer demands it. Documents that say something else are
// quoted beside it (disagree.go). A third network estimates the probability that the answer
// is right (confidence.go). The networks add weights of patterns of words (pattern.go). All
// weights (weights.json) are fitted by `go test ./queries/answer -run TestFit -fit`, which
// also evaluates them on articles that the fit has not seen.
//
// It imports events/prose, its own packages below, and libraries.
package answer

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"annals/queries/answer/markdown"
)

// Passage is a passage that the search found.
type Passage struct {
	ID       string    // of its document
	Changed  time.Time // when that was last changed, or zero
	Document string    // its title
	Section  string    // innermost section title, or ""
	Path     []string  // titles of the enclosing sections, outermost first
	Folder   string    // path of the document's folder, or ""
	Owner    string    // name of the folder's owner, or ""
	Pages    [2]int    // first and last; 0 if none
	Text     string    // Markdown, about 100-250 words
	Opens    bool      // its section begins with it
	Score    float64   // search score, similar to BM25; comparable only within one query
}

// Answer is the result of Find. Text quotes the passages word for word, without markup and
// with white space collapsed. A table row is written as "Header: value; …". Items of a list,
// words of a second sentence that may answer as well, and statements of documents that
// disagree, each with its document in brackets, are lines of their own.
type Answer struct {
	Text       string  // the answer, or a sentence that says that there is none
	Reasoning  string  // in plain words: where the answer was found, and which words of the question are there
	Confidence float64 // 0..1, calibrated: about 80 % of the answers with 0.8 are right
	Found      bool    // false if Find abstained, because Confidence is below 0.3
	Used       []int   // indexes of the passages that Text quotes
}

// abstainBelow is the confidence below which Find returns no answer.
const abstainBelow = 0.3

// Limits of the input. Find ignores the rest, so that it is fast on any input.
const (
	maxQuestion = 2000 // bytes
	maxTerms    = 40
	maxPassages = 20
	maxPassage  = 8 << 10 // bytes
	maxTitle    = 500     // bytes
)

// Find answers a question from passages, which are ordered best first. It is a pure
// function of its arguments.
func Find(question string, passages []Passage) Answer {
	return newFinding(question, passages).answer()
}

// answer returns the answer.
func (f *finding) answer() Answer {
	if f.question.empty() {
		return Answer{Text: "The question has no words to search for.", Reasoning: "No word of the question can be searched for in the documents."}
	}
	if len(f.units) == 0 {
		return Answer{Text: notFound, Reasoning: "No passage was found for the question."}
	}
	f.rank()
	confidence := f.confidence()
	if confidence < abstainBelow {
		return Answer{Text: notFound, Reasoning: f.whyNot(), Confidence: confidence}
	}
	return Answer{
		Text: f.text(), Reasoning: f.why(), Confidence: confidence,
		Found: true, Used: f.used(),
	}
}

const notFound = "The documents hold no answer to this question."

// finding is the state of one call of Find.
type finding struct {
	question    question
	follows     bool // the question follows another one: its few words are too little to choose a second unit by
	passages    []passage
	units       []unit
	chances     []float64   // probability of each unit to be the answer; they sum to 1
	best        int         // index of the unit with the highest chance
	window      span        // the words of the best unit that are the answer
	mass        float64     // score that the span model gives the best unit, see rerankMass
	also        int         // index of the second unit in the answer, or -1
	alsoWindow  span        // its words
	agreed      float64     // chance of the units that say the same as the best one
	covered     float64     // highest share of the question's weight in a unit
	coveredBy   float64     // highest share in a passage
	disagreeing []statement // what documents say that disagree, see disagreements
	spanChance  float64     // highest chance of a span of the best unit
}

// newFinding parses a question and passages.
func newFinding(text string, passages []Passage) *finding {
	f := &finding{question: parseQuestion(cut(text, maxQuestion))}
	passages = passages[:min(len(passages), maxPassages)]
	seen := make(map[string]bool, len(passages))
	for i, p := range passages {
		p.Text = tableHead(passages, i) + p.Text
		read := newPassage(&f.question, p)
		f.passages = append(f.passages, read)
		if !seen[read.text] { // copies of a passage would share its chance
			f.units = appendUnits(f.units, i, &read)
		}
		seen[read.text] = true
	}
	f.question.weigh(f.units, f.passages)
	f.nameTokens()
	return f
}

// text returns the answer: what documents say that disagree; or words of the best unit,
// followed by the list, table or code that it introduces, or by words of a second unit.
func (f *finding) text() string {
	if len(f.disagreeing) > 0 {
		return f.versions()
	}
	if from, to := f.list(); to > from {
		parts := make([]string, 0, to-from)
		for i := from; i < to; i++ {
			parts = append(parts, f.wording(i, span{f.units[i].from, f.units[i].to}))
		}
		return strings.Join(parts, "\n")
	}
	best := f.wording(f.best, f.window)
	if f.also < 0 {
		return best
	}
	u, also := &f.units[f.best], &f.units[f.also]
	other := f.wording(f.also, f.alsoWindow)
	switch {
	case f.window != span{u.from, u.to} || f.alsoWindow != span{also.from, also.to}: // they do not read as a text
		return best + "\n" + other
	case also.passage == u.passage && f.also < f.best:
		return other + " " + best
	}
	return best + " " + other
}

// maxList is the maximum number of items, rows or code blocks in an answer.
const maxList = 12

// list returns the range of units of the list, table or code blocks around or after the
// best unit, with the sentence that introduces them, if they are a part of the answer. The
// range is empty otherwise.
func (f *finding) list() (from, to int) {
	u := &f.units[f.best]
	wanted := kinds[f.question.expected].lists
	from, to = f.best, f.best+1
	after := func(i int) bool {
		return i < len(f.units) && f.units[i].passage == u.passage && f.units[i].kind != markdown.Sentence
	}
	switch {
	case u.kind == markdown.Item && wanted:
		for from > 0 && f.units[from-1].passage == u.passage && f.units[from-1].kind == markdown.Item && to-from < maxList {
			from--
		}
		for after(to) && f.units[to].kind == markdown.Item && to-from < maxList {
			to++
		}
		if from > 0 && f.units[from-1].passage == u.passage && f.leadsIn(from-1) {
			from--
		}
	case u.kind == markdown.Code && wanted:
		if from > 0 && f.units[from-1].passage == u.passage && f.units[from-1].kind != markdown.Code {
			from--
		}
	case u.kind == markdown.Sentence && (f.leadsIn(f.best) || wanted && (after(to) && f.units[to].kind == markdown.Code || f.same(to) && f.leadsIn(to))):
		if f.same(to) && f.leadsIn(to) { // "You can do five things. They are:"
			to++
		}
		for first := to; after(to) && f.units[to].kind == f.units[first].kind && to-from <= maxList; {
			to++
		}
	default:
		return 0, 0
	}
	if to-from < 2 {
		return 0, 0
	}
	return from, to
}

// same reports whether unit i exists and is in the passage of the best unit.
func (f *finding) same(i int) bool {
	return i < len(f.units) && f.units[i].passage == f.units[f.best].passage
}

// leadsIn reports whether unit i is a sentence that introduces what follows.
func (f *finding) leadsIn(i int) bool {
	u := &f.units[i]
	return u.kind == markdown.Sentence && f.passages[u.passage].text[u.end-1] == ':'
}

// wording returns the text of a span of a unit. Rows and code are always whole.
func (f *finding) wording(i int, w span) string {
	u := &f.units[i]
	p := &f.passages[u.passage]
	switch u.kind {
	case markdown.Row:
		return p.rowText(&f.question, u)
	case markdown.Code:
		return strings.TrimSpace(p.text[u.start:u.end])
	}
	start, end := p.bounds(u, w)
	return strings.Join(strings.Fields(p.text[start:end]), " ")
}

func (f *finding) used() []int {
	used := []int{f.units[f.best].passage}
	for _, s := range f.disagreeing {
		if p := f.units[s.unit].passage; !slices.Contains(used, p) {
			used = append(used, p)
		}
	}
	if f.also >= 0 && !slices.Contains(used, f.units[f.also].passage) {
		used = append(used, f.units[f.also].passage)
	}
	return used
}

// cut truncates s to at most n bytes, at the boundary of a character, and makes it valid
// UTF-8.
func cut(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, " ")
}
