package answer

import (
	"strings"

	"annals/queries/answer/matching"
)

// FindAbout is Find for a question that asks something else of the subject of the question before. The words of the
// subject are in many places, and what is asked of it now is in one, so they weigh less than the other words. If there are no
// others but such as "long" in "How long is it?", the answer is any that the question before does not have.
func FindAbout(question, subject, before string, passages []Passage) Answer {
	f := newFinding(question, passages)
	f.follows = true
	about := matching.ParseQuestion(matching.Cut(subject, matching.MaxQuestion))
	telling := f.question.WeighLess(&about)
	a := f.answer()
	if a.Found || telling {
		return a
	}
	whole := Find(question, passages)
	if earlier := matching.ParseQuestion(matching.Cut(before, matching.MaxQuestion)); whole.Found && earlier.WeighLess(&about) {
		if other := Find(before, passages); strings.Contains(whole.Text, other.Text) || strings.Contains(other.Text, whole.Text) {
			return a
		}
	}
	return whole
}

// Mentions reports whether a passage or its titles have the words of a phrase, or synonyms: all
// its names and numbers, and half of the others by their weight.
func Mentions(p Passage, phrase string) bool {
	q := matching.ParseQuestion("of " + matching.Cut(phrase, matching.MaxTitle)) // a capital at the very beginning would not tell a name
	p.Text = matching.Cut(p.Text, matching.MaxPassage)
	credits := matching.Parse(&q, p).Credits
	found, total := 0.0, 0.0
	for i, t := range q.Terms {
		total += t.Rarity
		switch {
		case credits[i] >= 0.5:
			found += t.Rarity
		case t.Name || t.Number:
			return false
		}
	}
	return 2*found >= total
}

// Doubted returns the answer for the case that somebody who has read the passages found none in them: half
// as likely. why says who, and is put before the reasoning.
func (a Answer) Doubted(why string) Answer {
	a.Confidence /= 2
	if a.Reasoning = why + " " + a.Reasoning; a.Found && a.Confidence < abstainBelow {
		return Answer{Text: notFound, Reasoning: why, Confidence: a.Confidence}
	}
	return a
}
