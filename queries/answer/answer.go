// Package answer extracts the answer to a question from the passages that a search
// found, and estimates the probability that it is right. It uses no index, no store and
// no statistics of other documents, so an answer reveals only passages that the caller
// may read.
//
// A question is parsed into terms, classified by the kind of answer that it asks for, and
// matched with the units of the passages: sentences, table rows, list items and code blocks
// (package matching). A network (network.go) ranks the units by what they share with the
// question (rank.go). A second one ranks the spans of words in the best units (span.go). The answer
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

	"annals/queries/answer/imprint"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
)

// Passage is a passage that the search found.
type Passage = matching.Passage

// Answer is the result of Find. Text quotes the passages word for word, without markup and
// with white space collapsed. A table row is written as "Header: value; …". Items of a list
// and statements of documents that disagree, each with its document in brackets, are lines of
// their own, and so are words of a second sentence that may be the answer instead, after "or: ".
type Answer struct {
	Text       string  // the answer, or a sentence that says that there is none
	Reasoning  string  // in plain words: where the answer was found, and which words of the question are there
	Confidence float64 // 0..1, calibrated: about 80 % of the answers with 0.8 are right
	Found      bool    // false if Find abstained, because Confidence is below 0.3
	Used       []int   // indexes of the passages that Text quotes
}

// abstainBelow is the confidence below which Find returns no answer.
const abstainBelow = 0.3

// Find answers a question from passages, which are ordered best first. After them may be passages
// that are Front: those with which the documents of the others begin. It is a pure function of its
// arguments.
func Find(question string, passages []Passage) Answer {
	return newFinding(question, passages).answer()
}

// answer returns the answer.
func (f *finding) answer() Answer {
	if f.question.Empty() {
		return Answer{Text: "The question has no words to search for.", Reasoning: "No word of the question can be searched for in the documents."}
	}
	if len(f.units) == 0 {
		return Answer{Text: notFound, Reasoning: "No passage was found for the question."}
	}
	f.rank()
	confidence := f.confidence()
	if a := f.ofDocument(confidence); a.Found {
		return a
	}
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
	question    matching.Question
	follows     bool // the question follows another one: its few words are too little to choose a second unit by
	passages    []matching.Parsed
	units       []matching.Unit
	chances     []float64                  // probability of each unit to be the answer; they sum to 1
	best        int                        // index of the unit with the highest chance
	window      matching.Span              // the words of the best unit that are the answer
	mass        float64                    // score that the span model gives the best unit, see rerankMass
	also        int                        // index of the second unit in the answer, or -1
	alsoWindow  matching.Span              // its words
	agreed      float64                    // chance of the units that say the same as the best one
	covered     float64                    // highest share of the question's weight in a unit
	coveredBy   float64                    // highest share in a passage
	disagreeing []statement                // what documents say that disagree, see disagreements
	item        [2]int                     // units of the item that is chosen by its place, or empty
	placed      float64                    // confidence in that; -1 if the list has no such place, 0 if none is asked for
	spanChance  float64                    // highest chance of a span of the best unit
	given       []Passage                  // all passages, as they were given
	fronts      map[string][]int           // indexes of the passages that a document begins with, by its id
	imprints    map[string]imprint.Imprint // what these say of the document, by its id
}

// maxGiven is the maximum number of passages, with those that documents begin with.
const maxGiven = 6 * matching.MaxPassages

// newFinding parses a question and passages.
func newFinding(text string, passages []Passage) *finding {
	f := &finding{question: matching.ParseQuestion(matching.Cut(text, matching.MaxQuestion))}
	f.given = passages[:min(len(passages), maxGiven)]
	f.readFronts()
	dates := datesOf(f.given)
	if at := slices.IndexFunc(passages, func(p Passage) bool { return p.Front }); at >= 0 {
		passages = passages[:at]
	}
	passages = passages[:min(len(passages), matching.MaxPassages)]
	parse := func() {
		f.passages = f.passages[:0]
		for i, p := range passages {
			p.Date = dates[p.ID]
			p.Text = matching.TableHead(passages, i) + p.Text
			f.passages = append(f.passages, matching.Parse(&f.question, p))
		}
	}
	if parse(); f.question.Respell(f.passages) {
		parse()
	}
	seen := make(map[string]bool, len(passages))
	for i := range f.passages {
		read := &f.passages[i]
		if !seen[read.Text] { // copies of a passage would share its chance
			f.units = matching.AppendUnits(f.units, i, read)
		}
		seen[read.Text] = true
	}
	f.question.Weigh(f.units, f.passages)
	matching.NameTokens(f.units, f.passages)
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
			parts = append(parts, f.wording(i, f.units[i].Whole()))
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
	case f.window != u.Whole() || f.alsoWindow != also.Whole() || u.Kind != markdown.Sentence || also.Kind != markdown.Sentence || !f.sameDocument(f.best, f.also): // they do not read as a text
		return best + "\n" + alternatively + other
	case also.Passage == u.Passage && f.also < f.best:
		return other + " " + best
	}
	return best + " " + other
}

// alternatively is put before words of a second sentence, so that nobody takes them for a
// part of the first.
const alternatively = "or: "

// wording returns the text of a span of a unit. Rows and code are always whole.
func (f *finding) wording(i int, w matching.Span) string {
	u := &f.units[i]
	p := &f.passages[u.Passage]
	switch u.Kind {
	case markdown.Row:
		return p.RowText(&f.question, u)
	case markdown.Code:
		return strings.TrimSpace(p.Text[u.Start:u.End])
	}
	start, end := p.Bounds(u, w)
	return strings.Join(strings.Fields(p.Text[start:end]), " ")
}

func (f *finding) used() []int {
	used := []int{f.units[f.best].Passage}
	for _, s := range f.disagreeing {
		if p := f.units[s.unit].Passage; !slices.Contains(used, p) {
			used = append(used, p)
		}
	}
	if f.also >= 0 && !slices.Contains(used, f.units[f.also].Passage) {
		used = append(used, f.units[f.also].Passage)
	}
	return used
}
