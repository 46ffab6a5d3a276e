package readmodel

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"annals/events"

	"github.com/google/uuid"
)

// Audit is the read model of who did what and when. It keeps entries of deleted folders
// and documents.
type Audit struct{}

func init() {
	Register(Model{Projection: Audit{}})
}

// Name is "audit".
func (Audit) Name() string { return "audit" }

// Version of the audit trail's tables.
func (Audit) Version() int { return 1 }

// Oldest returns Version: this program cannot read older tables.
func (a Audit) Oldest() int { return a.Version() }

// Types returns the events of the audit trail: all changes of folders and documents, and
// the events of jobs except those in NotAudited.
func (Audit) Types() []string {
	return []string{
		"FolderCreated", "FolderRenamed", "FolderMoved", "FolderShared", "FolderDeleted",
		"FolderInvitationAccepted", "FolderInvitationDeclined", "FolderLeft", "InviterUnblocked",
		"DocumentImported", "DocumentRenamed", "DocumentMoved", "DocumentTagged", "DocumentRevised", "DocumentReread", "DocumentDeleted",
		"FileAccepted", "ImportRequested", "FileFailed", "JobFinished",
	}
}

// NotAudited contains the types of events that are not in the audit trail, each with the
// reason.
var NotAudited = map[string]string{
	"SectionExtracted": "the text of a document, which its import or revision names",
	"FileStarted":      "progress of a job",
	"FileStepped":      "progress of a job",
	"FileImported":     "the import of the document says so",
}

// record is the entry that an event adds to the trail. Empty fields are copied from the
// last entry of the same subject.
type record struct {
	thing, place string
	name, parent *string
	file         int
	detail       string
}

// Apply adds one row. When a document is moved, Apply also changes the document's earlier
// rows, because the new folder decides who may read all of them.
func (a Audit) Apply(ctx context.Context, tx Tx, e events.Event) error {
	r, ok := recordOf(e)
	if !ok {
		return nil
	}
	values := []any{
		int64(e.Position), e.Metadata.Time.UnixMicro(), e.ID.String(), e.Type, string(e.Metadata.Actor), e.Metadata.Via, e.Metadata.Correlation,
		r.thing, r.place, r.name, r.parent, r.file, r.detail,
	}
	if _, moved := e.Data.(events.DocumentMoved); !moved {
		return tx.Exec(ctx, addEntry, values...)
	}
	added, err := tx.Changed(ctx, addEntry, values...)
	if err != nil || added == 0 {
		return err
	}
	return tx.Exec(ctx, `UPDATE entries SET place = $2 WHERE thing = $1`, r.thing, r.place)
}

// addEntry adds a row. Missing values are copied from the last row of the same subject.
const addEntry = `INSERT INTO entries (position, time, id, type, actor, via, correlation, thing, place, name, old_name, parent, old_parent, file, detail)
	SELECT $1, $2, $3, $4, $5, $6, $7, $8, coalesce(nullif($9, ''), last.place, ''),
		coalesce($10, last.name, ''), coalesce(last.name, ''), coalesce($11, last.parent, ''), coalesce(last.parent, ''), $12, $13
	FROM (SELECT 1) one LEFT JOIN (SELECT name, parent, place FROM entries WHERE thing = $8 ORDER BY position DESC LIMIT 1) last ON true
	WHERE true ON CONFLICT (position) DO NOTHING`

// recordOf returns the entry that an event adds. ok is false if it adds none.
func recordOf(e events.Event) (r record, ok bool) {
	if r, ok = ofFolder(e.Data); ok {
		return r, true
	}
	if r, ok = ofDocument(e.Data); ok {
		r.thing = e.Stream
		return r, true
	}
	return ofJob(e)
}

func ofFolder(data events.Data) (r record, ok bool) {
	var folder uuid.UUID
	if r, ok = ofInvited(data); ok {
		return r, true
	}
	switch d := data.(type) {
	case events.FolderCreated:
		folder, r.name, r.parent = d.Folder, &d.Name, new(IDText(d.Parent))
	case events.FolderRenamed:
		folder, r.name = d.Folder, &d.Name
	case events.FolderMoved:
		folder, r.parent = d.Folder, new(IDText(d.Parent))
	case events.FolderShared:
		folder, r.detail = d.Folder, inWords(sharedWith(d), func(text string) string { return text })
	case events.FolderInvitationAccepted:
		folder, r.detail = d.Folder, fmt.Sprintf("by %s (%s)", d.By, d.Access)
	case events.FolderLeft:
		folder = d.Folder
	case events.FolderDeleted:
		folder = d.Folder
	default:
		return r, false
	}
	r.thing, r.place, r.file = "folder-"+folder.String(), folder.String(), -1
	return r, true
}

// ofInvited returns the entry of an event that invited users see and the owners of the
// folder do not.
func ofInvited(data events.Data) (r record, ok bool) {
	r.file = -1
	switch d := data.(type) {
	case events.FolderInvitationDeclined:
		r.thing, r.place, r.detail = "folder-"+d.Folder.String(), string(d.Principal), string(d.By)
	case events.InviterUnblocked:
		r.thing, r.place, r.detail = "inviter-"+uuid.Nil.String(), string(d.Principal), string(d.By)
	default:
		return record{}, false
	}
	return r, true
}

// sharedWith lists the principals that a folder is shared with, and those that are
// invited.
func sharedWith(d events.FolderShared) (words []string) {
	for _, p := range d.Permissions {
		words = append(words, fmt.Sprintf("%s (%s)", p.Principal, p.Access))
	}
	for _, i := range d.Invitations {
		words = append(words, fmt.Sprintf("%s (%s, invited)", i.Principal, i.Access))
	}
	return words
}

func ofDocument(data events.Data) (r record, ok bool) {
	file := func(folder uuid.UUID) { r.place, r.parent = folder.String(), new(folder.String()) }
	switch d := data.(type) {
	case events.DocumentImported:
		file(d.Folder)
		r.name, r.detail = &d.Name, inWords(d.Tags, strconv.Quote)
	case events.DocumentMoved:
		file(d.Folder)
	case events.DocumentRenamed:
		r.name = &d.Name
	case events.DocumentTagged:
		r.detail = inWords(d.Tags, strconv.Quote)
	case events.DocumentRevised, events.DocumentReread, events.DocumentDeleted:
	default:
		return r, false
	}
	r.file = -1
	return r, true
}

// ofJob returns the entry of an event of a job. An accepted file gets an entry only if it
// was refused.
func ofJob(e events.Event) (r record, ok bool) {
	r = record{thing: e.Stream, place: string(e.Metadata.Actor), name: new(string), file: -1}
	switch d := e.Data.(type) {
	case events.FileAccepted:
		r.name, r.file, r.detail = &d.Name, d.File, d.Refused
		return r, d.Refused != ""
	case events.ImportRequested:
		r.detail = strconv.Itoa(d.Files)
	case events.FileFailed:
		r.file, r.detail = d.File, d.Error
	case events.JobFinished:
		r.detail = fmt.Sprintf("%d imported, %d failed", d.Successful, d.Failed)
	}
	return r, true
}

// inWords joins the first items of a list, and adds the number of the remaining items.
func inWords[T any](list []T, word func(T) string) string {
	const most = 64
	words := make([]string, 0, min(len(list), most+1))
	for i, one := range list {
		if i == most {
			words = append(words, fmt.Sprintf("%d more", len(list)-most))
			break
		}
		words = append(words, word(one))
	}
	return strings.Join(words, ", ")
}
