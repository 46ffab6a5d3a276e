// Package maintain implements the commands that maintain the data of a service: backup,
// restore, verify, rebuild, compact, copy, projections and events. Each is a struct of
// settings with a method Run that prints its result to Out, and progress and warnings to
// Messages. It opens stores only through the package engine, and defines no flags.
package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/terminal"
	"annals/events"
	"annals/events/backup"
	"annals/queries/accesslog"
)

// Backup makes or verifies a backup of a service. A server may be running.
type Backup struct {
	engine.URLs
	To      backup.Location
	Prune   bool   // remove the originals of deleted documents from an existing backup
	Version string // of the program

	Out, Messages io.Writer
	progress      terminal.Steps
}

// checkApart returns an error if the backup would be inside the data folder.
func checkApart(location backup.Location, data string) error {
	folder, ok := location.(backup.Folder)
	if !ok {
		return nil
	}
	to, errTo := filepath.Abs(string(folder))
	from, errFrom := filepath.Abs(data)
	if err := errors.Join(errTo, errFrom); err != nil {
		return err
	}
	if below, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(below) {
		return fmt.Errorf("%s is in the data folder, so the backup would be lost with it: choose another target", folder)
	}
	return nil
}

// Run makes a new backup, or adds new data to an existing one.
func (b *Backup) Run(ctx context.Context) (err error) {
	started := time.Now()
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
	return b.print(r, time.Since(started))
}

func (b *Backup) copyAccounts(ctx context.Context, path string) (err error) {
	accounts, err := b.OpenAccounts(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, accounts.Close()) }()
	return accounts.CopyTo(ctx, path)
}

// print prints what the backup contains, and which originals it lacks.
func (b *Backup) print(r backup.Result, took time.Duration) error {
	pruned := ""
	if b.Prune {
		pruned = fmt.Sprintf("; %d originals removed", r.Pruned)
	}
	fmt.Fprintf(b.Out, "%s in %s; new: %d events, %d originals, %d bytes written and read back, in %s%s\n",
		contents(r.Manifest), b.To, r.Events, r.Copied.Files, r.Written, took.Round(time.Millisecond), pruned)
	if r.Manifest.Accounts == nil {
		fmt.Fprintf(b.Out, "  without accounts: there are none in %s\n", b.Data)
	}
	if r.Unread > 0 {
		fmt.Fprintf(b.Out, "  %d events could not be decoded; originals that only they name are not in the backup\n", r.Unread)
	}
	lost := r.Manifest.Lost
	for i, n := range lost {
		const maxShown = 10
		if i == maxShown {
			fmt.Fprintf(b.Out, "  and %d more\n", len(lost)-maxShown)
			break
		}
		fmt.Fprintf(b.Out, "  not in the backup: the original %s of %s\n", n.SHA256, n.Stream)
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d originals are missing or damaged in the store; everything else is backed up", len(lost))
	}
	return nil
}

// contents describes what a backup contains.
func contents(m *backup.Manifest) string {
	return fmt.Sprintf("%d events up to position %d and %d originals of %d bytes", m.Events, m.Head, m.Originals.Files, m.Originals.Bytes)
}

// Verify reads the whole backup and checks that it is complete and unchanged. It uses
// only To, Out and Messages.
func (b *Backup) Verify(ctx context.Context) (err error) {
	started := time.Now()
	b.progress = terminal.Steps{Out: b.Messages}
	defer b.progress.End()
	scratch, err := os.MkdirTemp("", "annals-backup-")
	if err != nil {
		return fmt.Errorf("create a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	v := &backup.Verification{
		Location: b.To, Load: engine.LoadLog(filepath.Join(scratch, "log.db")), Progress: b.progress.Set,
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
	_, err = fmt.Fprintf(b.Out, "sound: %s in %s, as of %s, in %s\n", contents(m), b.To, m.Time.Format(time.RFC3339), time.Since(started).Round(time.Millisecond))
	return err
}
