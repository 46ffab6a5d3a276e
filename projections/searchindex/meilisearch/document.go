package meilisearch

import (
	"bytes"
	"encoding/json"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/projections/searchindex"

	"github.com/meilisearch/meilisearch-go"
)

// passageDocument is a passage in the index.
type passageDocument struct {
	ID       string   `json:"id"`
	Document string   `json:"document"`
	Folders  []string `json:"folders"`
	Tags     []string `json:"tags"`
	Language string   `json:"language,omitempty"` // "" for English
	Title    string   `json:"title"`
	Section  string   `json:"section"`
	Text     string   `json:"text"`
}

// emptied replaces a deleted passage in the index until a sweep removes it.
type emptied struct {
	ID   string `json:"id"`
	Gone bool   `json:"gone"`
}

// stateDocument is the document that has the position of the index. The function key
// never returns its id, so no passage has the same id.
type stateDocument struct {
	ID       string          `json:"id"`
	Position events.Position `json:"position,string"`
}

const stateID = "_state"

func newPassageDocument(p searchindex.Passage) (d passageDocument, err error) {
	l, title, section, text := p.Terms()
	d = passageDocument{
		ID: key(p.ID), Document: key(p.Document), Folders: keys(p.Folders), Tags: keys(p.Tags),
		Title: strings.Join(title, " "), Section: strings.Join(section, " "), Text: strings.Join(text, " "),
	}
	if l != nil {
		d.Language = l.Code
	}
	if len(d.ID) > maxKey {
		return d, fault.Errorf(fault.Invalid, "the id of passage %.60s… is too long", p.ID)
	}
	return d, nil
}

// appendBatch appends the documents of a batch, one per line. Deletions come first, so
// that a passage that is both deleted and put remains.
func appendBatch(to *bytes.Buffer, b searchindex.Batch) error {
	lines := json.NewEncoder(to)
	for _, id := range b.Delete {
		if err := lines.Encode(emptied{key(id), true}); err != nil {
			return err
		}
	}
	for _, p := range b.Put {
		d, err := newPassageDocument(p)
		if err == nil {
			err = lines.Encode(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func hitID(hit meilisearch.Hit) (id string, err error) {
	var text string
	if err := json.Unmarshal(hit["id"], &text); err != nil {
		return "", classify(errUnexpectedReply)
	}
	id, ok := parseKey(text)
	if !ok {
		return "", fault.Errorf(fault.Internal, "%w: it holds a document %q that Annals did not write", searchindex.ErrDamaged, text)
	}
	return id, nil
}
