package main

import (
	"os"
	"os/signal"
	"syscall"

	"annals/commands/importer/extract"

	"github.com/spf13/cobra"
)

// readerName is the hidden subcommand by which a server starts its readers.
const readerName = "reader"

// readerCommand is a process in which files are read, apart from the server, so
// that whatever a file does to it can be ended by killing it. It lives as long
// as its connection to the server: a signal to end goes to all processes of a
// service at once, and the server has time to drain, which takes its readers.
func readerCommand() *cobra.Command {
	return &cobra.Command{
		Use:                readerName,
		Short:              "Read files for a server, which asks on standard input",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
			return extract.Main(args)
		},
	}
}
