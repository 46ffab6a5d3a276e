package main

import (
	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"
	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

func copyCommand(at *engine.URLs) *cobra.Command {
	var c maintain.Copy
	command := &cobra.Command{
		Use:   "copy --to URL",
		Short: "Copy the log into another, of the same engine or another",
		Long: "Copy the log into another, of the same engine or another, and compare the two. Ids, streams, revisions, order,\n" +
			"types, times, payloads and metadata are equal to the byte; positions are assigned by the target.\n\n" +
			"The target must be empty, or have the beginning of the source and nothing else: an interrupted copy continues\n" +
			"where the target ends. The source may be in use. Events appended after the start are copied by the next call, or\n" +
			"with --follow, which continues until it is interrupted and then copies what the source has by then. For a\n" +
			"switch-over within seconds wait until it follows, stop the servers on the source, interrupt the copy, and start\n" +
			"the servers on the target. No server may run on the target before.\n\n" +
			"Read models refer to positions: servers rebuild them from the target. Uploaded files and accounts are not copied.\n" +
			"The exit status is 0 only if both logs were read to the end and are equal.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Data, c.Out, c.Messages = at.Data, cmd.OutOrStdout(), cmd.ErrOrStderr()
			return c.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.From, "from", "", "URL of the log to copy (default: log.db in the data folder)")
	flags.StringVar(&c.To, "to", "", "URL of the target log; a file is created if it does not exist")
	flags.BoolVar(&c.Follow, "follow", false, "continue with new events until interrupted")
	flags.BoolVar(&c.JSON, "json", false, "print the result as one JSON object")
	settings.FlagOnly(flags, "from", "to", "follow")
	return command
}
