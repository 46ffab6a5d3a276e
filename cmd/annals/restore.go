package main

import (
	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"
	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

func restoreCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "restore DIR|s3://BUCKET/PREFIX",
		Short: "Create a data folder from a backup",
		Long: "Create a data folder from a backup: the log with all events at their positions, the uploaded files and the accounts.\n" +
			"All of them are files in this folder, even if they were on servers when the backup was made. Everything is compared\n" +
			"with the backup.\n\n" +
			"The folder of --data must be empty or missing. It cannot be used until the restore is complete. After an\n" +
			"interruption run the same command again: it starts from the beginning. Then serve the folder without --log and\n" +
			"--originals, which would be other data.\n\n" +
			"The backup is in a folder, or at " + engine.BucketForm + ".\n" +
			engine.BucketHelp + "\n" +
			"Restore needs only the permissions to list and to read.\n\n" +
			"To move the accounts to PostgreSQL, use annals user copy. Backups contain no sign-ins and no API tokens: users sign\n" +
			"in again, and annals token create creates new tokens.",
		Args: settings.Arguments,
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
