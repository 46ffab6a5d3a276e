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
			"ended. All other events stay unchanged at their positions; their digest is printed, from before and from after the\n" +
			"removal. Texts of earlier versions and of deleted documents stay.\n\n" +
			"An embedded log is compacted while no server runs. Its file becomes smaller; meanwhile as much free disk\n" +
			"space as its size is needed. If the digests would differ, nothing is removed. An interruption leaves the log either\n" +
			"unchanged or compacted: run the command again.\n\n" +
			"With EventStoreDB servers may be running. The streams are truncated, and a scavenge of EventStoreDB deletes all\n" +
			"but the last event of each. The truncation comes before the digest of the rest and cannot be undone: after an\n" +
			"error do not scavenge, and compare the log with a backup.\n\n" +
			"Earlier backups and copies keep the removed texts, and still match the log.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.URLs, c.Out, c.Messages = *at, cmd.OutOrStdout(), cmd.ErrOrStderr()
			return c.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	bindLog(flags, at)
	flags.BoolVar(&c.DryRun, "dry-run", false, "print what would be removed, and remove nothing")
	flags.DurationVar(&c.Grace, "grace", time.Hour, "minimum time since a job ended before its texts are removed; only with EventStoreDB, because servers may be running")
	settings.FlagOnly(flags, "dry-run")
	return command
}
