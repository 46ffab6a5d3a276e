package main

import (
	"annals/cmd/annals/engine"
	"annals/cmd/annals/maintain"

	"github.com/spf13/cobra"
)

func verifyCommand(at *engine.URLs) *cobra.Command {
	var quick bool
	command := &cobra.Command{
		Use:   "verify",
		Short: "Check the log, the uploaded files, the read models and the search index",
		Long: "Check the log: revisions have no gaps, positions increase, payloads are valid, and every text and original that\n" +
			"documents refer to exists. Then make every read model from the log in a temporary folder (TMPDIR), compare it with\n" +
			"the active one row by row, and compare the search index by its passages and a sample of searches.\n\n" +
			"A server may be running; then a search index in a folder is not compared, because only the server can open it.\n" +
			"Without one, none can start while the index is compared. Nothing is changed. Differences are printed, and the\n" +
			"exit status is not 0 if there are any.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := maintain.Verification{URLs: *at, Quick: quick, Out: cmd.OutOrStdout(), Messages: cmd.ErrOrStderr()}
			return v.Run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&quick, "quick", false, "check only the size of the originals, not their content")
	bindLog(flags, at)
	flags.StringVar(&at.ReadModels, "read-models", "", "URL of the read models, sqlite:///folder or postgres://host/database (default: in the data folder)")
	flags.StringVar(&at.Search, "search", "", "URL of the search index, "+engine.SearchEngines.Forms()+" (default: in the data folder)")
	flags.StringVar(&at.Originals, "originals", "", "URL of the uploaded files, file:///folder or s3://bucket/prefix (default: in the data folder)")
	return command
}
