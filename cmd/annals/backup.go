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
		Long: "Copy the log up to its current head, the uploaded files that it refers to, and the accounts to a folder or bucket.\n" +
			"A server may be running. If the target has a backup, only new data is added to it. An interrupted backup continues\n" +
			"with the next call. Everything that is written is read back and compared. Read models and the search index are not\n" +
			"copied, because a server rebuilds them from the log; nor are the access log, and the records of answers and\n" +
			"descriptions of documents by a language model.\n\n" +
			"If a document is deleted later, its uploaded file stays in the backup until a backup with --prune. Its text is in\n" +
			"the log, and so always stays in the backup. A backup contains hashes of passwords, and signing keys and secrets of\n" +
			"one-time codes that are not encrypted: protect it like the data folder.\n\n" +
			"The target is a folder, or a prefix in a bucket of Amazon S3 or a compatible server:\n\n" +
			"  " + engine.BucketForm + "\n\n" +
			engine.BucketHelp + "\n" +
			"The server must support conditional writes (If-None-Match, If-Match): a backup uses them to lock its target against\n" +
			"other backups. The lock of a killed backup expires after two minutes.\n\n" +
			"--verify needs no data folder. It needs as much space as the log in the folder for temporary files (TMPDIR).",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if verify && c.Prune {
				return errors.New("--verify changes nothing, but --prune removes files: pass only one of them")
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
	flags.BoolVar(&verify, "verify", false, "instead of making a backup, read the whole backup and check that it is complete and unchanged")
	flags.BoolVar(&c.Prune, "prune", false, "after the backup, remove the uploaded files of deleted documents from it")
	settings.FlagOnly(flags, "verify", "prune")
	bindLog(flags, at)
	flags.StringVar(&at.Originals, "originals", "", "URL of the uploaded files, the same as for serve (default: in the data folder)")
	return command
}
