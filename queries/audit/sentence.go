package audit

import (
	"cmp"
	"strconv"

	"annals/events"
)

// words describes the event in a sentence whose subject is the actor.
func (r *row) words() string {
	name := strconv.Quote(r.name)
	switch r.kind {
	case "FolderCreated":
		return "made folder " + name + inFolder(" in folder ", r.parentName)
	case "FolderRenamed":
		return "renamed folder " + strconv.Quote(r.oldName) + " to " + name
	case "FolderMoved":
		return "moved folder " + name + r.way()
	case "FolderShared":
		return "shared folder " + name + " with " + cmp.Or(r.detail, "nobody else")
	case "FolderInvitationAccepted":
		return "accepted the invitation to folder " + name + " " + r.detail
	case "FolderInvitationDeclined":
		return "declined the invitation to folder " + name + " by " + r.detail
	case "FolderLeft":
		return "left folder " + name
	case "InviterUnblocked":
		return "unblocked invitations by " + r.detail
	case "FolderDeleted":
		return "deleted folder " + name + " and all that was in it"
	case "DocumentImported":
		if deleted, ok := events.RestoredIn(r.via); ok {
			return "restored document " + name + inFolder(" in folder ", r.parentName) + tagged(r.detail) + ", which was document " + deleted.String() + " before it was deleted"
		}
		return "imported document " + name + inFolder(" into folder ", r.parentName) + tagged(r.detail)
	case "DocumentRenamed":
		return "renamed document " + strconv.Quote(r.oldName) + " to " + name
	case "DocumentMoved":
		return "moved document " + name + r.way()
	case "DocumentTagged":
		if r.detail == "" {
			return "removed all tags of document " + name
		}
		return "set the tags of document " + name + " to " + r.detail
	case "DocumentRevised":
		return "gave document " + name + " new content"
	case "DocumentReread":
		return "had document " + name + " read again"
	case "DocumentDeleted":
		return "deleted document " + name
	}
	return r.jobWords(name)
}

// jobWords describes an event of a job.
func (r *row) jobWords(name string) string {
	if r.name == "" {
		name = "a file"
	}
	if events.PartIn(r.via) == events.ViaReread {
		return r.rereadWords(name)
	}
	if _, ok := events.RestoredIn(r.via); ok {
		return r.restoreWords(name)
	}
	switch r.kind {
	case "FileAccepted":
		return "uploaded " + name + ", which was refused: " + r.detail
	case "ImportRequested":
		if r.detail == "1" {
			return "uploaded 1 file"
		}
		return "uploaded " + r.detail + " files"
	case "FileFailed":
		return "uploaded " + name + ", which could not be imported: " + r.detail
	case "JobFinished":
		return "finished an upload: " + r.detail
	}
	return r.kind
}

// rereadWords describes an event of a job that reads documents again.
func (r *row) rereadWords(name string) string {
	switch r.kind {
	case "ImportRequested":
		if r.detail == "1" {
			return "asked to have 1 document read again"
		}
		return "asked to have " + r.detail + " documents read again"
	case "FileFailed":
		return "had " + name + " read again, which failed: " + r.detail
	case "JobFinished":
		return "finished having documents read again: " + r.detail
	}
	return r.kind
}

// restoreWords describes an event of a job that restores a deleted document.
func (r *row) restoreWords(name string) string {
	switch r.kind {
	case "ImportRequested":
		if r.restored != "" {
			return "restored deleted document " + name + " as document " + r.restored
		}
		return "asked to restore deleted document " + name
	case "FileFailed":
		return "asked to restore deleted document " + name + ", which failed: " + r.detail
	case "JobFinished":
		return "finished restoring deleted document " + name
	}
	return r.kind
}

// way names the folders from which and to which a thing was moved. It leaves out names
// that the user may not see.
func (r *row) way() string {
	way := inFolder(" from folder ", r.oldParentName) + inFolder(" to folder ", r.parentName)
	if r.top {
		way += " to the top level"
	}
	return way
}

// inFolder returns how followed by the folder's name, or "" if folder is empty because
// the user may not see the name.
func inFolder(how, folder string) string {
	if folder == "" {
		return ""
	}
	return how + strconv.Quote(folder)
}

// tagged describes the tags of an imported document.
func tagged(tags string) string {
	if tags == "" {
		return ""
	}
	return ", tagged " + tags
}
