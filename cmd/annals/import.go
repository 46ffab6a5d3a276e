package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"annals/commands"
	"annals/commands/importer/extract"
)

// importConfig is everything that import can be told.
type importConfig struct {
	connection
	folder, state                string
	tags                         []string
	parallel                     int
	restart, quiet, json, dryRun bool
	replace, delete, yes, force  bool
	vaultURL                     string

	pause, poll time.Duration // before a second try, and between two looks at a job; both grow
	patience    time.Duration // with a job whose files have all ended
}

// importCommand imports a folder tree through the REST interface.
func importCommand(dataDir func() string) *cobra.Command {
	c := &importConfig{pause: 500 * time.Millisecond, poll: 100 * time.Millisecond, patience: 10 * time.Second}
	command := &cobra.Command{
		Use:   "import DIR",
		Short: "Import a folder tree, or a file, through a running server",
		Long: "Import every file below DIR that the service can read (" + strings.Join(extract.Extensions(), " ") + "), into the\n" +
			"same folders there. Hidden files and links are passed over. What became of each file is noted, so that the same\n" +
			"command goes on where it stopped.\n\n" +
			"The same folder imported again is brought up to date: files that the service has are not sent, and a changed file\n" +
			"becomes the next version of its document. A renamed or moved file keeps its document, if an import from this DIR made\n" +
			"it, the document is still where that put it, and the bytes are the same; otherwise, as without what was noted, it\n" +
			"becomes a document of its own. Documents that others made are not renamed.\n\n" +
			"A document that was changed or renamed at the service since its file was imported is kept while the file stays as it\n" +
			"was. If the file was changed, too, that is a conflict, and the file fails; --restart replaces the document. Of several\n" +
			"documents with one name that of the last import counts, or else the newest.\n\n" +
			"With --delete the documents below the folder are removed whose files are no longer in DIR, whoever put them there, but\n" +
			"for those that an import does not make: of other types, or hidden. Of several documents with one name, all but the\n" +
			"file's are removed, unless --yes is passed. Their folders stay.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd, dataDir(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.folder, "folder", "", "folder of the service to import into (default: the name of DIR)")
	flags.StringArrayVar(&c.tags, "tag", nil, "tag for every document (repeatable)")
	c.bind(flags)
	flags.IntVar(&c.parallel, "parallel", 2, "uploads side by side")
	flags.StringVar(&c.state, "state", "", "file in which to note what was imported (default: in the user's cache folder)")
	flags.BoolVar(&c.restart, "restart", false, "forget what was noted of the files, compare each with what the server has, and replace what differs")
	flags.BoolVar(&c.quiet, "quiet", false, "print failures only")
	flags.BoolVar(&c.json, "json", false, "print the outcome as a JSON object")
	flags.BoolVar(&c.dryRun, "dry-run", false, "list what would be created, updated, tagged, renamed and removed, and do nothing")
	flags.BoolVar(&c.replace, "replace", true, "replace the documents of changed files; without it these become documents beside them")
	flags.BoolVar(&c.delete, "delete", false, "remove documents below the folder whose files are no longer in DIR, after all else was done without a failure; asks first")
	flags.BoolVar(&c.yes, "yes", false, "do not ask before documents are removed")
	flags.BoolVar(&c.force, "force", false, "let --delete remove even if it leaves nothing, as when DIR is empty")
	flags.StringVar(&c.vaultURL, "vault-url", "", "URL of the vault, to compare with (default: beside the core, or of the server on the data folder)")
	return command
}

func (c *importConfig) run(cmd *cobra.Command, dataDir, name string) error {
	if c.parallel < 1 || c.parallel > 16 {
		return fmt.Errorf("--parallel %d: must be from 1 to 16", c.parallel)
	}
	t, err := listTree(name)
	if err != nil {
		return err
	}
	if c.delete {
		if err := c.checkDelete(cmd, name); err != nil {
			return err
		}
	}
	key := importKey{Folder: strings.Trim(c.folder, "/"), Dir: t.dir}
	if key.Folder == "" && c.folder == "" {
		key.Folder = filepath.Base(t.dir)
	}
	if key.Folder == "" || key.Folder == string(filepath.Separator) || key.Folder == "." {
		return errors.New("name the folder to import into by --folder")
	}
	if key.Folder, err = commands.NormalizeFolder(key.Folder); err != nil {
		return fmt.Errorf("--folder: %w", err)
	}
	if key.Server, err = c.core(dataDir); err != nil {
		return err
	}
	if c.state == "" {
		if c.state, err = statePath(key); err != nil {
			return err
		}
	}
	if c.dryRun && !c.replace {
		return c.list(cmd.OutOrStdout(), t, key)
	}
	return c.carryOut(cmd, dataDir, t, key)
}

// list prints what would be imported.
func (c *importConfig) list(out io.Writer, t tree, key importKey) error {
	s := &importState{path: c.state, key: key}
	if err := s.load(c.restart); err != nil {
		return err
	}
	sent := 0
	for _, f := range t.files {
		if !s.finished(f) {
			sent++
			fmt.Fprintf(out, "%s -> %s\n", printable(f.Path), printable(folderOf(key.Folder, f)))
		}
	}
	fmt.Fprintf(out, "%d files to import, %d imported earlier", sent, len(t.files)-sent)
	if over := t.passed.String(); over != "" {
		fmt.Fprintf(out, "; passed over: %s", over)
	}
	_, err := fmt.Fprintln(out)
	return err
}

// carryOut imports, and tells how that ended.
func (c *importConfig) carryOut(cmd *cobra.Command, dataDir string, t tree, key importKey) (err error) {
	as, err := c.credential(cmd, dataDir, key.Server)
	if err != nil {
		return err
	}
	vault, err := c.vaultBeside(dataDir)
	if err != nil {
		return err
	}
	state := &importState{path: c.state, key: key}
	restart := c.restart && !t.single // other files of the folder are noted there, too
	if c.dryRun {
		err = state.load(restart)
	} else if state, err = openState(c.state, key, restart); err == nil {
		defer func() { err = errors.Join(err, state.close()) }()
	}
	if err != nil {
		return err
	}
	if c.restart && t.single {
		if err := state.restart(t.files[0].Path, c.dryRun); err != nil {
			return err
		}
	}
	// Nothing is drawn over a question.
	asks := c.delete && !c.yes && !c.dryRun
	m := newMeter(cmd.ErrOrStderr(), len(t.files), c.quiet || c.dryRun || asks)
	if over := t.passed.String(); over != "" && !c.quiet {
		m.say("passed over: " + over)
	}
	rest := restClient{
		url: key.Server, http: newHTTPClient(2 * c.parallel), tries: 30, pause: c.pause, tell: m.waiting,
		as: as,
	}
	f := &folderImport{
		client: &coreClient{rest},
		state:  state, meter: m, tree: t, top: key.Folder, tags: c.tags, parallel: c.parallel, poll: c.poll, patience: c.patience,
		replace: c.replace, delete: c.delete, force: c.force, dryRun: c.dryRun,
		summary: importSummary{Server: key.Server, Dir: t.dir, Folder: key.Folder, PassedOver: t.passed, State: c.state, DryRun: c.dryRun},
	}
	if vault != "" && c.replace {
		rest.url = vault
		f.vault = &vaultClient{rest}
	}
	if asks && !c.quiet {
		f.begin = m.begin
	}
	if !c.yes {
		f.confirm = func(removed []planned) error { return confirmRemoval(cmd, removed) }
	}
	defer f.client.http.CloseIdleConnections()
	stopped := f.run(cmd.Context())
	m.end()
	if err := f.summary.print(cmd.OutOrStdout(), c.json, c.quiet); err != nil {
		return err
	}
	switch {
	case stopped != nil && f.summary.Left > 0:
		m.say(fmt.Sprintf("stopped with %d files left: the same command goes on from here", f.summary.Left))
		return stopped
	case stopped != nil:
		return stopped
	case f.summary.Failed > 0:
		return fmt.Errorf("%d of %d files failed", f.summary.Failed, f.summary.Files)
	}
	return nil
}
