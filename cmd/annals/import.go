package main

import (
	"strings"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/folderimport"
	"annals/commands/importer/extract"

	"github.com/spf13/cobra"
)

// importCommand imports a directory through the REST interface.
func importCommand(at *engine.URLs) *cobra.Command {
	c := new(connection)
	o := new(folderimport.Options)
	command := &cobra.Command{
		Use:   "import DIR",
		Short: "Import a directory, or a file, through a running server",
		Long: "Import every file below DIR that the server can read (" + strings.Join(extract.Extensions(), " ") + ") into folders of\n" +
			"the same names. Hidden files and symbolic links are skipped. A state file records the outcome for each file, so that\n" +
			"the same command continues after an interruption.\n\n" +
			"A further import brings the folder up to date: files that the server has are not uploaded, and a changed file becomes\n" +
			"the next version of its document. A renamed file keeps its document if an import of this DIR created the document,\n" +
			"it has not been moved on the server, and the content is the same; otherwise, or without the state file, it becomes a\n" +
			"new document. Documents that others created are not renamed.\n\n" +
			"A document that was changed or renamed on the server since the last import is kept, unless its file was changed, too:\n" +
			"that is a conflict, and the file fails. --restart replaces such documents. If several documents have one name, the one\n" +
			"of the last import counts, or else the newest.\n\n" +
			"--delete removes documents below the folder whose files are not in DIR, including those that others created, but not\n" +
			"those that an import would not create: of other types, or hidden. If several documents have one name, it removes all\n" +
			"but that of the file, unless --yes is given. Folders are not removed.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImport(cmd, c, at, *o, args[0])
		},
	}
	flags := command.Flags()
	c.bind(flags)
	flags.StringVar(&o.Folder, "folder", "", "folder of the server to import into (default: the name of DIR)")
	flags.StringArrayVar(&o.Tags, "tag", nil, "tag for every document (repeatable)")
	flags.IntVar(&o.Parallel, "parallel", 2, "uploads at the same time, from 1 to 16")
	flags.StringVar(&o.State, "state", "", "file that records what was imported (default: in the user's cache directory)")
	flags.BoolVar(&o.Restart, "restart", false, "compare each file with its document and replace the documents that differ; the state file is used only to know which documents an import created")
	flags.BoolVar(&o.Quiet, "quiet", false, "print failures only")
	flags.BoolVar(&o.JSON, "json", false, "print the summary as a JSON object")
	flags.BoolVar(&o.DryRun, "dry-run", false, "list what would be created, updated, tagged, renamed and removed, and change nothing")
	flags.BoolVar(&o.Replace, "replace", true, "replace the documents of changed files; --replace=false keeps them and creates new documents")
	flags.BoolVar(&o.Delete, "delete", false, "after everything else succeeded, remove documents below the folder whose files are not in DIR; asks first")
	flags.BoolVar(&o.Yes, "yes", false, "remove documents without asking")
	flags.BoolVar(&o.Force, "force", false, "allow --delete to remove all documents, for example if DIR is empty")
	return command
}

func runImport(cmd *cobra.Command, c *connection, at *engine.URLs, o folderimport.Options, path string) (err error) {
	target := c.target(at.Data)
	if o.Server, err = target.CoreURL(); err != nil {
		return err
	}
	if o.Credential, err = c.credential(cmd, at, o.Server); err != nil {
		return err
	}
	o.Vault, err = target.VaultURL()
	if required := c.vaultURL != "" || c.server == "" || o.Delete; err != nil && required {
		return err
	}
	o.Path, o.In, o.Out, o.Err = path, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	return folderimport.Run(cmd.Context(), o)
}
