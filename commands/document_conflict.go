package commands

import (
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// This file contains the errors for conflicts of documents. The errors for conflicts of
// folders are in foldertree/conflict.go, and those for names that look alike in
// foldertree/alike.go.

// fresh returns an error unless the document is still at the version that the caller read.
func (d *document) fresh(version int) error {
	if version != d.version {
		return staleVersion(d.name, d.version, version)
	}
	return nil
}

func staleVersion(name string, current, version int) error {
	return fault.Errorf(fault.Conflict, "document %q is at version %d, not %d", name, current, version)
}

// NoVersion returns the error for a file that is to replace a certain version of a document,
// if there is no such document.
func NoVersion(f events.FileAccepted) error {
	return fault.Errorf(fault.Conflict, "replace version %[2]d of document %[1]q: the folder has no such document", f.Name, f.Version)
}

// changedSinceClaim returns the error for a document that has changed since it was claimed.
// The caller must claim again.
func changedSinceClaim(c Claim, d *document) error {
	return fault.Errorf(fault.Conflict, "document %s has changed since it was claimed: it is at version %d, not %d", c.Document, d.version, c.Version)
}

// idTaken returns the error for a claimed id that another document has got meanwhile. The
// caller must claim again.
func idTaken(id uuid.UUID) error {
	return fault.Errorf(fault.Conflict, "document id %s was claimed, but another document has it now", id)
}

// deletedWhileMoved returns the error for a document that was moved out of, or into, a
// folder that was deleted at the same time.
func deletedWhileMoved(id uuid.UUID) error {
	return fault.Errorf(fault.Conflict, "document %s was deleted with its folder while it was being moved", id)
}
