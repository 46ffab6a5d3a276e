package main

import (
	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"
	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

func verifyCommand(at *engine.URLs) *cobra.Command {
	var quick bool
	command := &cobra.Command{
		Use:   "verify",
		Short: "Check the log, the uploaded files, the read models and the search index",
		Long: "Check the log: revisions have no gaps, positions increase, payloads are valid, and every text and original that\n" +
			"documents refer to exists. Then build every read model from the log in a temporary folder (TMPDIR), compare it with\n" +
			"the active one row by row, and compare the search index by its passages and by a sample of searches.\n\n" +
			"A server may be running. If it has its search index in a folder, the index is not compared, because only one process\n" +
			"can open it; for the same reason no server can start while this command compares the index. Nothing is changed.\n" +
			"Problems are printed, and the exit status is not 0 if there are any.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := maintain.Verification{URLs: *at, Quick: quick, Out: cmd.OutOrStdout(), Messages: cmd.ErrOrStderr()}
			return v.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&quick, "quick", false, "check only the size of each uploaded file, not its content")
	bindLog(flags, at)
	flags.StringVar(&at.ReadModels, "read-models", "", "URL of the read models, the same as for serve (default: in the data folder)")
	flags.StringVar(&at.Search, "search", "", "URL of the search index, the same as for serve (default: in the data folder)")
	flags.StringVar(&at.Originals, "originals", "", "URL of the uploaded files, the same as for serve (default: in the data folder)")
	return command
}
