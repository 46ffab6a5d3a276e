package search

import (
	"slices"

	"github.com/google/uuid"
)

// distinct has sources with different contents, in the order in which they were added.
type distinct struct {
	sources   []Source
	added     map[string]bool // by id of the passage, also of duplicates
	byContent map[string]int  // index in sources
}

// newDistinct returns sources that have different contents already.
func newDistinct(sources []Source) (d distinct) {
	for _, s := range sources {
		d.add(s)
	}
	return d
}

// add adds a source. If an earlier source has the same content, it adds the source to the
// duplicates of that one. It ignores a passage that was added before: if the index has
// changed in the meantime, hits may repeat earlier hits.
func (d *distinct) add(s Source) {
	if d.added == nil {
		d.added, d.byContent = make(map[string]bool), make(map[string]int)
	}
	if d.added[s.id] {
		return
	}
	d.added[s.id] = true
	first, known := d.byContent[s.content()]
	if !known {
		d.byContent[s.content()] = len(d.sources)
		d.sources = append(d.sources, s)
		return
	}
	duplicate := Duplicate{s.Document, s.Title, s.Folder, s.StartPage, s.DeepLink}
	if original := &d.sources[first]; len(original.Duplicates) < maxDuplicates && !slices.Contains(original.Duplicates, duplicate) {
		original.Duplicates = append(original.Duplicates, duplicate)
	}
}

// content returns a key that is equal for passages with the same text and section title. A
// passage without text, which was found by its title, has no duplicates.
func (s Source) content() string {
	if s.body == "" {
		return s.id
	}
	section := "" // LeafTitle may be the title of the document
	if len(s.Path) > 0 {
		section = s.Path[len(s.Path)-1]
	}
	return section + "\x00" + s.body
}

// Shown returns the documents that sources name, also as duplicates.
func Shown(sources []Source) (documents []uuid.UUID) {
	for _, s := range sources {
		documents = append(documents, s.Document)
		for _, d := range s.Duplicates {
			documents = append(documents, d.Document)
		}
	}
	return documents
}
