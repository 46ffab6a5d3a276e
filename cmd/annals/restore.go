package main

import (
	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"

	"github.com/spf13/cobra"
)

func restoreCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "restore DIR|s3://BUCKET/PREFIX",
		Short: "Make a data folder from a backup",
		Long: "Make a data folder from a backup: the log with all events at their positions, the uploaded files and the\n" +
			"accounts, all as files there even if they were on servers before. Everything is compared with the backup.\n" +
			"The folder that --data names must be empty or missing, and cannot be used until the restore is complete.\n" +
			"After an interruption run the same command again; it starts over. Serve the folder without --log and\n" +
			"--originals, which would name other data.\n\n" +
			"The backup is in a folder, or at " + engine.BucketForm + ".\n" +
			engine.BucketHelp + "\n" +
			"They need the rights to list and to read only.\n\n" +
			"annals user copy copies the accounts on to PostgreSQL. Sign-ins and API tokens are not in backups: users sign in\n" +
			"again, and annals token create makes new tokens.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := engine.OpenBackup(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			r := maintain.Restore{From: from, Data: at.Data, Program: programName(), Out: cmd.OutOrStdout(), Messages: cmd.ErrOrStderr()}
			return r.Run(cmd.Context())
		},
	}
}
