package bleve

import (
	"slices"
	"strings"

	"annals/projections/searchindex"
	"annals/projections/searchindex/bm25"

	blevedoc "github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
)

// Fields of a passage in the index. The index stores only the passage's id.
const (
	wordsField    = "words"    // terms of heading and text, everyPassage, and the mark of the language
	documentField = "document" // the document's id
	foldersField  = "folders"  // the ids of its folders as one term, joined by folderSeparator
	tagField      = "tag"
)

const (
	// everyPassage is a term that is added to every passage, and that no text contains.
	// Its postings give the lengths of all passages.
	// The mark of a language is added to every passage in that language.
	everyPassage    = "\x00"
	folderSeparator = "\x00"
)

func document(p searchindex.Passage) *blevedoc.Document {
	d := blevedoc.NewDocument(p.ID)
	d.AddField(&field{name: wordsField, passage: p})
	d.AddField(&field{name: documentField, terms: []string{p.Document}})
	if len(p.Folders) > 0 {
		d.AddField(&field{name: foldersField, terms: []string{strings.Join(p.Folders, folderSeparator)}})
	}
	if len(p.Tags) > 0 {
		d.AddField(&field{name: tagField, terms: p.Tags})
	}
	return d
}

// field is a field of a document. Either its terms are set, or the index computes them
// from the passage in Analyze, on several cores.
type field struct {
	name        string
	passage     searchindex.Passage
	terms       []string
	frequencies index.TokenFrequencies
	length      int
}

var _ blevedoc.Field = (*field)(nil)

// Analyze counts the terms.
func (f *field) Analyze() {
	terms := f.terms
	if f.name == wordsField {
		l, title, section, text := f.passage.Terms()
		terms = append(slices.Concat(slices.Repeat(title, bm25.TitleTimes), slices.Repeat(section, bm25.SectionTimes), text), everyPassage)
		f.length = len(terms) - 1
		if l != nil {
			terms = append(terms, l.Mark)
		}
	} else {
		f.length = len(terms)
	}
	size := 0
	for _, t := range terms {
		size += len(t)
	}
	f.frequencies = make(index.TokenFrequencies, len(terms))
	// The bytes of all terms are one allocation.
	counts, bytes := make([]index.TokenFreq, 0, len(terms)), make([]byte, 0, size)
	for _, t := range terms {
		if c := f.frequencies[t]; c != nil {
			c.SetFrequency(c.Frequency() + 1)
			continue
		}
		from := len(bytes)
		bytes = append(bytes, t...)
		counts = append(counts, index.TokenFreq{Term: bytes[from:len(bytes):len(bytes)]})
		c := &counts[len(counts)-1]
		c.SetFrequency(1)
		f.frequencies[t] = c
	}
}

func (f *field) Name() string              { return f.name }
func (f *field) ArrayPositions() []uint64  { return nil }
func (f *field) Value() []byte             { return nil }
func (f *field) NumPlainTextBytes() uint64 { return uint64(f.Size()) }
func (f *field) Size() int {
	return len(f.passage.Title) + len(f.passage.Section) + len(f.passage.Text)
}
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) AnalyzedLength() int                              { return f.length }
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.frequencies }

// Options makes bleve store the frequencies of terms and the length of every field, even
// if a field is used only in filters. Otherwise a merged segment would lose each term
// that only one passage has: it stores such a term as the norm and number of that
// passage, and reads a norm of 0 as no passage.
func (f *field) Options() index.FieldIndexingOptions { return index.IndexField }
