package main

import (
	"errors"
	"strings"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"
	"annals/cmd/annals/service"
	"annals/cmd/annals/settings"
	"annals/projections/readmodel"

	"github.com/spf13/cobra"
)

func projectionsCommand(at *engine.URLs) *cobra.Command {
	var o maintain.Overview
	command := &cobra.Command{
		Use:   "projections [NAME...]",
		Short: "Show the checkpoints of the read models, and their parked events",
		Long: "Show the checkpoint and the lag of each read model: " + strings.Join(readmodel.Names(), ", ") + ".\n" +
			"BEHIND counts the positions of the log that it has yet to pass, LAG is the age of the oldest event among them, RATE\n" +
			"how many positions it passes each second. OTHER GENERATIONS are not active: filling, ready, held, or kept for a rollback.\n\n" +
			"Then list the parked events: those that could not be applied, and later events of the same streams. A server may be\n" +
			"running.\n\n" +
			"With --retry, rebuild each read model that has parked events, like annals rebuild, unless this version cannot read\n" +
			"them. If events still cannot be applied, they stay parked, and the exit status is not 0.",
		Args: func(_ *cobra.Command, names []string) error {
			if o.Watch && o.Retry {
				return errors.New("--watch shows the read models, but --retry rebuilds them: pass only one of them")
			}
			return maintain.CheckNames(names)
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			o.URLs, o.Out, o.Messages, o.Logger = *at, cmd.OutOrStdout(), cmd.ErrOrStderr(), warnings(cmd)
			o.Names = names
			if o.Retry {
				service.LimitMemory()
			}
			return o.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&o.JSON, "json", false, "print one JSON object per line; its member kind is projection or parked")
	flags.BoolVar(&o.Watch, "watch", false, "print the checkpoints every second until interrupted")
	flags.BoolVar(&o.Retry, "retry", false, "rebuild the read models that have parked events")
	flags.StringVar(&o.Stream, "stream", "", "list only parked events of this stream; with --retry, rebuild only read models that have parked events of it")
	settings.FlagOnly(flags, "watch", "retry", "stream")
	bindModels(flags, at)
	return command
}
