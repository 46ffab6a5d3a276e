package main

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

	"annals/events/backup"
	"annals/events/fault"
	"annals/events/originals"
	"annals/http/signin"

	"github.com/spf13/cobra"
)

// unfinishedFile marks a data folder whose restore has not come to its end.
// Until then the folder is of no use to anyone.
const unfinishedFile = "restoring"

// refuseUnfinished returns an error for a data folder that a restore has left
// half filled.
func refuseUnfinished(dataDir string) error {
	switch _, err := os.Stat(filepath.Join(dataDir, unfinishedFile)); {
	case err == nil:
		return fault.Errorf(fault.Conflict, "the data folder %s is being restored, or its restore was cut off: run annals restore again", dataDir)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look into the data folder: %w", err)
	}
	return nil
}

func restoreCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "restore DIR|s3://BUCKET/PREFIX",
		Short: "Make a data folder from a backup",
		Long: "Make a data folder from a backup: the log with all events at their positions, in a file wherever it lay\n" +
			"before, the uploaded files and the accounts. All is compared with what was backed up. The folder that --data\n" +
			"names must be empty or missing; it serves nobody until all of it is there. A restore that was cut off is begun\n" +
			"again by the same call. Serve it without --log and --originals, which would name others.\n\n" +
			"The backup lies in a folder, or at " + bucketForm + ".\n" +
			bucketHelp + "\n" +
			"To list and read it is all that they must allow.\n\n" +
			"Accounts come into the data folder wherever they lay; annals user copy takes them to PostgreSQL from there. Nobody is\n" +
			"signed in by a restore, and API tokens are not in backups: make new ones by annals token create.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := backupPlace(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			bar := newCheckBar(cmd.ErrOrStderr())
			defer bar.end()
			return restore(cmd.Context(), from, dataDir(), cmd.OutOrStdout(), bar)
		},
	}
}

func restore(ctx context.Context, from backup.Place, data string, out io.Writer, bar *checkBar) (err error) {
	begun := time.Now()
	if data == "" {
		return errors.New("--data must name a folder")
	}
	if _, err := backup.Look(ctx, from); err != nil { // before the data folder is of no use to anyone
		return fmt.Errorf("restore %s: %w", from, err)
	}
	// A server on the folder holds the same lock.
	unlock, err := hold("the data folder", data, "serve.lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := makeReady(data); err != nil {
		return err
	}
	store, err := originals.OpenDir(filepath.Join(data, "originals"))
	if err != nil {
		return err
	}
	r := &backup.Restore{
		Place: from, Load: loadLog(filepath.Join(data, "log.db")), Originals: store,
		Accounts: filepath.Join(data, signin.AccountsFile), Progress: bar.at,
	}
	m, needed, err := r.Run(ctx)
	bar.end()
	if err != nil {
		return fmt.Errorf("restore %s: %w", from, err)
	}
	if err := makeWhole(data); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "restored %d events up to position %d and %d originals of %d bytes to %s, as of %s, in %s\n",
		m.Events, m.Head, needed.Files, needed.Bytes, data, m.Time.Format(time.RFC3339), time.Since(begun).Round(time.Millisecond))
	if n := len(m.Lost); n > 0 {
		fmt.Fprintf(out, "  without %d originals that were lost before the backup; annals verify names them\n", n)
	}
	quoted := "'" + strings.ReplaceAll(data, "'", `'\''`) + "'"
	fmt.Fprintf(out, "Read models are made when it is served: %s serve --data %s\n", programName(), quoted)
	return err
}

// makeReady marks an empty data folder as unfinished, or empties one that
// bears the mark. Originals stay there, as they are named by their bytes.
func makeReady(data string) error {
	entries, err := os.ReadDir(data)
	if err != nil {
		return fmt.Errorf("read the data folder: %w", err)
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == unfinishedFile }) {
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
			return e.Name() == "serve.lock" || e.Name() == "lost+found" // ours, and a file system's own
		})
		if len(entries) > 0 {
			return fault.Errorf(fault.Conflict, "the data folder %s is not empty: name another by --data", data)
		}
		if err := os.WriteFile(filepath.Join(data, unfinishedFile), nil, 0o600); err != nil {
			return fmt.Errorf("mark the data folder: %w", err)
		}
		return syncFolder(data)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, "log.db") || strings.HasPrefix(name, signin.AccountsFile) {
			err = errors.Join(err, os.Remove(filepath.Join(data, name)))
		}
	}
	return err
}

// makeWhole takes the mark away, once everything else is on the disk.
func makeWhole(data string) error {
	if err := syncFolder(data); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(data, unfinishedFile)); err != nil {
		return fmt.Errorf("finish the data folder: %w", err)
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
