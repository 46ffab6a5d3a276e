// Command annals imports documents, searches them, and answers questions from them.
// This package defines the flags of each command and passes them to the package that
// carries it out. It may import everything.
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
// it. An interrupt shuts it down in order, a second one ends it at once.
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
		Long: "Annals imports documents, searches them and answers from them. Everything that happens is an event in an\n" +
			"append-only log; every index and view is made from it.\n\n" +
			"Every flag can also be set by an environment variable (--read-models is ANNALS_READ_MODELS) or in the YAML\n" +
			"file that --config names (read-models: …). A flag overrides the environment, which overrides the\n" +
			"file. Flags that request an action are given on the command line only.",
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
		shareCommand(at),
		loginCommand(at),
		logoutCommand(at),
		whoamiCommand(at),
		healthCommand(),
		versionCommand(),
		readerCommand(),
	)
	settings.RejectUnknownCommands(root)
	return root
}
