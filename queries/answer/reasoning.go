package answer

import (
	"fmt"
	"strings"

	"annals/queries/answer/markdown"
	"annals/queries/answer/words"
)

// why names the source of the answer and the words of the question that occur in it.
func (f *finding) why() string {
	u := &f.units[f.best]
	p := &f.passages[u.passage]
	var b strings.Builder
	fmt.Fprintf(&b, "It rests on a %s in %s", formNames[u.kind], p.where())
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
			fmt.Fprintf(&b, "Another document disagrees, in %s. ", f.passages[f.units[s.unit].passage].where())
		}
	}
	if f.also >= 0 {
		other := &f.passages[f.units[f.also].passage]
		fmt.Fprintf(&b, "A second sentence, in %s, may answer as well. ", other.where())
	}
	if s := kinds[f.question.expected].name; s != "" {
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
	p := &f.passages[u.passage]
	here, near, missing := f.found(u, p)
	if len(here)+len(near) == 0 {
		return "No passage speaks of what the question asks for."
	}
	why := fmt.Sprintf("The nearest %s is in %s", formNames[u.kind], p.where())
	if len(missing) > 0 {
		return fmt.Sprintf("%s, but that passage does not mention %s.", why, words.List(missing))
	}
	return why + ", but it does not say clearly what the question asks for."
}

var formNames = [...]string{markdown.Sentence: "sentence", markdown.Item: "list item", markdown.Row: "table row", markdown.Code: "code block"}

// found groups the question's terms: those in the unit, those elsewhere in its passage,
// and those that are missing. It leaves out very long terms.
func (f *finding) found(u *unit, p *passage) (here, near, missing []string) {
	for i, t := range f.question.terms {
		switch {
		case len(t.asked) > 60:
		case u.credits[i] > 0:
			here = append(here, t.asked)
		case p.credits[i] > 0:
			near = append(near, t.asked)
		case !t.tells:
			missing = append(missing, t.asked)
		}
	}
	return here, near, missing
}

// where names the section, document, pages and folder of a passage.
func (p *passage) where() string { return p.part() + p.pages() + p.folder() }

func (p *passage) part() string {
	document := strings.TrimSpace(cut(p.source.Document, maxTitle))
	section := strings.TrimSpace(cut(p.source.Section, maxTitle))
	if section == document {
		section = ""
	}
	switch {
	case section != "" && document != "":
		return fmt.Sprintf("the section “%s” of “%s”", section, document)
	case section != "":
		return fmt.Sprintf("the section “%s” of an untitled document", section)
	case document != "":
		return fmt.Sprintf("“%s”", document)
	}
	return "an untitled document"
}

func (p *passage) pages() string {
	switch first, last := p.source.Pages[0], p.source.Pages[1]; {
	case first > 0 && last > first:
		return fmt.Sprintf(", pages %d–%d", first, last)
	case first > 0:
		return fmt.Sprintf(", page %d", first)
	}
	return ""
}

// folder names the folder and its owner, so that readers can judge whether to trust the
// document.
func (p *passage) folder() string {
	folder, owner := cut(p.source.Folder, maxTitle), cut(p.source.Owner, maxTitle)
	switch {
	case folder == "":
		return ""
	case owner == "":
		return fmt.Sprintf(", in folder “%s”", folder)
	}
	return fmt.Sprintf(", in folder “%s” of %s", folder, owner)
}
