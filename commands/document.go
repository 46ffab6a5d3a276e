package commands

import (
	"context"
	"slices"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// document is a document, folded from its stream.
type document struct {
	exists     bool
	deleted    bool
	deletedIn  int64 // revision of the DocumentDeleted
	version    int
	folder     uuid.UUID
	departures []departure
	name       string
	tags       []string

	content        events.Content
	contentVersion int // version that introduced it

	bytes int64 // stored for all versions

	contentBy string   // causation of the DocumentImported or DocumentRevised that set its content
	causation string   // causation of the DocumentImported
	revisions []string // causation of each DocumentRevised and DocumentReread
	tagged    []string // causation of each DocumentTagged that an import caused
}

// departure is a move of a document out of a folder.
type departure struct {
	folder uuid.UUID
	at     events.Position
}

func (d *document) Apply(e events.Event) {
	switch data := e.Data.(type) {
	case events.DocumentImported:
		d.exists, d.version, d.causation = true, data.Version, e.Metadata.Causation
		d.folder, d.name, d.tags, d.contentBy = data.Folder, data.Name, data.Tags, e.Metadata.Causation
		d.bytes += data.Stored()
		d.content, d.contentVersion = data.Content, data.Version
	case events.DocumentRenamed:
		d.version, d.name = data.Version, data.Name
	case events.DocumentMoved:
		d.departures = append(d.departures, departure{d.folder, e.Position})
		d.version, d.folder = data.Version, data.Folder
	case events.DocumentTagged:
		d.version, d.tags = data.Version, data.Tags
		if e.Metadata.Causation != "" {
			d.tagged = append(d.tagged, e.Metadata.Causation)
		}
	case events.DocumentRevised:
		d.version, d.revisions, d.contentBy = data.Version, append(d.revisions, e.Metadata.Causation), e.Metadata.Causation
		d.bytes += data.Stored()
		d.content, d.contentVersion = data.Content, data.Version
	case events.DocumentReread:
		d.version, d.revisions = data.Version, append(d.revisions, e.Metadata.Causation)
		d.bytes += data.Stored() - d.content.Stored() // the new text replaces the earlier one
		d.content, d.contentVersion = data.Content, data.Version
	case events.DocumentDeleted:
		d.version, d.deleted, d.deletedIn = data.Version, true, e.Revision
	}
}

// deletedWithFolder reports whether the document was deleted with a folder: with the one
// that it is in, or with one that it was moved out of after the folder's deletion. Such a
// move is possible if another process had not seen the deletion; the deletion still comes
// first in the log.
func (d *document) deletedWithFolder(t *foldertree.Tree) bool {
	return len(t.Path(d.folder)) == 0 ||
		slices.ContainsFunc(d.departures, func(l departure) bool { return t.DeletedBefore(l.folder, l.at) })
}

// isIn reports whether the document is in a folder now and has these bytes.
func (d *document) isIn(folder uuid.UUID, sha256 string) bool {
	return d.exists && !d.deleted && d.folder == folder && d.content.SHA256 == sha256
}

// Claim is what an upload becomes, or has become: a new document, new content of a document,
// or a duplicate of an existing document.
type Claim struct {
	Document uuid.UUID
	Folder   uuid.UUID // folder that the document is in, or will be filed in
	Filed    bool      // nothing is left to append
	Own      bool      // an earlier attempt of this upload created the document or this version
	Title    string    // title of the existing document
	Warnings []string  // warnings of the existing document

	// Set only for a file that asks to replace a document (FileAccepted.Replace):
	Version int      // version of the document when it was claimed; 0 for a new document
	Outcome string   // events.OutcomeCreated, …
	Same    bool     // the document has the same bytes already
	Tags    []string // all tags that the document will have; nil if it has the given tags already
	Notes   []string // messages for the user
}

// claim returns the outcome of filing an upload as this document. ok is false if the id
// belongs to another document.
func (d *document) claim(c ImportDocument) (claim Claim, ok bool) {
	claim.Document, claim.Folder = c.ID, c.Folder
	if !d.exists {
		return claim, true
	}
	claim.Folder = d.folder
	claim.Filed, claim.Own = true, d.causation == c.Cause.Causation && c.Cause.Causation != ""
	claim.Title, claim.Warnings = d.content.Title, slices.Clone(d.content.Warnings)
	return claim, claim.Own || d.isIn(c.Folder, c.SHA256)
}

// ImportDocument files an upload as a document.
type ImportDocument struct {
	ID     uuid.UUID // as returned by ClaimDocument
	Folder uuid.UUID
	Name   string
	Tags   []string
	events.Content

	User events.User
	// Cause.Causation names the upload. A resumed import uses it to recognise the document
	// that it created before.
	Cause events.Cause
	// EventID returns the id of the event. From this id the log recognises a repeated
	// append. If EventID is nil the id is random.
	EventID func(stream string, revision int64, data events.Data) uuid.UUID
}

func (c ImportDocument) decide(d *document) ([]events.Data, error) {
	claim, ok := d.claim(c)
	switch {
	case !ok:
		return nil, idTaken(c.ID)
	case claim.Filed:
		return nil, nil
	}
	return []events.Data{events.DocumentImported{Version: 1, Folder: c.Folder, Name: c.Name, Tags: c.Tags, Content: c.Content}}, nil
}

// maxClaims limits how often the same bytes can be filed in the same folder again after
// the document was moved, revised or deleted.
const maxClaims = 10_000

// ClaimDocument returns which document an upload becomes: the document that an earlier
// attempt created, a document with the same bytes in the folder, or a new document. It uses
// only Folder, SHA256 and Cause of c. It appends nothing, so two uploads may get the same id
// for a new document; only one of them will create the document.
func (h *Handler) ClaimDocument(ctx context.Context, c ImportDocument) (claim Claim, err error) {
	h.init()
	for n := range maxClaims {
		var ok bool
		c.ID = events.DocumentID(c.Folder, c.SHA256, n)
		err = h.documents.View(ctx, events.DocumentStream(c.ID), func(d *document) error {
			if claim, ok = d.claim(c); !ok || claim.Own || len(d.departures) == 0 {
				return nil
			}
			return h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
				ok = !d.deletedWithFolder(t)
				return nil
			})
		})
		if err != nil || ok {
			return claim, err
		}
	}
	return Claim{}, fault.Errorf(fault.Invalid, "the same file was imported into this folder, and then moved, changed or deleted, %d times, which is the limit: import it into another folder", maxClaims)
}

// KnownDuplicate reports whether a document that the read models found is now in the folder
// of the upload c, and has the same bytes. known is its id. ClaimDocument does not find
// documents that were moved or revised, because their ids are hashes of their first folder
// and bytes.
func (h *Handler) KnownDuplicate(ctx context.Context, c ImportDocument, known uuid.UUID) (claim Claim, found bool, err error) {
	h.init()
	c.ID = known
	err = h.documents.View(ctx, events.DocumentStream(known), func(d *document) error {
		if found = d.isIn(c.Folder, c.SHA256); found {
			claim, _ = d.claim(c)
		}
		return nil
	})
	return claim, found, err
}

// CheckFiling returns fault.Forbidden unless a user has write access to a folder now.
func (h *Handler) CheckFiling(ctx context.Context, user events.User, folder uuid.UUID) error {
	h.init()
	return h.mayWrite(ctx, user, folder)
}

// ImportDocument files an upload as a document. It returns the outcome, because another
// upload may have filed the same bytes first. The error is fault.Forbidden if the user has
// no write access to the folder, and fault.Conflict if another document has the id: the
// caller must claim again.
func (h *Handler) ImportDocument(ctx context.Context, c ImportDocument) (claim Claim, err error) {
	h.init()
	stream := events.DocumentStream(c.ID)
	a := aggregate.Command[*document]{
		Name: "import document", Stream: stream, Cause: c.Cause,
		Allow: func(ctx context.Context, d *document) error {
			if claim, _ := d.claim(c); claim.Own {
				return nil // an earlier attempt filed the document, and the user had access then
			}
			return h.mayWrite(ctx, c.User, c.Folder)
		},
		Decide: c.decide,
		Seen:   func(d *document) { claim, _ = d.claim(c) },
	}
	if c.EventID != nil {
		a.ID = func(revision int64, data events.Data) uuid.UUID { return c.EventID(stream, revision, data) }
	}
	err = h.filing.file(ctx, func() error {
		_, err := h.documents.Do(ctx, a)
		return err
	})
	return claim, err
}

// mayWrite returns an error unless a user has write access to a folder.
func (h *Handler) mayWrite(ctx context.Context, user events.User, folder uuid.UUID) error {
	return h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		if t.Access(user, folder) >= events.Write {
			return nil
		}
		return fault.Errorf(fault.Forbidden, "you may not write in this folder")
	})
}
