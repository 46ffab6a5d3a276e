package main

import (
	"annals/cmd/annals/connection"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/folderimport"
	"annals/cmd/annals/settings"
	"annals/commands/importer/extract"

	"github.com/spf13/cobra"
)

func importCommand(at *engine.URLs) *cobra.Command {
	c := new(connection.Flags)
	o := new(folderimport.Options)
	command := &cobra.Command{
		Use:   "import DIR",
		Short: "Import a directory or a file through a running server",
		Long: "Import every file below DIR that the server imports (" + extract.StandardFormats().String() + ", or what\n" +
			"--formats of annals serve names) into folders of the same names. Hidden files and symbolic links\n" +
			"are skipped. A state file records the outcome for each file, so that the same command continues after an interruption.\n\n" +
			"Run it again to update the folder: files that the server already has are not uploaded, and a changed file becomes the\n" +
			"next version of its document. If a file was renamed, its document is renamed too, provided that an import of this\n" +
			"DIR created the document, that the document was not moved on the server, and that the content is the same. Otherwise,\n" +
			"or without the state file, the renamed file becomes a new document.\n\n" +
			"A document that was changed or renamed on the server since the last import is kept. If its file was changed as well,\n" +
			"that is a conflict, and the file fails; --restart replaces such documents. If several documents have the same name,\n" +
			"the one of the last import is used, or else the newest.\n\n" +
			"--delete removes documents below the folder that have no file in DIR, including documents that others created. It\n" +
			"keeps documents that no import would create, because they are of other types or hidden. If several documents have the\n" +
			"name of a file, it removes all but the document of the file, unless --yes is set. Folders are not removed.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImport(cmd, c, at, *o, args[0])
		},
	}
	flags := command.Flags()
	c.Bind(flags)
	flags.StringVar(&o.Folder, "folder", "", "path of the folder on the server to import into, such as reports/2024 (default: the name of DIR)")
	flags.StringArrayVar(&o.Tags, "tag", nil, "add this tag to every document; repeatable")
	flags.BoolVar(&o.MatterTags, "front-matter-tags", false, "add the tags in the front matter of a Markdown file (field tags) to its document")
	flags.IntVar(&o.Parallel, "parallel", 2, "number of concurrent uploads, from 1 to 16")
	flags.StringVar(&o.State, "state", "", "path of the state file, which records the outcome for each file (default: in the user's cache directory)")
	flags.BoolVar(&o.Restart, "restart", false, "compare every file with its document and replace all documents that differ; use the state file only to know which documents an import created")
	flags.BoolVar(&o.Quiet, "quiet", false, "print only failures")
	flags.BoolVar(&o.JSON, "json", false, "print the summary as one JSON object")
	flags.BoolVar(&o.DryRun, "dry-run", false, "list which documents would be created, updated, tagged, renamed and removed, without changing anything")
	flags.BoolVar(&o.Replace, "replace", true, "replace the documents of changed files; with --replace=false keep them and create new documents")
	flags.BoolVar(&o.Delete, "delete", false, "if no file failed, remove the documents below the folder that have no file in DIR; asks for confirmation")
	flags.BoolVar(&o.Yes, "yes", false, "do not ask before --delete removes documents")
	flags.BoolVar(&o.Force, "force", false, "let --delete remove all documents, for example if DIR is empty")
	return command
}

func runImport(cmd *cobra.Command, c *connection.Flags, at *engine.URLs, o folderimport.Options, path string) (err error) {
	local := accountsOf(cmd, at)
	target := c.Target(local)
	if o.Server, err = target.CoreURL(); err != nil {
		return err
	}
	if o.Credential, err = c.Credential(cmd.Context(), local, o.Server); err != nil {
		return err
	}
	o.Vault, err = target.VaultURL()
	if required := target.Vault != "" || target.Core == "" || o.Delete; err != nil && required {
		return err
	}
	o.Path, o.In, o.Out, o.Err = path, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	return folderimport.Run(cmd.Context(), o)
}
