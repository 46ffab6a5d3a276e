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
		Long: "Rebuild read models from the log, in new generations, while the active generations keep serving. The read models are\n" +
			strings.Join(readmodel.Names(), ", ") + ", and, with --embeddings, vectors.\n\n" +
			"A running server activates each new generation when it is ready, without an interruption; if no server is running,\n" +
			"this command does. The previous generation is kept until the next rebuild, and --back activates it again. An\n" +
			"interrupted rebuild continues with the next call.\n\n" +
			"With --hold the new generation does not become active: annals eval --generation can compare it with the active one.\n" +
			"The next call without --hold activates it, and --drop deletes it.",
		Args: func(_ *cobra.Command, names []string) error { return checkRebuild(&r, all, names) },
		RunE: func(cmd *cobra.Command, names []string) error {
			if all {
				names = maintain.AllModels(at)
			}
			r.URLs, r.Names, r.Out, r.Messages = *at, names, cmd.OutOrStdout(), cmd.ErrOrStderr()
			r.Logger = warnings(cmd)
			service.LimitMemory()
			return r.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&all, "all", false, "rebuild all read models")
	flags.BoolVar(&r.Discard, "discard", false, "delete the active and the previous generation before rebuilding; only while no server is running")
	flags.BoolVar(&r.Back, "back", false, "instead of rebuilding, activate the previous generation again")
	flags.BoolVar(&r.Hold, "hold", false, "keep the new generation from becoming active, also when the server starts")
	flags.BoolVar(&r.Drop, "drop", false, "instead of rebuilding, delete the generation that --hold has made")
	settings.FlagOnly(flags, "all", "discard", "back", "hold", "drop")
	bindModels(flags, at)
	return command
}

func checkRebuild(r *maintain.Rebuild, all bool, names []string) error {
	switch {
	case all && len(names) > 0:
		return errors.New("--all means all read models: pass either --all or names")
	case !all && len(names) == 0:
		return errors.New("pass the names of the read models to rebuild, or --all: there are " + strings.Join(readmodel.Names(), ", "))
	case r.Back && r.Discard:
		return errors.New("--back activates the previous generation, but --discard deletes it: pass only one of them")
	case r.Hold && (r.Back || r.Discard || r.Drop), r.Drop && (r.Back || r.Discard):
		return errors.New("--hold, --drop, --back and --discard exclude each other: pass only one of them")
	}
	return maintain.CheckNames(names)
}

// warnings returns a logger that prints warnings and errors to the standard error of
// cmd.
func warnings(cmd *cobra.Command) *slog.Logger {
	logger, err := service.NewLogger("warn", "text", cmd.ErrOrStderr())
	if err != nil {
		panic(err) // unreachable: the level and the format exist
	}
	return logger
}
