package main

import (
	"fmt"
	"time"

	"annals/cmd/annals/connection"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/rereading"
	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

// rereadCommand lets a running server read documents again.
func rereadCommand(at *engine.URLs) *cobra.Command {
	c := new(connection.Flags)
	o := &rereading.Options{Poll: 200 * time.Millisecond}
	command := &cobra.Command{
		Use:   "reread [DOCUMENT-ID...]",
		Short: "Read the stored files of documents again, through a running server",
		Long: "Read the stored files of documents again: after the recognition of text in scans was installed (--scanned), after an\n" +
			"update of Annals (--outdated), or the documents with the given ids. Files are not uploaded again.\n\n" +
			"You need write access to the folders of the documents; --folder, --scanned and --outdated leave out documents that you\n" +
			"may not change. An administrator may read all documents again. --scanned and --outdated together take documents to\n" +
			"which either applies, and --folder limits both to a folder and the folders below it.\n\n" +
			"A document gets a new version if its text, its metadata or its warnings differ, or if an earlier version of Annals had\n" +
			"read it. Until then, and in its earlier versions, it has the old text. A document that gets new content before it is\n" +
			"read keeps that. The jobs continue on the server if this command or the server is interrupted.",
		Example: "  annals reread --scanned\n  annals reread --outdated --folder reports/2024 --dry-run\n  annals reread 0f5c28a2-54d5-5f4e-8a0e-0f4cf4b5a1c7",
		RunE: func(cmd *cobra.Command, ids []string) error {
			o.IDs = ids
			if err := o.Check(); err != nil {
				return err
			}
			return runReread(cmd, c, at, *o)
		},
	}
	flags := command.Flags()
	c.Bind(flags)
	flags.StringVar(&o.Folder, "folder", "", "path or id of a folder: only documents in it and in folders below it")
	flags.BoolVar(&o.Scanned, "scanned", false, "only documents with scanned pages that were not read")
	flags.BoolVar(&o.Outdated, "outdated", false, "only documents that an earlier version of Annals has read")
	flags.BoolVar(&o.DryRun, "dry-run", false, "list the documents, without reading them")
	flags.BoolVar(&o.JSON, "json", false, "print the summary as one JSON object")
	settings.FlagOnly(flags, "folder", "scanned", "outdated", "dry-run", "json")
	return command
}

func runReread(cmd *cobra.Command, c *connection.Flags, at *engine.URLs, o rereading.Options) error {
	core, vault, err := c.Clients(cmd.Context(), accountsOf(cmd, at))
	if err != nil {
		return err
	}
	defer vault.HTTP.CloseIdleConnections()
	if core.URL == "" {
		return fmt.Errorf("the core of the server with the vault %s is unknown: pass its URL as --server", vault.URL)
	}
	o.Core, o.Vault, o.Out, o.Err = core, vault, cmd.OutOrStdout(), cmd.ErrOrStderr()
	return rereading.Run(cmd.Context(), o)
}
