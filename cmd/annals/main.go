// Command annals imports documents, searches them and answers from them. This
// package holds flags, configuration, the choice of engines, and signals, and
// nothing else; it alone knows which engine is behind what.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"annals/events/fault"

	"github.com/spf13/cobra"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		os.Exit(1)
	}
}

// run is the whole program: it carries out args and tells an error on stderr
// before it returns it. An interrupt ends it in order; a second one at once.
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
			"file that --config names (read-models: …). Flags come first, then the environment, then the file. What\n" +
			"is to be done to a user is told by flags alone.",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Name() != serveName { // which logs it
				warnOfVariables(cmd.ErrOrStderr(), cmd.Root(), os.Environ())
			}
			if cmd.Parent() != nil && cmd.Parent() != cmd.Root() && cmd.Annotations[takesSettings] == "" {
				// What is to be done to one user is no setting: serve's --admin
				// is another than that of user add.
				return configure(cmd.InheritedFlags())
			}
			return configure(cmd.Flags())
		},
	}
	var dir string
	root.PersistentFlags().StringVar(&dir, "data", "annals-data", "folder in which the embedded parts live")
	root.PersistentFlags().String("config", "", "YAML file with settings by flag name")
	bindAccounts(root)
	dataDir := func() string { return dir }
	root.AddCommand(
		serveCommand(dataDir),
		userCommand(dataDir),
		tokenCommand(dataDir),
		keysCommand(dataDir),
		eventsCommand(dataDir),
		projectionsCommand(dataDir),
		rebuildCommand(dataDir),
		verifyCommand(dataDir),
		copyCommand(dataDir),
		compactCommand(dataDir),
		backupCommand(dataDir),
		restoreCommand(dataDir),
		importCommand(dataDir),
		shareCommand(dataDir),
		loginCommand(dataDir),
		logoutCommand(dataDir),
		whoamiCommand(dataDir),
		healthCommand(),
		versionCommand(),
		readerCommand(),
	)
	reportUnknown(root)
	return root
}
