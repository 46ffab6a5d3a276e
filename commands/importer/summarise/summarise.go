// Package summarise composes a one-line description and a short summary of a document from
// sentences of the document. It imports events/prose.
package summarise

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"annals/events/prose"
)

// Limits of the text of a document that is used. The head of the document is used completely. After
// the head, only the start of each section is used (the sample).
const (
	headBytes     = 200 << 10
	sampleBytes   = 64 << 10
	sectionBytes  = 2 << 10 // bytes of each section after the head
	headSentences = 2_500   // maximum number of sentences taken from the head
	maxSentences  = 3_000
	maxTitles     = 12

	maxDescription = 160 // bytes of a description
	maxSummary     = 800 // bytes of a summary
	maxPicked      = 4   // sentences in a summary
)

// Summariser collects the text of a document. Its memory and time are limited, however much text
// is added.
type Summariser struct {
	title     string
	fields    string   // "name: value" lines at the start of the document; used if there is no other text
	section   string   // title of the section that the last text belongs to
	titles    []string // titles of the first sections
	head      int      // bytes left of the head
	sample    int      // bytes left of the sample
	inSection int      // bytes sampled of the current section
	sentences []sentence
}

// sentence is a sentence, with the properties that determine its score.
type sentence struct {
	text    string
	opening bool  // the first sentence of its paragraph
	item    bool  // the sentence is in a list
	words   []int // distinct stems
	count   int   // number of words, including repeated ones and stop words
}

// New returns a Summariser of a document with the given title.
func New(title string) *Summariser {
	return &Summariser{title: title, head: headBytes, sample: sampleBytes}
}

// Add adds the next piece of the document, in Markdown. Consecutive pieces with the same title are
// one section.
func (s *Summariser) Add(sectionTitle, text string) {
	if sectionTitle != s.section {
		s.section, s.inSection = sectionTitle, 0
		if len(s.titles) < maxTitles {
			s.titles = append(s.titles, oneLine(sectionTitle))
		}
	}
	if sectionTitle == "" && len(s.titles) == 0 && len(s.sentences) == 0 {
		n := fieldsEnd(text)
		s.fields, text = s.fields+cut(text[:n], sectionBytes-len(s.fields)), text[n:]
	}
	s.add(text)
}

// fieldsEnd returns the end of the list of fields, such as "- author: Ann", at the start of a text.
func fieldsEnd(text string) int {
	end := 0
	for line := range strings.Lines(text) {
		name, _, ok := strings.Cut(line, ": ")
		if !ok || !strings.HasPrefix(line, "- ") || strings.Contains(name[len("- "):], " ") {
			break
		}
		end += len(line)
	}
	return end
}

func (s *Summariser) add(text string) {
	switch {
	case len(s.sentences) >= maxSentences:
		return
	case s.head > 0 && len(s.sentences) < headSentences:
		text = cut(text, s.head)
		s.head -= len(text)
	default:
		text = cut(text, min(s.sample, sectionBytes-s.inSection))
		s.sample -= len(text)
		s.inSection += len(text)
	}
	paragraphs(text, func(paragraph string, item bool) {
		opening := true
		sentences(paragraph, func(text string) {
			if len(s.sentences) < maxSentences {
				s.sentences = append(s.sentences, sentence{text: text, opening: opening, item: item})
			}
			opening = false
		})
	})
}

// Result returns the description, a line of at most 160 bytes, and the summary, two to four
// sentences of at most 800 bytes in the order of the document. A short document may have less.
func (s *Summariser) Result() (description, summary string) {
	if len(s.sentences) == 0 {
		s.add(s.fields)
	}
	scores := s.scores()
	description = s.description(scores)
	var picked []int
	size := 0
	for _, i := range byScore(scores) {
		text := s.sentences[i].text
		if len(picked) == maxPicked || size+len(text)+1 > maxSummary && len(picked) > 1 {
			break
		}
		if size+len(text)+1 > maxSummary || scores[i] <= 0 || s.repeats(picked, i) {
			continue
		}
		picked = append(picked, i)
		size += len(text) + 1
	}
	slices.Sort(picked)
	var out []string
	for _, i := range picked {
		out = append(out, s.sentences[i].text)
	}
	if summary = strings.Join(out, " "); summary == "" {
		summary = description
	}
	return description, summary
}

// description returns the best sentence among the first complete ones.
func (s *Summariser) description(scores []float64) string {
	best, found := -1, 0
	for i, sentence := range s.sentences {
		if found == 4 || i == 50 {
			break
		}
		if !sentence.complete() {
			continue
		}
		if found++; best < 0 || scores[i] > 1.2*scores[best] {
			best = i
		}
	}
	if best >= 0 {
		return shorten(s.sentences[best].text)
	}
	for _, sentence := range s.sentences {
		if !sentence.item {
			return shorten(sentence.text)
		}
	}
	titles := slices.DeleteFunc(slices.Clone(s.titles), func(t string) bool { return t == "" || t == s.title })
	if len(titles) > 0 {
		return shorten(strings.Join(titles, "; "))
	}
	if len(s.sentences) > 0 {
		return shorten(s.sentences[0].text)
	}
	return ""
}

// complete reports whether the sentence has an end and more than one word.
func (s sentence) complete() bool {
	return s.count >= 2 && prose.IsComplete(s.text) && !s.item
}

// scores rates sentences by the weights of their words, their position and their length. The first
// sentences of a document are the best indication of its topic (Edmundson, "New Methods in
// Automatic Extracting", 1969), so position counts as much as words.
func (s *Summariser) scores() []float64 {
	words := newVocabulary(s.sentences)
	for i := range s.sentences {
		s.sentences[i].words, s.sentences[i].count = words.of(s.sentences[i].text)
	}
	title, _ := words.of(s.title + " " + s.section0())
	inTitle := map[int]bool{}
	for _, w := range title {
		inTitle[w] = true
	}
	weights := words.weights(s.sentences)
	scores := make([]float64, len(s.sentences))
	for i, sentence := range s.sentences {
		var sum float64
		for _, w := range sentence.words {
			sum += weights[w]
			if inTitle[w] {
				sum += weights[w] / 2
			}
		}
		if len(sentence.words) == 0 {
			continue
		}
		sum /= math.Sqrt(float64(len(sentence.words)) * float64(len(sentence.words)+4))
		position := 1 + 1.5/(1+float64(i)/2)
		if sentence.opening {
			position += .3
		}
		scores[i] = sum * position * length(sentence)
	}
	return scores
}

func (s *Summariser) section0() string {
	if len(s.titles) > 0 {
		return s.titles[0]
	}
	return ""
}

// length returns the factor of a sentence's length, which favours complete sentences of 8 to 40
// words.
func length(s sentence) float64 {
	factor := 1.0
	switch {
	case s.count < 4:
		factor = .3
	case s.count < 8:
		factor = .7
	case s.count > 60:
		factor = .3
	case s.count > 40:
		factor = .7
	}
	if s.item {
		factor *= .4
	} else if !s.complete() {
		factor *= .5
	}
	return factor
}

// repeats reports whether most words of sentence i are also in one of the picked sentences.
func (s *Summariser) repeats(picked []int, i int) bool {
	for _, p := range picked {
		common := 0
		for _, w := range s.sentences[i].words {
			if slices.Contains(s.sentences[p].words, w) {
				common++
			}
		}
		if 2*common > min(len(s.sentences[i].words), len(s.sentences[p].words)) {
			return true
		}
	}
	return false
}

func byScore(scores []float64) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	return order
}

// shorten cuts a line at the end of a word, so that it has at most maxDescription bytes.
func shorten(line string) string {
	if len(line) <= maxDescription {
		return line
	}
	line = cut(line, maxDescription-len("…"))
	if i := strings.LastIndexAny(line, " \u3000、，"); i > maxDescription/2 {
		line = line[:i]
	}
	return strings.TrimRight(line, " ,;:-–—、，\u3000") + "…"
}

// cut returns the first n bytes of text, without an incomplete rune at the end.
func cut(text string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
