package projectionstest

import (
	"context"
	"errors"

	"annals/events"
	"annals/projections/readmodel"
)

// NewerVault is the vault of a program of the next version. It can read the tables of
// older versions from OldestReadable on.
type NewerVault struct {
	readmodel.Vault
	OldestReadable int
}

// Version is one more than that of the vault.
func (NewerVault) Version() int { return readmodel.Vault{}.Version() + 1 }

// Oldest returns OldestReadable.
func (v NewerVault) Oldest() int { return v.OldestReadable }

// FailingVault is a vault that cannot apply two events: the import of a document named
// Fails, and the renaming of a folder to Fails.
type FailingVault struct {
	readmodel.Vault
	Fails string
}

// Apply applies the event or fails. If it fails for a document, it has already changed a
// table.
func (v FailingVault) Apply(ctx context.Context, tx readmodel.Tx, e events.Event) error {
	if d, ok := e.Data.(events.DocumentImported); ok && d.Name == v.Fails {
		if err := tx.Exec(ctx, `INSERT INTO tags (tag, document) VALUES ('half', 'done')`); err != nil {
			return err
		}
		return errors.New("this document cannot be applied")
	}
	if d, ok := e.Data.(events.FolderRenamed); ok && d.Name == v.Fails {
		return errors.New("this folder cannot be renamed")
	}
	return v.Vault.Apply(ctx, tx, e)
}
