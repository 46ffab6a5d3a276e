package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/terminal"
	"annals/events/backup"
	"annals/events/fault"
	"annals/events/originals"
	"annals/http/signin/accounts"
)

// Restore creates a data folder from a backup.
type Restore struct {
	From    backup.Location
	Data    string // an empty or missing folder, or the folder of an interrupted restore
	Program string // command that starts this program, for printed instructions

	Out, Messages io.Writer
}

// Run restores the data folder. If Run is interrupted, the data folder cannot be used
// until a later Run has completed.
func (r *Restore) Run(ctx context.Context) (err error) {
	started, data := time.Now(), r.Data
	bar := terminal.Steps{Out: r.Messages}
	defer bar.End()
	if data == "" {
		return errors.New("--data must not be empty: pass a folder")
	}
	if _, err := backup.LoadManifest(ctx, r.From); err != nil { // check that there is a backup before changing the data folder
		return fmt.Errorf("restore %s: %w", r.From, err)
	}
	unlock, err := engine.LockData(data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := prepare(data); err != nil {
		return err
	}
	store, err := originals.OpenDir(filepath.Join(data, "originals"))
	if err != nil {
		return err
	}
	job := &backup.Restore{
		Location: r.From, Load: engine.LoadLog(filepath.Join(data, "log.db")), Originals: store,
		Accounts: filepath.Join(data, accounts.FileName), Progress: bar.Set,
	}
	m, needed, err := job.Run(ctx)
	bar.End()
	if err != nil {
		return fmt.Errorf("restore %s: %w", r.From, err)
	}
	if err := complete(data); err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.Out, "restored %d events up to position %d and %d originals of %d bytes to %s, as of %s, in %s\n",
		m.Events, m.Head, needed.Files, needed.Bytes, data, m.Time.Format(time.RFC3339), time.Since(started).Round(time.Millisecond))
	if n := len(m.Lost); n > 0 {
		fmt.Fprintf(r.Out, "  without %d originals that were lost before the backup; annals verify lists them\n", n)
	}
	fmt.Fprintf(r.Out, "The first start of a server on this folder builds the read models: %s serve --data %s\n", r.Program, engine.ShellQuote(data))
	return err
}

// prepare marks an empty data folder as incompletely restored. If the folder already
// has that mark, prepare removes the log and the accounts, which an interrupted restore
// has left. It keeps the originals, because their names prove their contents: each name
// is the digest of the content.
func prepare(data string) error {
	entries, err := os.ReadDir(data)
	if err != nil {
		return fmt.Errorf("read the data folder: %w", err)
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == engine.RestoringFile }) {
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
			return e.Name() == engine.LockFile || e.Name() == "lost+found" // does not make a folder non-empty
		})
		if len(entries) > 0 {
			return fault.Errorf(fault.Conflict, "the data folder %s is not empty: pass another one as --data", data)
		}
		if err := os.WriteFile(filepath.Join(data, engine.RestoringFile), nil, 0o600); err != nil {
			return fmt.Errorf("mark the data folder as being restored: %w", err)
		}
		return syncFolder(data)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, "log.db") || strings.HasPrefix(name, accounts.FileName) {
			err = errors.Join(err, os.Remove(filepath.Join(data, name)))
		}
	}
	return err
}

// complete syncs the data folder to disk and then removes the mark of an incomplete
// restore.
func complete(data string) error {
	if err := syncFolder(data); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(data, engine.RestoringFile)); err != nil {
		return fmt.Errorf("mark the data folder as restored: %w", err)
	}
	return syncFolder(data)
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
