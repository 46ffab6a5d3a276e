package commands

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// A file that replaces becomes new content of the document of its name in its
// folder, or a new document where there is none. The read side tells which
// documents have that name. New ones get an id that follows from folder and name,
// so that all who make one at the same moment meet in one stream: the first makes
// the document, the others give it new content.

// ClaimReplacement tells which document of a folder a file that replaces one
// becomes, and what is left to do for that: nothing where it has the same bytes
// and tags, or content that was uploaded after this file. Nothing is appended. The
// error is of kind fault.Unavailable while the read side is behind, and
// fault.Conflict if the file is to replace another version.
func (h *Handler) ClaimReplacement(ctx context.Context, f ImportFile, folder uuid.UUID) (Claim, error) {
	h.init()
	var known []uuid.UUID
	if h.Names != nil {
		var err error
		if known, err = h.Names.DocumentsNamed(ctx, folder, f.Accepted.Name, f.At); err != nil {
			return Claim{}, err
		}
	}
	made, free, err := h.madeByName(ctx, folder, f.Accepted.Name)
	if err != nil {
		return Claim{}, err
	}
	// What the read side does not know yet is newer than what it knows.
	made = slices.DeleteFunc(made, func(id uuid.UUID) bool { return slices.Contains(known, id) })
	var found []standing
	for _, id := range append(made, known...) {
		s, err := h.standing(ctx, f, folder, id)
		if err != nil || s.Own {
			return s.Claim, err
		}
		if s.inPlace {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		if v := f.Accepted.Version; v > 0 {
			return Claim{}, NoVersion(f.Accepted)
		}
		return Claim{Document: free, Folder: folder, Outcome: events.OutcomeCreated}, nil
	}
	claim := found[0].Claim
	claim.noteOthers(found[1:])
	if claim.Same && claim.Tags == nil {
		claim.Filed, claim.Outcome = true, events.OutcomeUnchanged
		return claim, nil
	}
	if v := f.Accepted.Version; v > 0 && v != claim.Version {
		return Claim{}, fault.Errorf(fault.Conflict, "document %q is at version %d, not %d", f.Accepted.Name, claim.Version, v)
	}
	later, err := h.acceptedLater(ctx, found[0].contentBy, f)
	if later && err == nil {
		claim.Filed, claim.Outcome = true, events.OutcomeUnchanged
		claim.Notes = append(claim.Notes, "the document has content that was uploaded after this file, which is kept")
	}
	return claim, err
}

// NoVersion is the error of a file that is to replace a version of a document which
// is not there.
func NoVersion(f events.FileAccepted) error {
	return fault.Errorf(fault.Conflict, "there is no document %q in the folder, of which version %d was to be replaced", f.Name, f.Version)
}

// standing is a document as one that a file may replace.
type standing struct {
	Claim
	inPlace   bool   // it lives, in that folder and under that name
	contentBy string // what caused its content
}

// standing looks at a document.
func (h *Handler) standing(ctx context.Context, f ImportFile, folder, id uuid.UUID) (s standing, err error) {
	err = view(ctx, h, h.documents, events.DocumentStream(id), func(d *document) error {
		s.Claim, s.contentBy = d.claimReplacement(f, id), d.contentBy
		s.inPlace = d.exists && !d.deleted && d.folder == folder && d.name == f.Accepted.Name
		if !s.inPlace || len(d.left) == 0 {
			return nil
		}
		return view(ctx, h, h.folders, events.Folders, func(t *tree) error {
			s.inPlace = !d.dropped(t)
			return nil
		})
	})
	return s, err
}

// maxLooks is how many of the documents that were made in a folder under one name
// are looked at. In place, the read side knows all but the newest.
const maxLooks = 100

// madeByName returns the documents that were made last in a folder by files that
// replace one of a name, the newest first, and the id of the next one.
func (h *Handler) madeByName(ctx context.Context, folder uuid.UUID, name string) (made []uuid.UUID, free uuid.UUID, err error) {
	n, err := h.countByName(ctx, folder, name)
	if err != nil {
		return nil, uuid.Nil, err
	}
	for i := n - 1; i >= max(0, n-maxLooks); i-- {
		made = append(made, events.NamedDocumentID(folder, name, i))
	}
	return made, events.NamedDocumentID(folder, name, n), nil
}

// countByName returns how many documents madeByName has to choose from. Their
// numbers have no gaps, so that few of them have to be read.
func (h *Handler) countByName(ctx context.Context, folder uuid.UUID, name string) (n int, err error) {
	exists := func(n int) (there bool) {
		if err == nil {
			err = view(ctx, h, h.documents, events.DocumentStream(events.NamedDocumentID(folder, name, n)), func(d *document) error {
				there = d.exists
				return nil
			})
		}
		return there
	}
	least, most := 0, 0
	for most < maxClaims && exists(most) {
		least, most = most+1, min(2*most+1, maxClaims)
	}
	n = least + sort.Search(most-least, func(i int) bool { return !exists(least + i) })
	if err == nil && n == maxClaims {
		err = fault.Errorf(fault.Invalid, "%d files named %q were imported to this folder and moved or deleted, and no more can be with replace: import the file without it, or under another name", maxClaims, name)
	}
	return n, err
}

// claimReplacement judges what is left to do for a file that is to become this
// document. What the file's own work made it knows by what caused it, whatever
// came after.
func (d *document) claimReplacement(f ImportFile, id uuid.UUID) Claim {
	claim := Claim{
		Document: id, Folder: d.folder, Version: d.version, Outcome: events.OutcomeUpdated,
		Title: d.title, Warnings: slices.Clone(d.warnings), Same: d.sha256 == f.Accepted.SHA256,
	}
	cause := f.Cause.Causation
	switch {
	case d.causation == cause:
		claim.Own, claim.Outcome, claim.Same = true, events.OutcomeCreated, false
	case slices.Contains(d.revisions, cause):
		claim.Own, claim.Same = true, false
	case slices.Contains(d.tagged, cause):
		claim.Own, claim.Same = true, true
	default:
		claim.addTags(d.tags, f.Accepted.Tags)
	}
	claim.Filed = claim.Own
	return claim
}

// addTags notes the tags that a document is to have, where it lacks some that were
// given: none is taken from it.
func (c *Claim) addTags(has, given []string) {
	all, err := NormalizeTags(slices.Concat(has, given))
	switch {
	case err != nil:
		c.Notes = append(c.Notes, "no tags were added to the document: "+err.Error())
	case len(all) > len(has):
		c.Tags = all
	}
}

// noteOthers names further documents of the name, as far as there is room.
func (c *Claim) noteOthers(others []standing) {
	if len(others) == 0 {
		return
	}
	const most = 5
	var ids []string
	for _, o := range others[:min(len(others), most)] {
		ids = append(ids, o.Document.String())
	}
	if more := len(others) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	c.Notes = append(c.Notes, "the folder holds other documents of this name, which stay as they are: "+strings.Join(ids, ", "))
}

// acceptedLater reports whether what caused a document's content is a file that was
// accepted after another one.
func (h *Handler) acceptedLater(ctx context.Context, cause string, f ImportFile) (later bool, err error) {
	stream, number, _ := strings.Cut(cause, "@")
	file, err := strconv.Atoi(number)
	id := events.StreamID(stream)
	if err != nil || stream != events.JobStream(id) {
		return false, nil // of no import
	}
	if id == f.Job {
		return file > f.Accepted.File, nil
	}
	// When a job was accepted never changes.
	err = peek(ctx, h, h.jobs, stream, func(j *job) bool { return j.exists }, func(j *job) error {
		later = j.at > f.At
		return nil
	})
	return later, err
}

// replaceDocument makes what was read of a file the content of the document that
// was claimed, or a new document. Where the claim holds the same bytes the
// document is tagged alone.
type replaceDocument struct {
	file    ImportFile
	claim   Claim
	content events.Content
}

func (c replaceDocument) decide(d *document) (data []events.Data, err error) {
	switch {
	case d.claimReplacement(c.file, c.claim.Document).Own:
		return nil, nil
	case c.claim.Version == 0 && !d.exists:
		a := c.file.Accepted
		return []events.Data{events.DocumentImported{Version: 1, Folder: c.claim.Folder, Name: a.Name, Tags: a.Tags, Content: c.content}}, nil
	case c.claim.Version != d.version || d.deleted:
		return nil, fault.Errorf(fault.Conflict, "document %s has changed since it was claimed: it is at version %d, not %d", c.claim.Document, d.version, c.claim.Version)
	}
	next := d.version + 1 // all is one change
	if !c.claim.Same {
		data = append(data, events.DocumentRevised{Version: next, Content: c.content})
	}
	if c.claim.Tags != nil {
		data = append(data, events.DocumentTagged{Version: next, Tags: c.claim.Tags})
	}
	return data, nil
}

// FileReplacement carries out what ClaimReplacement found to be done, and returns
// what became of the file. Where the document has changed since the claim it is
// fault.Conflict: claim again. The user must have write access to the folder.
func (h *Handler) FileReplacement(ctx context.Context, f ImportFile, claim Claim, content events.Content) (became Claim, err error) {
	h.init()
	stream := events.DocumentStream(claim.Document)
	var hold *quota.Hold
	defer func() { hold.Close() }()
	err = h.filing.file(ctx, func() error {
		at, err := do(ctx, h, h.documents, action[*document]{
			name: "replace document", stream: stream, cause: f.Cause,
			allow: func(ctx context.Context, d *document) error {
				if d.claimReplacement(f, claim.Document).Own {
					return nil // it was filed when the user could
				}
				err := h.mayWrite(ctx, f.User, claim.Folder)
				if err == nil && hold == nil && claim.Version == 0 && f.Accepted.Existing {
					hold, err = h.holdReplacement(ctx, f, claim.Folder)
				}
				return err
			},
			decide: replaceDocument{f, claim, content}.decide,
			id:     func(revision int64, data events.Data) uuid.UUID { return f.EventID(stream, revision, data) },
			seen:   func(d *document) { became = d.claimReplacement(f, claim.Document) },
		})
		if err == nil {
			hold.Settle(at)
		}
		return err
	})
	became.Notes = claim.Notes
	return became, err
}
