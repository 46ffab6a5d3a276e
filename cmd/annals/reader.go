package main

import (
	"os"
	"os/signal"
	"syscall"

	"annals/commands/importer/extract/reader"

	"github.com/spf13/cobra"
)

// readerName is the hidden command that runs a reader process.
const readerName = "reader"

// readerCommand runs a reader process: it reads files for a server, which kills it if a
// file takes too long. It exits when its standard input ends. It ignores signals, because
// service managers send them to all processes of a service, and a draining server still
// needs its readers.
func readerCommand() *cobra.Command {
	return &cobra.Command{
		Use:                readerName,
		Short:              "Read files for a server, which sends requests on standard input",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
			return reader.Main(args)
		},
	}
}
