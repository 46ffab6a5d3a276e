package main

import (
	"errors"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"
	"annals/cmd/annals/settings"
	"annals/events"

	"github.com/spf13/cobra"
)

func eventsCommand(at *engine.URLs) *cobra.Command {
	var p maintain.Events
	var from int64
	command := &cobra.Command{
		Use:   "events",
		Short: "Print the events of the log",
		Long:  "Print the events of the log in order, one per line, as they are stored. A server may be running.",
		Args:  settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from < 0 {
				return errors.New("--from must be a position of the log, 0 or more")
			}
			p.URLs, p.From, p.Out = *at, events.Position(from), cmd.OutOrStdout()
			return p.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	bindLog(flags, at)
	flags.StringVar(&p.Stream, "stream", "", "print only events of this stream")
	flags.Int64Var(&from, "from", 0, "position of the first event to print")
	flags.BoolVar(&p.Follow, "follow", false, "keep printing new events until interrupted")
	flags.BoolVar(&p.JSON, "json", false, "print one JSON object per line, with position, id, stream, revision, type, data and metadata")
	return command
}
