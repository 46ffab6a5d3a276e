package commands

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/commands/naming"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// A file with FileAccepted.Replace becomes new content of the document with the same name in
// the same folder. If there is none, it becomes a new document. The read models know which
// documents have the name. The id of a new document is a hash of folder, name and a number,
// so concurrent uploads use the same stream: one creates the document, and the others add
// content to it.

// ClaimReplacement returns which document in the folder the file replaces, and what is left
// to append. Nothing is left if the document has the same bytes and tags already, or content
// that was uploaded after this file. ClaimReplacement itself appends nothing. The error is
// of kind fault.Unavailable while the read models lag behind. It is fault.Conflict if the
// file is to replace a certain version, and the document is at another version.
func (h *Handler) ClaimReplacement(ctx context.Context, f ImportFile, folder uuid.UUID) (Claim, error) {
	h.init()
	var known []uuid.UUID
	if h.Names != nil {
		var err error
		if known, err = h.Names.DocumentsNamed(ctx, folder, f.Accepted.Name, f.At); err != nil {
			return Claim{}, err
		}
	}
	recent, free, err := h.createdByName(ctx, folder, f.Accepted.Name)
	if err != nil {
		return Claim{}, err
	}
	// Documents that the read models do not know yet are newer than the known ones, so they
	// come first.
	recent = slices.DeleteFunc(recent, func(id uuid.UUID) bool { return slices.Contains(known, id) })
	var found []namesake
	for _, id := range append(recent, known...) {
		n, err := h.namesake(ctx, f, folder, id)
		if err != nil || n.Own {
			return n.Claim, err
		}
		if n.current {
			found = append(found, n)
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
		return Claim{}, staleVersion(f.Accepted.Name, claim.Version, v)
	}
	later, err := h.acceptedLater(ctx, found[0].contentBy, f)
	if later && err == nil {
		claim.Filed, claim.Outcome = true, events.OutcomeUnchanged
		claim.Notes = append(claim.Notes, "the document keeps its content, which was uploaded after this file")
	}
	return claim, err
}

// namesake is a document that has, or had, the same name and folder as a file.
type namesake struct {
	Claim
	current   bool   // the document exists, and has the name and folder now
	contentBy string // causation of the event that set the document's content
}

func (h *Handler) namesake(ctx context.Context, f ImportFile, folder, id uuid.UUID) (n namesake, err error) {
	err = h.documents.View(ctx, events.DocumentStream(id), func(d *document) error {
		n.Claim, n.contentBy = d.claimReplacement(f, id), d.contentBy
		n.current = d.exists && !d.deleted && d.folder == folder && d.name == f.Accepted.Name
		if !n.current || len(d.departures) == 0 {
			return nil
		}
		return h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
			n.current = !d.deletedWithFolder(t)
			return nil
		})
	})
	return n, err
}

// maxRecent limits how many of the newest documents created in a folder under one name are
// read from the log. The read models know the older documents.
const maxRecent = 100

// createdByName returns the newest documents that files with Replace have created in a
// folder under a name, newest first. free is the id for the next such document.
func (h *Handler) createdByName(ctx context.Context, folder uuid.UUID, name string) (recent []uuid.UUID, free uuid.UUID, err error) {
	n, err := h.countByName(ctx, folder, name)
	if err != nil {
		return nil, uuid.Nil, err
	}
	for i := n - 1; i >= max(0, n-maxRecent); i-- {
		recent = append(recent, events.NamedDocumentID(folder, name, i))
	}
	return recent, events.NamedDocumentID(folder, name, n), nil
}

// countByName returns how many documents files with Replace have created in a folder under a
// name. These documents are numbered without gaps, so a binary search reads only a few
// streams.
func (h *Handler) countByName(ctx context.Context, folder uuid.UUID, name string) (n int, err error) {
	exists := func(n int) (exists bool) {
		if err == nil {
			err = h.documents.View(ctx, events.DocumentStream(events.NamedDocumentID(folder, name, n)), func(d *document) error {
				exists = d.exists
				return nil
			})
		}
		return exists
	}
	low, high := 0, 0
	for high < maxClaims && exists(high) {
		low, high = high+1, min(2*high+1, maxClaims)
	}
	n = low + sort.Search(high-low, func(i int) bool { return !exists(low + i) })
	if err == nil && n == maxClaims {
		err = fault.Errorf(fault.Invalid, "replace the document: %d files named %q, the limit, were imported into this folder with replace and then moved or deleted: import the file without replace, or under another name", maxClaims, name)
	}
	return n, err
}

// claimReplacement returns what is left to append if a file replaces this document. An
// earlier attempt to import the same file is recognised by the causation of its events,
// even if other events followed.
func (d *document) claimReplacement(f ImportFile, id uuid.UUID) Claim {
	claim := Claim{
		Document: id, Folder: d.folder, Version: d.version, Outcome: events.OutcomeUpdated,
		Title: d.content.Title, Warnings: slices.Clone(d.content.Warnings), Same: d.content.SHA256 == f.Accepted.SHA256,
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

// addTags sets Tags to the document's tags together with the given ones. It leaves Tags nil
// if the document has all the given tags already.
func (c *Claim) addTags(has, given []string) {
	all, err := naming.Tags(slices.Concat(has, given))
	switch {
	case err != nil:
		c.Notes = append(c.Notes, "no tags were added to the document: "+err.Error())
	case len(all) > len(has):
		c.Tags = all
	}
}

// noteOthers adds a note that lists up to five other documents with the same name.
func (c *Claim) noteOthers(others []namesake) {
	if len(others) == 0 {
		return
	}
	const limit = 5
	var ids []string
	for _, o := range others[:min(len(others), limit)] {
		ids = append(ids, o.Document.String())
	}
	if more := len(others) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	c.Notes = append(c.Notes, "other documents in the folder have the same name and were not changed: "+strings.Join(ids, ", "))
}

// acceptedLater reports whether a document's content came from a file that was accepted
// after f. cause is the causation of the event that set the content.
func (h *Handler) acceptedLater(ctx context.Context, cause string, f ImportFile) (later bool, err error) {
	stream, number, _ := strings.Cut(cause, "@")
	file, err := strconv.Atoi(number)
	id := events.StreamID(stream)
	if err != nil || stream != events.JobStream(id) {
		return false, nil // the content was not imported by a job
	}
	if id == f.Job {
		return file > f.Accepted.File, nil
	}
	// The position of a job never changes, so the cached state is recent enough.
	err = h.jobs.Peek(ctx, stream, func(j *job) bool { return j.exists }, func(j *job) error {
		later = j.at > f.At
		return nil
	})
	return later, err
}

// replaceDocument makes an extracted file the content of the claimed document, or a new
// document. If the document has the same bytes already, it only adds the tags.
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
		return nil, changedSinceClaim(c.claim, d)
	}
	next := d.version + 1 // all events have this version, because they are one change
	if !c.claim.Same {
		data = append(data, events.DocumentRevised{Version: next, Content: c.content})
	}
	if c.claim.Tags != nil {
		data = append(data, events.DocumentTagged{Version: next, Tags: c.claim.Tags})
	}
	return data, nil
}

// FileReplacement files the content of a file as claimed, and returns the outcome. The error
// is fault.Conflict if the document has changed since it was claimed: the caller must claim
// again. The user must have write access to the folder.
func (h *Handler) FileReplacement(ctx context.Context, f ImportFile, claim Claim, content events.Content) (became Claim, err error) {
	h.init()
	stream := events.DocumentStream(claim.Document)
	var hold *quota.Hold
	defer func() { hold.Close() }()
	err = h.filing.file(ctx, func() error {
		at, err := h.documents.Do(ctx, aggregate.Command[*document]{
			Name: "replace document", Stream: stream, Cause: f.Cause,
			Allow: func(ctx context.Context, d *document) error {
				if d.claimReplacement(f, claim.Document).Own {
					return nil // an earlier attempt filed the file, and the user had access then
				}
				err := h.mayWrite(ctx, f.User, claim.Folder)
				if err == nil && hold == nil && claim.Version == 0 && f.Accepted.Existing {
					hold, err = h.holdReplacement(ctx, f, claim.Folder)
				}
				return err
			},
			Decide: replaceDocument{f, claim, content}.decide,
			ID:     func(revision int64, data events.Data) uuid.UUID { return f.EventID(stream, revision, data) },
			Seen:   func(d *document) { became = d.claimReplacement(f, claim.Document) },
		})
		if err == nil {
			hold.Settle(at)
		}
		return err
	})
	became.Notes = claim.Notes
	return became, err
}
