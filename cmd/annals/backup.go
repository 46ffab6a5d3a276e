package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"annals/events"
	"annals/events/backup"
	"annals/events/sqlite"
	"annals/queries/accesslog"

	"github.com/spf13/cobra"
)

// backupConfig is what backup can be told.
type backupConfig struct {
	data, accounts, log, originals string

	place         backup.Place
	verify, prune bool

	out      io.Writer
	progress *checkBar
}

func backupCommand(dataDir func() string) *cobra.Command {
	c := new(backupConfig)
	command := &cobra.Command{
		Use:   "backup DIR|s3://BUCKET/PREFIX",
		Short: "Copy the log, the uploaded files and the accounts to a folder or a bucket",
		Long: "Copy the log, the uploaded files that it needs and the accounts to a place, beside a running server, as they\n" +
			"are at one position of the log. To a place that holds a backup already it adds what is new; one that was\n" +
			"cut off goes on. What is written is read back before it counts. Read models and the search index are not\n" +
			"copied: a server makes them from the log.\n\n" +
			"Uploaded files of documents that were deleted since stay in the backup until --prune. The texts of deleted\n" +
			"documents stay in the log, and so in its backup. The place holds passwords' hashes, signing keys and the\n" +
			"secrets of one-time codes as they are: keep it as safe as the data folder.\n\n" +
			"The place is a folder, or a prefix of a bucket of S3, or of anything that speaks it:\n\n" +
			"  " + bucketForm + "\n\n" +
			bucketHelp + "\n" +
			"The server must heed conditions of writes (If-None-Match, If-Match): by them one backup at a time works with\n" +
			"the place. One that was killed keeps it for two minutes.\n\n" +
			"--verify needs no data folder, and for a while as much room as the log takes, where TMPDIR says.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if c.verify && c.prune {
				return errors.New("--verify changes nothing, and --prune removes files: give one of them")
			}
			if c.place, err = backupPlace(cmd.Context(), args[0]); err != nil {
				return err
			}
			c.data, c.accounts = dataDir(), accountsURL(cmd)
			c.out, c.progress = cmd.OutOrStdout(), newCheckBar(cmd.ErrOrStderr())
			defer c.progress.end()
			if c.verify {
				return verifyBackup(cmd.Context(), c)
			}
			return takeBackup(cmd.Context(), c)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&c.verify, "verify", false, "back up nothing: read all of the backup again and compare it with what was written")
	flags.BoolVar(&c.prune, "prune", false, "afterwards remove uploaded files that only deleted documents had")
	markByFlagAlone(flags, "verify", "prune")
	flags.StringVar(&c.log, "log", "", logHelp)
	flags.StringVar(&c.originals, "originals", "", "URL of the uploaded files, as serve has it (default: in the data folder)")
	return command
}

// apart returns an error where a backup would lie in what it is to save.
func apart(place backup.Place, data string) error {
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
		return fmt.Errorf("%s is in the data folder, and would be lost with it: name another place", folder)
	}
	return nil
}

func takeBackup(ctx context.Context, c *backupConfig) (err error) {
	begun := time.Now()
	if err := apart(c.place, c.data); err != nil {
		return err
	}
	driver, err := openLog(ctx, logFlag, c.log, c.data, mustExist)
	if err != nil {
		return err
	}
	log := events.NewLog(driver)
	defer func() { err = errors.Join(err, log.Close()) }()
	store, err := openOriginalsThere(ctx, c.originals, c.data)
	if err != nil {
		return err
	}
	b := &backup.Backup{
		Place: c.place, Program: version(), Log: log, Originals: store,
		Prune: c.prune, Progress: c.progress.at,
	}
	if there, err := accountsThere(c.accounts, c.data); err != nil {
		return err
	} else if there {
		b.Accounts = c.copyAccounts
	}
	r, err := b.Run(ctx)
	c.progress.end()
	if err != nil {
		return err
	}
	access := &commandAccess{accountsURL: c.accounts, dataDir: c.data, warn: c.out}
	access.record(ctx, accesslog.Access{Kind: accesslog.BackedUp, Via: "command", Detail: fmt.Sprint("to ", c.place)})
	defer func() { err = errors.Join(err, access.close()) }()
	return c.tell(r, time.Since(begun))
}

func (c *backupConfig) copyAccounts(ctx context.Context, path string) (err error) {
	accounts, err := openAccounts(ctx, c.accounts, c.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, accounts.Close()) }()
	return accounts.CopyTo(ctx, path)
}

// tell prints what a backup holds, and what it could not get.
func (c *backupConfig) tell(r backup.Result, took time.Duration) error {
	pruned := ""
	if c.prune {
		pruned = fmt.Sprintf("; %d originals removed", r.Pruned)
	}
	fmt.Fprintf(c.out, "%s in %s; new: %d events, %d originals, %d bytes written and read back, in %s%s\n",
		holdings(r.Manifest), c.place, r.Events, r.Copied.Files, r.Written, took.Round(time.Millisecond), pruned)
	if r.Manifest.Accounts == nil {
		fmt.Fprintf(c.out, "  without accounts: there are none in %s\n", c.data)
	}
	if r.Unread > 0 {
		fmt.Fprintf(c.out, "  %d events could not be read, nor whether they name originals\n", r.Unread)
	}
	lost := r.Manifest.Lost
	for i, n := range lost {
		const most = 10
		if i == most {
			fmt.Fprintf(c.out, "  and %d more\n", len(lost)-most)
			break
		}
		fmt.Fprintf(c.out, "  not in the backup: the original %s of %s\n", n.SHA256, n.Stream)
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d originals are missing or damaged where they are kept; all else is backed up", len(lost))
	}
	return nil
}

// holdings says what a backup holds.
func holdings(m *backup.Manifest) string {
	return fmt.Sprintf("%d events up to position %d and %d originals of %d bytes", m.Events, m.Head, m.Originals.Files, m.Originals.Bytes)
}

func verifyBackup(ctx context.Context, c *backupConfig) (err error) {
	begun := time.Now()
	scratch, err := os.MkdirTemp("", "annals-backup-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	v := &backup.Verification{
		Place: c.place, Load: loadLog(filepath.Join(scratch, "log.db")), Progress: c.progress.at,
		Tell: func(problem string) {
			c.progress.end()
			fmt.Fprintln(c.out, "  "+problem)
		},
	}
	m, problems, err := v.Run(ctx)
	c.progress.end()
	switch {
	case err != nil:
		return err
	case problems > 0:
		return errors.New("the backup is not sound: take another, into a new place")
	}
	_, err = fmt.Fprintf(c.out, "sound: %s in %s, as of %s, in %s\n", holdings(m), c.place, m.Time.Format(time.RFC3339), time.Since(begun).Round(time.Millisecond))
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
