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

// FailingVault is a vault that cannot apply an event which imports a document, or
// renames a folder, with the name in Fails.
type FailingVault struct {
	readmodel.Vault
	Fails string
}

// Apply fails after it has changed a table, or applies the event.
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
