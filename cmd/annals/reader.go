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

// readerCommand runs a reader process, which reads files for a server and exits when
// its standard input ends. If a file takes too long, the server kills the process. The
// process ignores signals: service managers send a stop signal to all processes of a
// service, and a server that is draining still needs its reader processes.
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
