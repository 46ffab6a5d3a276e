package main

import (
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"
	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

func compactCommand(at *engine.URLs) *cobra.Command {
	var c maintain.Compaction
	command := &cobra.Command{
		Use:   "compact",
		Short: "Remove the texts of failed imports from the log",
		Long: "Remove the texts of failed imports from the log: those that no document ever referred to, and whose import job has\n" +
			"ended. Texts of earlier versions and of deleted documents stay. All other events stay unchanged at their positions:\n" +
			"the command prints their digest before and after the removal.\n\n" +
			"An embedded log can be compacted only while no server is running. Its file becomes smaller. Until then the disk\n" +
			"needs free space of the size of the file. If the digests would differ, nothing is removed. If the command is\n" +
			"interrupted, the log is either unchanged or compacted: run the command again.\n\n" +
			"With EventStoreDB servers may be running. The command truncates the streams; a scavenge of EventStoreDB then deletes\n" +
			"all but the last event of each. The truncation cannot be undone, and the digest is compared only after it. After an\n" +
			"error do not scavenge, and compare the log with a backup.\n\n" +
			"Earlier backups and copies keep the removed texts, and still match the log.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.URLs, c.Out, c.Messages = *at, cmd.OutOrStdout(), cmd.ErrOrStderr()
			return c.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	bindLog(flags, at)
	flags.BoolVar(&c.DryRun, "dry-run", false, "print what would be removed, and remove nothing")
	flags.DurationVar(&c.Grace, "grace", time.Hour, "remove texts of a job only if it ended at least this long ago; used only with EventStoreDB, where servers may run during compaction")
	settings.FlagOnly(flags, "dry-run")
	return command
}
