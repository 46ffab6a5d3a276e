package answer

import (
	"fmt"
	"slices"
	"strings"

	"annals/queries/answer/imprint"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// imprintChance is the confidence in the authors or the date that a document gives itself, if its
// title has all words of the question.
const imprintChance = 0.85

// searchedGain is how much the score of a search counts beside the share of the words, if several
// documents may be meant.
const searchedGain = 0.2

// said is what a document says of itself, as an answer.
type said struct {
	text  string
	share float64 // of the words of the question that the document has
	rank  float64 // share, and how well the search found the document
	front int     // index of the passage
}

// ofDocument answers a question for the authors or the date of a document by what the document says of itself at
// its beginning. A sentence that says it is preferred, and so is any with at least that confidence, unless the question
// calls what it asks about a document. The answer is not Found if no document is meant or says it.
func (f *finding) ofDocument(confidence float64) Answer {
	authors, date, named, described := f.question.OfDocument()
	if !authors && !date || len(named) == 0 || f.writes(named) {
		return Answer{}
	}
	var all []said
	first := -1
	for _, id := range f.frontsOf() {
		m := f.imprints[id]
		s := said{text: m.Authors, front: f.fronts[id][m.AuthorAt], share: f.titled(id, named, described)}
		if date {
			s.text, s.front = m.Date, f.fronts[id][m.DateAt]
		}
		if s.text == "" || s.share == 0 {
			continue
		}
		s.rank = s.share + searchedGain*f.searched(id)
		if all = append(all, s); first < 0 || s.rank > all[first].rank {
			first = len(all) - 1
		}
	}
	if first < 0 {
		return Answer{}
	}
	best := []said{all[first]}
	for _, s := range all {
		known := slices.ContainsFunc(best, func(o said) bool { return o.text == s.text })
		if !known && undated(f.given[s.front].Document) == undated(f.given[all[first].front].Document) && len(best) < maxVersions {
			best = append(best, s)
		}
	}
	slices.SortStableFunc(best, func(a, b said) int {
		return f.dated(&f.given[b.front]).Compare(f.dated(&f.given[a.front]))
	})
	a := Answer{Confidence: imprintChance * best[0].share, Found: true}
	if !described && a.Confidence <= confidence {
		return Answer{}
	}
	var lines []string
	for _, s := range best {
		line := s.text
		if len(best) > 1 {
			line = fmt.Sprintf("%s (%s)", s.text, f.titleAndDate(&f.given[s.front]))
		}
		lines, a.Used = append(lines, line), append(a.Used, s.front)
	}
	a.Text = strings.Join(lines, "\n")
	a.Reasoning = fmt.Sprintf("It rests on the beginning of %s, where the document says it of itself.", f.given[best[0].front].Where())
	return a
}

// searched returns the highest score of a document's passages, as a share of that of the best passage.
func (f *finding) searched(id string) float64 {
	score := 0.0
	for i := range f.passages {
		if p := &f.passages[i]; p.Source.ID == id {
			score = max(score, p.Relative)
		}
	}
	return score
}

// writes reports whether the best sentence says who wrote, or when was written, what the named terms
// name; "the author" is that of the document.
func (f *finding) writes(named []int) bool {
	u := &f.units[f.best]
	tokens := f.passages[u.Passage].Tokens[u.From:u.To]
	ofThis := slices.ContainsFunc(tokens, func(t words.Token) bool { return t.Lower == "author" || t.Lower == "authors" })
	for _, t := range named {
		if u.Credits[t] < 0.5 && !(ofThis && u.Context[t] >= 0.5) {
			return false
		}
	}
	return matching.Writes(tokens)
}

// titled returns the share of the weight of some terms that the title, the front matter and the text of a
// document have, or 0 if it is not the document that is meant: most must be in its title and front
// matter, and a title that has more words must be described as a document.
func (f *finding) titled(id string, named []int, described bool) float64 {
	const enough, most, several = 0.7, 0.5, 3
	q := &f.question
	first := &f.given[f.fronts[id][0]]
	title := matching.Cut(first.Document, matching.MaxTitle)
	inTitle, inFront, inText := q.Credits(title), make([]float64, len(q.Terms)), make([]float64, len(q.Terms))
	for _, i := range f.fronts[id] {
		raiseAll(inFront, q.Credits(matching.Cut(f.given[i].Section, matching.MaxTitle)))
		for line := range strings.Lines(matching.Cut(f.given[i].Text, imprintBytes)) {
			if strings.HasPrefix(line, "- ") { // a field of the front matter
				raiseAll(inFront, q.Credits(line))
			}
		}
	}
	for i := range f.passages {
		if p := &f.passages[i]; p.Source.ID == id {
			raiseAll(inText, p.Credits)
		}
	}
	share, own, total, found := 0.0, 0.0, 0.0, 0.0
	for _, t := range named {
		w := q.Terms[t].Rarity
		total += w
		c := max(inTitle[t], 0.9*inFront[t])
		found += c
		own += w * c
		share += w * max(c, 0.7*inText[t])
		if (q.Terms[t].Name || q.Terms[t].Number) && c < 0.5 {
			return 0
		}
	}
	if share /= total; share < enough || own/total < most {
		return 0
	}
	if !described && found < several && f.question.Precision(title) < most {
		return 0
	}
	return share
}

func raiseAll(credits, by []float64) {
	for t, c := range by {
		credits[t] = max(credits[t], c)
	}
}

// imprintBytes is the number of bytes of a front passage in which a document is looked for by what it says
// of itself, such as a summary.
const imprintBytes = 600

// readFronts reads the passages with which documents begin.
func (f *finding) readFronts() {
	f.fronts, f.imprints = map[string][]int{}, map[string]imprint.Imprint{}
	for i, p := range f.given {
		if p.Front && p.ID != "" {
			f.fronts[p.ID] = append(f.fronts[p.ID], i)
		}
	}
	for id, at := range f.fronts {
		parts := make([]imprint.Part, len(at))
		for k, i := range at {
			if p := &f.given[i]; p.Section != p.Document || k == 0 {
				parts[k].Title = p.Section
			}
			parts[k].Text = f.given[i].Text
		}
		f.imprints[id] = imprint.Of(f.given[at[0]].Document, parts)
	}
}

// frontsOf returns the ids of the documents whose beginnings are known, in their order.
func (f *finding) frontsOf() (ids []string) {
	for _, p := range f.given {
		if p.Front && p.ID != "" && !slices.Contains(ids, p.ID) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
