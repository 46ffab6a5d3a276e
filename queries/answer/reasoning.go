package answer

import (
	"fmt"
	"strings"

	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// why names the source of the answer and the words of the question that occur in it.
func (f *finding) why() string {
	u := &f.units[f.best]
	p := &f.passages[u.Passage]
	var b strings.Builder
	fmt.Fprintf(&b, "It rests on a %s in %s", formNames[u.Kind], p.Source.Where())
	here, near, missing := f.found(u, p)
	if len(here) > 0 {
		fmt.Fprintf(&b, ", which speaks of %s", words.List(here))
	}
	if len(near) > 0 {
		fmt.Fprintf(&b, "; %s %s near it or in its titles", words.List(near), words.Verb(near, "stands", "stand"))
	}
	b.WriteString(". ")
	for _, s := range f.disagreeing {
		if s.unit != f.best {
			fmt.Fprintf(&b, "Another document disagrees, in %s. ", f.passages[f.units[s.unit].Passage].Source.Where())
		}
	}
	if f.also >= 0 {
		other := &f.passages[f.units[f.also].Passage]
		fmt.Fprintf(&b, "A second sentence, in %s, may be the answer instead. ", other.Source.Where())
	}
	if s := matching.Kinds[f.question.Expected].Name; s != "" {
		fmt.Fprintf(&b, "The question asks for %s. ", s)
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "That passage does not mention %s.", words.List(missing))
	}
	return strings.TrimSpace(b.String())
}

// whyNot describes why there is no answer.
func (f *finding) whyNot() string {
	u := &f.units[f.best]
	p := &f.passages[u.Passage]
	here, near, missing := f.found(u, p)
	if len(here)+len(near) == 0 {
		return "No passage speaks of what the question asks for."
	}
	why := fmt.Sprintf("The nearest %s is in %s", formNames[u.Kind], p.Source.Where())
	if len(missing) > 0 {
		return fmt.Sprintf("%s, but that passage does not mention %s.", why, words.List(missing))
	}
	return why + ", but it does not say clearly what the question asks for."
}

var formNames = [...]string{markdown.Sentence: "sentence", markdown.Item: "list item", markdown.Row: "table row", markdown.Code: "code block"}

// found groups the question's terms: those in the unit, those elsewhere in its passage,
// and those that are missing. It leaves out very long terms.
func (f *finding) found(u *matching.Unit, p *matching.Parsed) (here, near, missing []string) {
	for i, t := range f.question.Terms {
		switch {
		case len(t.Asked) > 60:
		case u.Credits[i] > 0:
			here = append(here, t.Asked)
		case p.Credits[i] > 0:
			near = append(near, t.Asked)
		case !t.Tells:
			missing = append(missing, t.Asked)
		}
	}
	return here, near, missing
}
