package main

import (
	"errors"
	"log/slog"
	"strings"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"
	"annals/cmd/annals/service"
	"annals/cmd/annals/settings"
	"annals/projections/readmodel"

	"github.com/spf13/cobra"
)

func rebuildCommand(at *engine.URLs) *cobra.Command {
	var r maintain.Rebuild
	var all bool
	command := &cobra.Command{
		Use:   "rebuild [NAME...]",
		Short: "Rebuild read models from the log",
		Long: "Rebuild read models from the log while the active ones keep serving: " + strings.Join(readmodel.Names(), ", ") + ".\n" +
			"A running server activates each when it is ready, without an interruption; without a server this command does.\n" +
			"The previous generation is kept until the next rebuild. An interrupted rebuild is continued by the next call.",
		Args: func(_ *cobra.Command, names []string) error { return checkRebuild(&r, all, names) },
		RunE: func(cmd *cobra.Command, names []string) error {
			if all {
				names = readmodel.Names()
			}
			r.URLs, r.Names, r.Out, r.Messages = *at, names, cmd.OutOrStdout(), cmd.ErrOrStderr()
			r.Logger = warnings(cmd)
			service.LimitMemory()
			return r.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&all, "all", false, "rebuild all read models")
	flags.BoolVar(&r.Discard, "discard", false, "delete the active and the previous generation first; only while no server runs")
	flags.BoolVar(&r.Back, "back", false, "do not rebuild: activate the previous generation again")
	settings.FlagOnly(flags, "all", "discard", "back")
	bindModels(flags, at)
	return command
}

func checkRebuild(r *maintain.Rebuild, all bool, names []string) error {
	switch {
	case all && len(names) > 0:
		return errors.New("--all names all read models: give either --all or names")
	case !all && len(names) == 0:
		return errors.New("name the read models to rebuild, or give --all: there are " + strings.Join(readmodel.Names(), ", "))
	case r.Back && r.Discard:
		return errors.New("--back activates the previous generation, which --discard deletes: give one of them")
	}
	return maintain.CheckNames(names)
}

// warnings returns a logger that prints warnings and errors to stderr.
func warnings(cmd *cobra.Command) *slog.Logger {
	logger, err := service.NewLogger("warn", "text", cmd.ErrOrStderr())
	if err != nil {
		panic(err) // level and format exist
	}
	return logger
}
