package main

import (
	"errors"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"
	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

func backupCommand(at *engine.URLs) *cobra.Command {
	c := &maintain.Backup{Version: version()}
	var verify bool
	command := &cobra.Command{
		Use:   "backup DIR|s3://BUCKET/PREFIX",
		Short: "Copy the log, the uploaded files and the accounts to a folder or a bucket",
		Long: "Copy the log, the uploaded files that it refers to and the accounts to a folder or bucket, as of one position of\n" +
			"the log; a server may be running. An existing backup is extended by what is new; an interrupted backup\n" +
			"is continued. Everything written is read back and compared. Read models and the search index are not copied: a\n" +
			"server makes them from the log.\n\n" +
			"Uploaded files of documents that were deleted since stay in the backup until --prune. The texts of deleted\n" +
			"documents stay in the log, and so in its backup. The backup contains hashes of passwords, and unencrypted signing\n" +
			"keys and secrets of one-time codes: protect it like the data folder.\n\n" +
			"The target is a folder, or a prefix in a bucket of S3 or of a compatible server:\n\n" +
			"  " + engine.BucketForm + "\n\n" +
			engine.BucketHelp + "\n" +
			"The server must support conditional writes (If-None-Match, If-Match), with which a backup locks its target\n" +
			"against others. The lock of a killed backup expires after two minutes.\n\n" +
			"--verify needs no data folder. It takes as much temporary space as the log, in the folder TMPDIR.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if verify && c.Prune {
				return errors.New("--verify changes nothing, and --prune removes files: give one of them")
			}
			if c.To, err = engine.OpenBackup(cmd.Context(), args[0]); err != nil {
				return err
			}
			c.URLs, c.Out, c.Messages = *at, cmd.OutOrStdout(), cmd.ErrOrStderr()
			if verify {
				return c.Verify(cmd.Context())
			}
			return c.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&verify, "verify", false, "do not back up: read the whole backup and check that it is complete and unchanged")
	flags.BoolVar(&c.Prune, "prune", false, "after the backup, remove uploaded files of deleted documents from it")
	settings.FlagOnly(flags, "verify", "prune")
	bindLog(flags, at)
	flags.StringVar(&at.Originals, "originals", "", "URL of the uploaded files, as given to serve (default: in the data folder)")
	return command
}
