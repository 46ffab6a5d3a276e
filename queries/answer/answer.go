// Package answer extracts the answer to a question from the passages that a search
// found, and estimates the probability that it is right. It uses no index, no store and
// no statistics of other documents, so an answer reveals only passages that the caller
// may read.
//
// A question is parsed into terms (question.go), and each passage is cut into units:
// sentences, table rows, list items and code blocks (units.go). A conditional logit model
// ranks the units by what they share with the question (rank.go, measure.go). A second
// one ranks the spans of words in the best units (span.go). The answer is the shortest
// span that probably contains the right words (window.go). A logistic regression
// estimates the probability that the answer is right (confidence.go). All weights
// (weights.go) are fitted by `go test ./queries/answer -run TestFit -fit`, which also
// evaluates them on articles that the fit has not seen.
//
// It imports events/prose and libraries.
package answer

import (
	"strings"
	"unicode/utf8"
)

// Passage is a passage that the search found.
type Passage struct {
	Document string   // its title
	Section  string   // innermost section title, or ""
	Path     []string // titles of the enclosing sections, outermost first
	Folder   string   // path of the document's folder, or ""
	Owner    string   // name of the folder's owner, or ""
	Pages    [2]int   // first and last; 0 if none
	Text     string   // Markdown, about 100-250 words
	Score    float64  // search score, similar to BM25; comparable only within one query
}

// Answer is the result of Find. Text quotes the passages word for word, with white space
// collapsed. A table row is written as "Header: value; …".
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
	f := newFinding(question, passages)
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
	question   question
	passages   []passage
	units      []unit
	chances    []float64 // probability of each unit to be the answer; they sum to 1
	best       int       // index of the unit with the highest chance
	window     span      // the words of the best unit that are the answer
	mass       float64   // score that the span model gives the best unit, see rerankMass
	also       int       // index of the second unit in the answer, or -1
	spanChance float64   // highest chance of a span of the best unit
}

// newFinding parses a question and passages.
func newFinding(text string, passages []Passage) *finding {
	f := &finding{question: parseQuestion(cut(text, maxQuestion))}
	for i, p := range passages[:min(len(passages), maxPassages)] {
		read := newPassage(&f.question, p)
		f.passages = append(f.passages, read)
		f.units = appendUnits(f.units, i, &read)
	}
	f.question.weigh(f.units, f.passages)
	return f
}

// text returns the answer: words of the best unit, followed by the list, table or code
// that it introduces, or by a second unit.
func (f *finding) text() string {
	best := f.wording(f.best, f.window)
	if strings.HasSuffix(best, ":") {
		return best + f.introduced()
	}
	if f.also < 0 {
		return best
	}
	also := &f.units[f.also]
	other := f.wording(f.also, span{also.from, also.to})
	if also.passage == f.units[f.best].passage && f.also < f.best {
		return other + " " + best
	}
	return best + " " + other
}

// introduced returns the code blocks, list items or table rows after the best unit.
func (f *finding) introduced() string {
	const limit = 12
	var b strings.Builder
	kind := sentence
	for i := f.best + 1; i < min(f.best+1+limit, len(f.units)); i++ {
		u := &f.units[i]
		if u.passage != f.units[f.best].passage || u.kind == sentence || kind != sentence && u.kind != kind {
			break
		}
		kind = u.kind
		b.WriteString("\n" + f.wording(i, span{u.from, u.to}))
	}
	return b.String()
}

// wording returns the text of a span of a unit. Rows and code are always whole.
func (f *finding) wording(i int, w span) string {
	u := &f.units[i]
	p := &f.passages[u.passage]
	switch u.kind {
	case row:
		return p.rowText(u)
	case code:
		return strings.TrimSpace(p.text[u.start:u.end])
	}
	start, end := p.bounds(u, w)
	return strings.Join(strings.Fields(p.text[start:end]), " ")
}

func (f *finding) used() []int {
	used := []int{f.units[f.best].passage}
	if f.also >= 0 && f.units[f.also].passage != used[0] {
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
