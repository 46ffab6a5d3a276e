// Package answer finds the words that answer a question in the passages that a search
// found, with a confidence. It reads nothing but what it is given: no index, no store,
// no statistics of other documents, so an answer can reveal nothing beyond the passages
// that the caller may read.
//
// A question is cut into terms (question.go), the passages into sentences, table rows,
// list items and code (units.go). A conditional logit ranks these units by what they
// share with the question (rank.go, measure.go), another one the word spans inside the
// likeliest (span.go); the answer is the shortest window that probably holds the right
// span (window.go). A logistic regression turns what was seen into the probability that
// the answer is right (confidence.go). All weights (weights.go) are fitted by `go test
// ./queries/answer -run TestFit -fit`, which also judges them on articles that the fit
// has not seen.
//
// The package may import libraries only.
package answer

import (
	"strings"
	"unicode/utf8"
)

// Passage is what the search found, best first.
type Passage struct {
	Document string   // its title
	Section  string   // innermost section title, or ""
	Path     []string // titles of the sections above, outermost first
	Folder   string   // path of the document's folder, or ""
	Owner    string   // name of who owns that, or ""
	Pages    [2]int   // start, end; 0 if none
	Text     string   // Markdown, about 100-250 words
	Score    float64  // of the search: BM25-like, comparable within one query only
}

// Answer is extractive: Text is quoted word for word from the passages, with runs of
// white space made one space. A table row is written "Header: value; …".
type Answer struct {
	Text       string  // what answers; or, when Found is false, a sentence saying that the documents hold no answer
	Reasoning  string  // the section, document, page, folder and owner it rests on, and why, in plain words
	Confidence float64 // 0..1, calibrated: of the answers given at 0.8, about 80 % are right
	Found      bool    // false if it abstained: Confidence is below AbstainBelow
	Used       []int   // indexes of the passages it rests on
}

// AbstainBelow is the confidence under which Find gives no answer.
const AbstainBelow = 0.3

// Limits of the input; the rest is ignored, to keep Find fast on any input.
const (
	maxQuestion = 2000 // bytes
	maxTerms    = 40
	maxPassages = 20
	maxPassage  = 8 << 10 // bytes
	maxTitle    = 500     // bytes
)

// Find answers the question from the passages, best first, and from nothing
// else. It is a pure function: same input, same answer.
func Find(question string, passages []Passage) Answer {
	f := look(question, passages)
	if f.question.empty() {
		return Answer{Text: "The question names nothing to look for.", Reasoning: "The question holds no word that could be looked for in the documents."}
	}
	if len(f.units) == 0 {
		return Answer{Text: notFound, Reasoning: "No passage was found for the question."}
	}
	f.rank()
	confidence := f.confidence()
	if confidence < AbstainBelow {
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
	question question
	passages []passage
	units    []unit
	chances  []float64 // of each unit, that it answers; they sum to 1
	best     int       // index of the unit with the highest chance
	window   span      // the words of the best unit to answer with
	mass     float64   // what the span model makes of the best unit in all
	also     int       // index of a second unit to answer with, or -1
	sure     float64   // chance of the best span among those of the best unit
}

// look reads question and passages, within the limits.
func look(text string, passages []Passage) *finding {
	f := &finding{question: ask(cut(text, maxQuestion))}
	for i, p := range passages[:min(len(passages), maxPassages)] {
		read := newPassage(&f.question, p)
		f.passages = append(f.passages, read)
		f.units = appendUnits(f.units, i, &read)
	}
	f.question.weigh(f.units, f.passages)
	return f
}

// text returns the answer: words of the best unit, what it introduces, or a
// second unit if that is nearly as likely.
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

// introduced returns the code, list items or rows that follow the best unit.
func (f *finding) introduced() string {
	const most = 12
	var b strings.Builder
	kind := sentence
	for i := f.best + 1; i < min(f.best+1+most, len(f.units)); i++ {
		u := &f.units[i]
		if u.passage != f.units[f.best].passage || u.kind == sentence || kind != sentence && u.kind != kind {
			break
		}
		kind = u.kind
		b.WriteString("\n" + f.wording(i, span{u.from, u.to}))
	}
	return b.String()
}

// wording returns the words of a window of a unit.
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

// cut returns the first n bytes of s, less if they end inside a character,
// and always valid UTF-8.
func cut(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, " ")
}
