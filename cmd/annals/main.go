// Command annals imports documents, searches them, and answers questions from them.
// This package defines only the commands and their flags; packages below it carry the
// commands out. It may import all packages.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/events/fault"

	"github.com/spf13/cobra"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		os.Exit(1)
	}
}

// run carries out the command line args. It prints an error to stderr before it returns
// the error. The first interrupt shuts the command down gracefully, the second one
// kills the process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(stderr, "annals:", fault.Detail(err))
	}
	return err
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "annals",
		Short: "Import documents, search them, and answer from them",
		Long: "Annals imports documents, searches them and answers questions from them. Every change is an event in an append-only\n" +
			"log; all tables and indexes are built from the log.\n\n" +
			"Flags can also be set by environment variables (ANNALS_READ_MODELS sets --read-models) or in the YAML file of\n" +
			"--config (read-models: …). A flag on the command line overrides the environment, and the environment overrides the\n" +
			"file. Flags that request an action, such as --retry or --delete, work only on the command line.",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Name() != serveName { // serve logs the warnings itself
				for _, warning := range settings.UnknownVariables(cmd.Root(), os.Environ()) {
					fmt.Fprintln(cmd.ErrOrStderr(), "annals: warning:", warning)
				}
			}
			return settings.Apply(cmd)
		},
	}
	at := new(engine.URLs)
	bindGlobal(root.PersistentFlags(), at)
	root.AddCommand(
		serveCommand(at),
		userCommand(at),
		tokenCommand(at),
		keysCommand(at),
		eventsCommand(at),
		projectionsCommand(at),
		rebuildCommand(at),
		verifyCommand(at),
		copyCommand(at),
		compactCommand(at),
		backupCommand(at),
		restoreCommand(at),
		importCommand(at),
		rereadCommand(at),
		evalCommand(at),
		shareCommand(at),
		loginCommand(at),
		logoutCommand(at),
		whoamiCommand(at),
		healthCommand(),
		versionCommand(),
		readerCommand(),
	)
	root.SetFlagErrorFunc(settings.ExplainRemoved)
	settings.RejectUnknownCommands(root)
	return root
}
