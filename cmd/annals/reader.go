package main

import (
	"os"
	"os/signal"
	"syscall"

	"annals/commands/importer/extract/reader"

	"github.com/spf13/cobra"
)

// readerName is the hidden subcommand by which a server starts its readers.
const readerName = "reader"

// readerCommand runs a process that reads files for a server, which can kill it if a
// file exhausts or crashes it. It ends with its connection to the server. It ignores
// signals because they reach all processes of a service at once, and a draining server
// still needs its readers.
func readerCommand() *cobra.Command {
	return &cobra.Command{
		Use:                readerName,
		Short:              "Read files for a server, which asks on standard input",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
			return reader.Main(args)
		},
	}
}
