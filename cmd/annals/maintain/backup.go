// Package maintain implements the commands for the data of a service: backup,
// restore, verify, rebuild, compact, copy, and printing read models and events.
// Each is a struct of settings with a Run that prints its result to Out and
// progress and warnings to Messages. It opens engines through the package engine, and
// defines no flags.
package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/terminal"
	"annals/events"
	"annals/events/backup"
	"annals/events/sqlite"
	"annals/queries/accesslog"
)

// Backup copies a service to a backup, also while its server runs, or verifies a backup.
type Backup struct {
	engine.URLs
	To      backup.Location
	Prune   bool   // remove originals of deleted documents from the backup
	Version string // of the program

	Out, Messages io.Writer
	progress      terminal.Steps
}

// checkApart returns an error if a backup would lie in the data folder.
func checkApart(place backup.Location, data string) error {
	folder, ok := place.(backup.Folder)
	if !ok {
		return nil
	}
	to, errTo := filepath.Abs(string(folder))
	from, errFrom := filepath.Abs(data)
	if err := errors.Join(errTo, errFrom); err != nil {
		return err
	}
	if below, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(below) {
		return fmt.Errorf("%s is in the data folder and would be lost with it: give another target", folder)
	}
	return nil
}

// Run takes a backup.
func (b *Backup) Run(ctx context.Context) (err error) {
	begun := time.Now()
	b.progress = terminal.Steps{Out: b.Messages}
	defer b.progress.End()
	if err := checkApart(b.To, b.Data); err != nil {
		return err
	}
	driver, err := engine.OpenLog(ctx, engine.LogFlag, b.Log, b.Data, engine.MustExist)
	if err != nil {
		return err
	}
	log := events.NewLog(driver)
	defer func() { err = errors.Join(err, log.Close()) }()
	store, err := b.ViewOriginals(ctx)
	if err != nil {
		return err
	}
	job := &backup.Backup{
		Location: b.To, Program: b.Version, Log: log, Originals: store,
		Prune: b.Prune, Progress: b.progress.Set,
	}
	if exist, err := b.HasAccounts(); err != nil {
		return err
	} else if exist {
		job.Accounts = b.copyAccounts
	}
	r, err := job.Run(ctx)
	b.progress.End()
	if err != nil {
		return err
	}
	access := &engine.CommandAccess{URLs: b.URLs, Warn: b.Out}
	access.Record(ctx, accesslog.Access{Kind: accesslog.BackedUp, Via: "command", Detail: fmt.Sprint("to ", b.To)})
	defer func() { err = errors.Join(err, access.Close()) }()
	return b.print(r, time.Since(begun))
}

func (b *Backup) copyAccounts(ctx context.Context, path string) (err error) {
	accounts, err := b.OpenAccounts(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, accounts.Close()) }()
	return accounts.CopyTo(ctx, path)
}

// print prints the content of a backup, and the originals that are missing from it.
func (b *Backup) print(r backup.Result, took time.Duration) error {
	pruned := ""
	if b.Prune {
		pruned = fmt.Sprintf("; %d originals removed", r.Pruned)
	}
	fmt.Fprintf(b.Out, "%s in %s; new: %d events, %d originals, %d bytes written and read back, in %s%s\n",
		holdings(r.Manifest), b.To, r.Events, r.Copied.Files, r.Written, took.Round(time.Millisecond), pruned)
	if r.Manifest.Accounts == nil {
		fmt.Fprintf(b.Out, "  without accounts: there are none in %s\n", b.Data)
	}
	if r.Unread > 0 {
		fmt.Fprintf(b.Out, "  %d events could not be read, nor whether they name originals\n", r.Unread)
	}
	lost := r.Manifest.Lost
	for i, n := range lost {
		const most = 10
		if i == most {
			fmt.Fprintf(b.Out, "  and %d more\n", len(lost)-most)
			break
		}
		fmt.Fprintf(b.Out, "  not in the backup: the original %s of %s\n", n.SHA256, n.Stream)
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d originals are missing or damaged in the store; everything else is backed up", len(lost))
	}
	return nil
}

// holdings describes the content of a backup.
func holdings(m *backup.Manifest) string {
	return fmt.Sprintf("%d events up to position %d and %d originals of %d bytes", m.Events, m.Head, m.Originals.Files, m.Originals.Bytes)
}

// Verify reads the whole backup and checks that it is complete and unchanged. It needs
// only To, Out and Messages.
func (b *Backup) Verify(ctx context.Context) (err error) {
	begun := time.Now()
	b.progress = terminal.Steps{Out: b.Messages}
	defer b.progress.End()
	scratch, err := os.MkdirTemp("", "annals-backup-")
	if err != nil {
		return fmt.Errorf("create a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	v := &backup.Verification{
		Location: b.To, Load: loadLog(filepath.Join(scratch, "log.db")), Progress: b.progress.Set,
		Report: func(problem string) {
			b.progress.End()
			fmt.Fprintln(b.Out, "  "+problem)
		},
	}
	m, problems, err := v.Run(ctx)
	b.progress.End()
	switch {
	case err != nil:
		return err
	case problems > 0:
		return errors.New("the backup is damaged: make a new one in another folder or prefix")
	}
	_, err = fmt.Fprintf(b.Out, "sound: %s in %s, as of %s, in %s\n", holdings(m), b.To, m.Time.Format(time.RFC3339), time.Since(begun).Round(time.Millisecond))
	return err
}

// loadLog fills the log in a new file at path.
func loadLog(path string) backup.Load {
	return func(ctx context.Context, batches iter.Seq2[[]events.Record, error]) (*events.Log, error) {
		if err := sqlite.Load(ctx, path, batches); err != nil {
			return nil, err
		}
		driver, err := sqlite.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		return events.NewLog(driver), nil
	}
}
