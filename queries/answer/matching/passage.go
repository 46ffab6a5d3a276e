package matching

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of the input. The rest is ignored, so that it is fast on any input.
const (
	MaxQuestion = 2000 // bytes
	MaxTerms    = 40
	MaxPassages = 20
	MaxPassage  = 8 << 10 // bytes
	MaxTitle    = 500     // bytes
)

// Passage is a passage that the search found.
type Passage struct {
	ID       string    // of its document
	Changed  time.Time // when that was last changed, or zero
	Date     Date      // that it gives itself; Find sets it
	Document string    // its title
	Section  string    // innermost section title, or ""
	Path     []string  // titles of the enclosing sections, outermost first
	Folder   string    // path of the document's folder, or ""
	Owner    string    // name of the folder's owner, or ""
	Pages    [2]int    // first and last; 0 if none
	Text     string    // Markdown, about 100-250 words
	Opens    bool      // its section begins with it
	Front    bool      // its document begins with it, and the search need not have found it: it only says what the document is
	Score    float64   // search score, similar to BM25; comparable only within one query
}

// Cut truncates s to at most n bytes, at the boundary of a character, and makes it valid
// UTF-8.
func Cut(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, " ")
}

// Where names the section, document, pages and folder of a passage, for people.
func (p *Passage) Where() string { return p.part() + p.pages() + p.folder() }

func (p *Passage) part() string {
	document := strings.TrimSpace(Cut(p.Document, MaxTitle))
	section := strings.TrimSpace(Cut(p.Section, MaxTitle))
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

func (p *Passage) pages() string {
	switch first, last := p.Pages[0], p.Pages[1]; {
	case first > 0 && last > first:
		return fmt.Sprintf(", pages %d–%d", first, last)
	case first > 0:
		return fmt.Sprintf(", page %d", first)
	}
	return ""
}

// folder names the folder and its owner, so that readers can judge whether to trust the
// document.
func (p *Passage) folder() string {
	folder, owner := Cut(p.Folder, MaxTitle), Cut(p.Owner, MaxTitle)
	switch {
	case folder == "":
		return ""
	case owner == "":
		return fmt.Sprintf(", in folder “%s”", folder)
	}
	return fmt.Sprintf(", in folder “%s” of %s", folder, owner)
}
