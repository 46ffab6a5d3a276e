package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"annals/commands/importer/extract"

	"github.com/spf13/cobra"
)

// extractCommand is the process in which PDFs are read, apart from the server,
// so that a file that hangs or eats memory can be stopped by killing it. It
// lives as long as its standard input: a signal to end goes to all processes of
// a service at once, and the server has time to drain, which takes its readers.
func extractCommand() *cobra.Command {
	var cache string
	command := &cobra.Command{
		Use:    "extract-pdf",
		Short:  "Read PDFs for a server, which asks on standard input",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
			return extract.ServePDF(context.WithoutCancel(cmd.Context()), cmd.InOrStdin(), cmd.OutOrStdout(), cache)
		},
	}
	command.Flags().StringVar(&cache, "cache", "", "folder of compiled code")
	return command
}
