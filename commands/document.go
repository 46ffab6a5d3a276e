package commands

import (
	"context"
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// document is one document, folded from its stream.
type document struct {
	exists  bool
	deleted bool
	version int
	folder  uuid.UUID
	left    []leaving
	name    string
	tags    []string

	sha256    string
	mediaType string
	title     string
	warnings  []string

	bytes int64 // that all versions take

	contentBy string   // causation of what its content came with, but for DocumentReread
	causation string   // of DocumentImported: what made the document
	revisions []string // causations of each DocumentRevised
	tagged    []string // and of each DocumentTagged that an import caused
}

// leaving is a move of a document out of a folder.
type leaving struct {
	folder uuid.UUID
	at     events.Position
}

func (d *document) apply(e events.Event) {
	switch data := e.Data.(type) {
	case events.DocumentImported:
		d.exists, d.version, d.causation = true, data.Version, e.Metadata.Causation
		d.folder, d.name, d.tags, d.contentBy = data.Folder, data.Name, data.Tags, e.Metadata.Causation
		d.bytes += data.Stored()
		d.read(data.Content)
	case events.DocumentRenamed:
		d.version, d.name = data.Version, data.Name
	case events.DocumentMoved:
		d.left = append(d.left, leaving{d.folder, e.Position})
		d.version, d.folder = data.Version, data.Folder
	case events.DocumentTagged:
		d.version, d.tags = data.Version, data.Tags
		if e.Metadata.Causation != "" {
			d.tagged = append(d.tagged, e.Metadata.Causation)
		}
	case events.DocumentRevised:
		d.version, d.revisions, d.contentBy = data.Version, append(d.revisions, e.Metadata.Causation), e.Metadata.Causation
		d.bytes += data.Stored()
		d.read(data.Content)
	case events.DocumentReread:
		d.version = data.Version
		d.read(data.Content)
	case events.DocumentDeleted:
		d.version, d.deleted = data.Version, true
	}
}

func (d *document) read(c events.Content) {
	d.sha256, d.mediaType, d.title, d.warnings = c.SHA256, c.MediaType, c.Title, c.Warnings
}

// dropped reports whether the document went with a folder that was deleted.
// So it did even if it was moved elsewhere after that, by one who did not know
// it yet: who reads the log sees the folder go first.
func (d *document) dropped(t *tree) bool {
	return len(t.path(d.folder)) == 0 ||
		slices.ContainsFunc(d.left, func(l leaving) bool { return t.goneBefore(l.folder, l.at) })
}

// holds reports whether the document is in a folder, with these bytes, now.
func (d *document) holds(folder uuid.UUID, sha256 string) bool {
	return d.exists && !d.deleted && d.folder == folder && d.sha256 == sha256
}

// Claim tells what an upload becomes: a new document or new content of one, or
// a document that is there already.
type Claim struct {
	Document uuid.UUID
	Folder   uuid.UUID // in which the document is, or will be
	// Filed says that there is nothing left to make.
	Filed bool
	// Own says that what is there was made by this very upload.
	Own      bool
	Title    string   // of the document that exists
	Warnings []string //
	// Of a file that replaces a document: the version that it judged, 0 for none,
	// what it becomes or became, whether the document has the same bytes already,
	// the tags that it lacks, with those that it has, and what to note besides.
	Version int
	Outcome string
	Same    bool
	Tags    []string
	Notes   []string
}

// claim judges whether an upload may become this document, or is it. ok is
// false where another one took its place.
func (d *document) claim(c ImportDocument) (claim Claim, ok bool) {
	claim.Document, claim.Folder = c.ID, c.Folder
	if !d.exists {
		return claim, true
	}
	claim.Folder = d.folder
	claim.Filed, claim.Own = true, d.causation == c.Cause.Causation && c.Cause.Causation != ""
	claim.Title, claim.Warnings = d.title, slices.Clone(d.warnings)
	return claim, claim.Own || d.holds(c.Folder, c.SHA256)
}

// ImportDocument files an upload as a document.
type ImportDocument struct {
	ID     uuid.UUID // as ClaimDocument gave it
	Folder uuid.UUID
	Name   string
	Tags   []string
	events.Content

	User events.User
	// Cause is who and what led to it. Its Causation names the upload: by it
	// an import that was cut off knows its own document again.
	Cause events.Cause
	// EventID names the event, so that an append which is repeated is
	// recognised. Nil: a random id.
	EventID func(stream string, revision int64, data events.Data) uuid.UUID
}

func (c ImportDocument) decide(d *document) ([]events.Data, error) {
	claim, ok := d.claim(c)
	switch {
	case !ok:
		return nil, fault.Errorf(fault.Conflict, "document %s is taken", c.ID)
	case claim.Filed:
		return nil, nil
	}
	return []events.Data{events.DocumentImported{Version: 1, Folder: c.Folder, Name: c.Name, Tags: c.Tags, Content: c.Content}}, nil
}

// maxClaims bounds how often the same bytes are filed in one folder after
// they were moved, revised or deleted there.
const maxClaims = 10_000

// ClaimDocument returns what an upload, of which Folder, SHA256 and Cause are
// set, becomes: the document that it is already, or that has the same bytes
// in the same folder, or else a new one. Nothing is appended: two uploads may
// be given the same id, and one of them will file it.
func (h *Handler) ClaimDocument(ctx context.Context, c ImportDocument) (claim Claim, err error) {
	h.init()
	for n := range maxClaims {
		var ok bool
		c.ID = events.DocumentID(c.Folder, c.SHA256, n)
		err = view(ctx, h, h.documents, events.DocumentStream(c.ID), func(d *document) error {
			if claim, ok = d.claim(c); !ok || claim.Own || len(d.left) == 0 {
				return nil
			}
			return view(ctx, h, h.folders, events.Folders, func(t *tree) error {
				ok = !d.dropped(t)
				return nil
			})
		})
		if err != nil || ok {
			return claim, err
		}
	}
	return Claim{}, fault.Errorf(fault.Invalid, "the same file was imported to this folder and moved, changed or deleted %d times, and no more can be: import it to another folder", maxClaims)
}

// KnownDuplicate tells whether a document that the read side knows is in the
// folder of an upload, with its bytes, now. So one is found that came there,
// or got its content, after it was made: its id does not tell that.
func (h *Handler) KnownDuplicate(ctx context.Context, c ImportDocument, known uuid.UUID) (claim Claim, found bool, err error) {
	h.init()
	c.ID = known
	err = view(ctx, h, h.documents, events.DocumentStream(known), func(d *document) error {
		if found = d.holds(c.Folder, c.SHA256); found {
			claim, _ = d.claim(c)
		}
		return nil
	})
	return claim, found, err
}

// CheckFiling returns fault.Forbidden unless a user may file in a folder now.
func (h *Handler) CheckFiling(ctx context.Context, user events.User, folder uuid.UUID) error {
	h.init()
	return h.mayWrite(ctx, user, folder)
}

// ImportDocument makes a document of an upload, and tells what it became: one
// that came first with the same bytes may stand in its place. The user must
// have write access to the folder: else the error is fault.Forbidden. Where
// the id is taken by another document it is fault.Conflict: claim again.
func (h *Handler) ImportDocument(ctx context.Context, c ImportDocument) (claim Claim, err error) {
	h.init()
	stream := events.DocumentStream(c.ID)
	a := action[*document]{
		name: "import document", stream: stream, cause: c.Cause,
		allow: func(ctx context.Context, d *document) error {
			if claim, _ := d.claim(c); claim.Own {
				return nil // it was filed when the user could
			}
			return h.mayWrite(ctx, c.User, c.Folder)
		},
		decide: c.decide,
		seen:   func(d *document) { claim, _ = d.claim(c) },
	}
	if c.EventID != nil {
		a.id = func(revision int64, data events.Data) uuid.UUID { return c.EventID(stream, revision, data) }
	}
	err = h.filing.file(ctx, func() error {
		_, err := do(ctx, h, h.documents, a)
		return err
	})
	return claim, err
}

// mayWrite returns an error unless a user has write access to a folder.
func (h *Handler) mayWrite(ctx context.Context, user events.User, folder uuid.UUID) error {
	return view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		if t.access(user, folder) >= events.Write {
			return nil
		}
		return fault.Errorf(fault.Forbidden, "you may not write in this folder")
	})
}
