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
		Short: "Copy the log to another log, which may be of another engine",
		Long: "Copy the log to another log, which may be of another engine, and compare both. Ids, streams, revisions, order, types,\n" +
			"times, payloads and metadata are copied byte for byte; the target assigns new positions.\n\n" +
			"The target must be empty, or contain only the first events of the source: an interrupted copy continues where the\n" +
			"target ends. The source may be in use. Events that are appended meanwhile are copied by the next call, or with\n" +
			"--follow, which continues until it is interrupted and then copies the last events. To move a service with an\n" +
			"interruption of seconds, wait until the copy follows the source, stop the servers, interrupt the copy, and start\n" +
			"the servers with the target as --log. No server may use the target before.\n\n" +
			"Servers rebuild their read models from the target, because those refer to positions. Uploaded files and accounts are\n" +
			"not copied. The exit status is 0 only if both logs were read to the end and are equal.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Data, c.Out, c.Messages = at.Data, cmd.OutOrStdout(), cmd.ErrOrStderr()
			return c.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.From, "from", "", "URL of the log to copy, in the form of --log of serve (default: log.db in the data folder)")
	flags.StringVar(&c.To, "to", "", "URL of the target log, in the form of --log of serve; a file is created if it does not exist (required)")
	flags.BoolVar(&c.Follow, "follow", false, "keep copying new events until interrupted")
	flags.BoolVar(&c.JSON, "json", false, "print the result as one JSON object")
	settings.FlagOnly(flags, "from", "to", "follow")
	return command
}
