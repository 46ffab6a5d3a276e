package answer

import (
	"slices"
	"strings"
)

// FindAbout is Find for a question that asks something else of the subject of the question before. The words of the
// subject are in many places, and what is asked of it now is in one, so they weigh less than the other words. If there are no
// others but such as "long" in "How long is it?", the answer is any that the question before does not have.
func FindAbout(question, subject, before string, passages []Passage) Answer {
	f := newFinding(question, passages)
	f.follows = true
	about := parseQuestion(cut(subject, maxQuestion))
	telling := f.question.weighLess(&about)
	a := f.answer()
	if a.Found || telling {
		return a
	}
	whole := Find(question, passages)
	if earlier := parseQuestion(cut(before, maxQuestion)); whole.Found && earlier.weighLess(&about) {
		if other := Find(before, passages); strings.Contains(whole.Text, other.Text) || strings.Contains(other.Text, whole.Text) {
			return a
		}
	}
	return whole
}

// subjectWeight is the factor of the weight of words that are not new in a question.
const subjectWeight = 0.1

// weighLess reduces the weights of those terms that another question has. It reports whether any of the other terms
// tells what is asked, and not only how much.
func (q *question) weighLess(other *question) (telling bool) {
	q.total = 0
	for i := range q.terms {
		t := &q.terms[i]
		if slices.ContainsFunc(other.terms, func(o term) bool { return o.stem == t.stem }) {
			t.weight *= subjectWeight
		} else if t.rarity > 0.4 && !q.bare {
			telling = true
		}
		q.total += t.weight
	}
	return telling
}

// Mentions reports whether a passage or its titles have the words of a phrase, or synonyms: all
// its names and numbers, and half of the others by their weight.
func Mentions(p Passage, phrase string) bool {
	q := parseQuestion("of " + cut(phrase, maxTitle)) // a capital at the very beginning would not tell a name
	p.Text = cut(p.Text, maxPassage)
	credits := newPassage(&q, p).credits
	found, total := 0.0, 0.0
	for i, t := range q.terms {
		total += t.rarity
		switch {
		case credits[i] >= 0.5:
			found += t.rarity
		case t.name || t.number:
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
