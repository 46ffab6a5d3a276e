package main

import (
	"fmt"

	"annals/cmd/annals/client"
	"annals/cmd/annals/connection"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/evaluation"
	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

// evalCommand measures the searches and answers of a running server.
func evalCommand(at *engine.URLs) *cobra.Command {
	c := new(connection.Flags)
	o := &evaluation.Options{Program: version()}
	command := &cobra.Command{
		Use:   "eval DIR",
		Short: "Measure searches and answers with questions whose answers are known, through a running server",
		Long: "Measure how well a running server finds and answers. DIR has queries with the documents that are relevant for them\n" +
			"(queries.jsonl and qrels.txt or qrels.tsv, as TREC and BEIR have them), or questions with their answers (questions.jsonl,\n" +
			"or questions.json in the format of SQuAD), or both. docs/evaluation.md describes the files and the measures.\n\n" +
			"The documents must be on the server. Relevant documents are named by id, path or file name. Rights and limits are\n" +
			"those of the user who measures.\n\n" +
			"--save keeps the results in a file, and --compare shows the differences to such a file, for example after an update.\n" +
			"--generation searches in a generation of the passages that is not active, so that it can be compared before it is.",
		Example: "  annals eval questions --folder handbook --save before.json\n  annals eval questions --folder handbook --generation 2 --compare before.json",
		Args:    settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir = args[0]
			if err := o.Check(); err != nil {
				return err
			}
			return runEval(cmd, c, at, *o)
		},
	}
	flags := command.Flags()
	c.Bind(flags)
	flags.StringVar(&o.Folder, "folder", "", "path of a folder: search only in it and in folders below it")
	flags.IntVar(&o.Generation, "generation", 0, "number of the generation of the passages to search in, as annals projections shows it; only for administrators (default: the active one)")
	flags.Float64Var(&o.Threshold, "threshold", evaluation.Threshold, "confidence below which an answer counts as none, from 0 to 1")
	flags.IntVar(&o.Workers, "workers", 2, "number of concurrent requests, from 1 to 16")
	flags.StringVar(&o.Save, "save", "", "file to write the results to, with those of each question")
	flags.StringVar(&o.Compare, "compare", "", "file that --save has written: print the differences to it")
	flags.BoolVar(&o.JSON, "json", false, "print the results as one JSON object")
	settings.FlagOnly(flags, "folder", "generation", "threshold", "workers", "save", "compare", "json")
	return command
}

func runEval(cmd *cobra.Command, c *connection.Flags, at *engine.URLs, o evaluation.Options) error {
	core, vault, err := c.Clients(cmd.Context(), accountsOf(cmd, at))
	if err != nil {
		return err
	}
	if core.URL == "" {
		return fmt.Errorf("the core of the server with the vault %s is unknown: pass its URL as --server", vault.URL)
	}
	core.HTTP = client.NewHTTPClient(o.Workers)
	vault.HTTP = core.HTTP
	defer core.HTTP.CloseIdleConnections()
	o.Core, o.Vault, o.Out, o.Err = core, vault, cmd.OutOrStdout(), cmd.ErrOrStderr()
	return evaluation.Run(cmd.Context(), o)
}
