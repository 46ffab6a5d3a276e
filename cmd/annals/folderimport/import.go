// Package folderimport implements the command import, which imports a local directory
// into a folder of a running server. Another import of the same directory updates the
// folder. The package walks the directory, compares it with the documents on the
// server, uploads new and changed files, and renames, tags and removes documents. A
// state file records each step, so that an interrupted import can continue. The package
// calls the server only through the client package.
package folderimport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"annals/cmd/annals/client"
	"annals/cmd/annals/terminal"
	"annals/commands/naming"
	"annals/events/fault"

	"golang.org/x/sync/errgroup"
)

// Options are the settings of an import.
type Options struct {
	Server     string // URL of the service at /core
	Vault      string // URL of the service at /vault; if empty, the state file alone decides which files to upload
	Credential client.Credential

	Path   string // the directory to import, or a single file
	Folder string // path of the target folder on the server; default: the name of the directory
	Tags   []string
	// MatterTags adds the tags in the front matter of a Markdown file to its document.
	MatterTags bool

	Parallel int    // concurrent uploads, from 1 to 16
	State    string // path of the state file; default: in the user's cache directory

	Replace bool // a changed file replaces its document instead of creating another one
	Restart bool // ignore the state file, except to find which documents an import created
	Delete  bool // remove documents whose files no longer exist
	Yes     bool // remove documents without asking for confirmation
	Force   bool // allow Delete to remove every document of the folder
	DryRun  bool // list the changes without making them

	Quiet    bool // print only failures
	JSON     bool // print the summary as JSON
	In       io.Reader
	Out, Err io.Writer

	Pause    time.Duration // before the first retry of a request; default 500 ms
	Poll     time.Duration // between the first two status requests for a job; default 100 ms
	Patience time.Duration // maximum time to wait until search finds imported files; default 10 s
}

// Run imports the directory and prints a summary. It returns an error if it stopped early
// or if files failed.
func Run(ctx context.Context, o Options) error {
	o.Pause, o.Poll, o.Patience = cmp.Or(o.Pause, 500*time.Millisecond), cmp.Or(o.Poll, 100*time.Millisecond), cmp.Or(o.Patience, 10*time.Second)
	if o.Parallel < 1 || o.Parallel > 16 {
		return fmt.Errorf("--parallel %d: must be from 1 to 16", o.Parallel)
	}
	t, err := walk(o.Path)
	if err != nil {
		return err
	}
	if o.Delete {
		if err := o.checkDelete(t); err != nil {
			return err
		}
	}
	key, err := o.key(t)
	if err != nil {
		return err
	}
	if o.State == "" {
		if o.State, err = statePath(key); err != nil {
			return err
		}
	}
	if o.DryRun && !o.Replace {
		return o.list(t, key)
	}
	return o.run(ctx, t, key)
}

// key returns the key of the import, which its state file must have.
func (o *Options) key(t tree) (stateKey, error) {
	key := stateKey{Server: o.Server, Folder: strings.Trim(o.Folder, "/"), Dir: t.dir}
	if o.Folder == "" {
		key.Folder = filepath.Base(t.dir)
	}
	if key.Folder == "" || key.Folder == string(filepath.Separator) || key.Folder == "." {
		return key, errors.New("the directory has no name to use for the folder: pass the folder to import into as --folder")
	}
	var err error
	if key.Folder, err = naming.Folder(key.Folder); err != nil {
		return key, fmt.Errorf("--folder: %w", err)
	}
	return key, nil
}

// list prints the files that would be uploaded. It only reads the state file and does
// not call the server.
func (o *Options) list(t tree, key stateKey) error {
	t.restrict()
	s := &state{path: o.State, key: key}
	if err := s.load(o.Restart); err != nil {
		return err
	}
	pending := 0
	for _, f := range t.files {
		if !s.finished(f) {
			pending++
			fmt.Fprintf(o.Out, "%s -> %s\n", terminal.Printable(f.Path), terminal.Printable(folderOf(key.Folder, f)))
		}
	}
	fmt.Fprintf(o.Out, "%d files to import, %d imported earlier", pending, len(t.files)-pending)
	if over := t.passed.String(); over != "" {
		fmt.Fprintf(o.Out, "; skipped: %s", over)
	}
	_, err := fmt.Fprintln(o.Out)
	return err
}

// run opens the state, imports, and prints the summary.
func (o *Options) run(ctx context.Context, t tree, key stateKey) (err error) {
	s, err := o.openState(t, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	asks := o.Delete && !o.Yes && !o.DryRun // then show no progress bar, which would overwrite the question
	m := newMeter(o.Err, len(t.files), o.Quiet || o.DryRun || asks)
	rest := client.Client{
		URL: o.Server, HTTP: client.NewHTTPClient(2 * o.Parallel), Tries: 30, Pause: o.Pause, Notify: m.Waiting, Credential: o.Credential,
	}
	defer rest.HTTP.CloseIdleConnections()
	f := &folderImport{
		Options: *o, folder: key.Folder, tree: t, state: s, meter: m, core: &client.Core{Client: rest},
		summary: Summary{Server: key.Server, Dir: t.dir, Folder: key.Folder, PassedOver: t.passed, State: o.State, DryRun: o.DryRun},
	}
	if o.Vault != "" && o.Replace {
		rest.URL = o.Vault
		f.vault = &client.Vault{Client: rest}
	}
	if err := f.askFormats(ctx); err != nil {
		m.End()
		return err
	}
	stopped := f.run(ctx)
	m.End()
	if err := f.summary.print(o.Out, o.JSON, o.Quiet); err != nil {
		return err
	}
	switch {
	case stopped != nil && f.summary.Left > 0:
		m.Print(fmt.Sprintf("stopped before %d files: run the same command again to continue", f.summary.Left))
		return stopped
	case stopped != nil:
		return stopped
	case f.summary.Failed > 0:
		return fmt.Errorf("%d of %d files failed", f.summary.Failed, f.summary.Files)
	}
	return nil
}

// openState opens the state file; a dry run only reads it.
func (o *Options) openState(t tree, key stateKey) (s *state, err error) {
	restart := o.Restart && !t.single // an import of a single file keeps the records of other files
	if o.DryRun {
		s = &state{path: o.State, key: key}
		err = s.load(restart)
	} else {
		s, err = openState(o.State, key, restart)
	}
	if err == nil && o.Restart && t.single {
		if err = s.restart(t.files[0].Path); err != nil {
			err = errors.Join(err, s.close())
		}
	}
	return s, err
}

// folderImport is one run of the command import.
type folderImport struct {
	Options
	folder string // path of the target folder on the server
	tree   tree
	state  *state
	meter  *meter
	core   *client.Core
	vault  *client.Vault // if nil, the state file alone decides which files to upload

	uploads  chan struct{}  // semaphore for concurrent uploads
	replaces map[string]int // required version of each document to replace, by path; filled before the first upload

	mu      sync.Mutex
	pending map[string]localFile // files without an outcome yet, by path
	summary Summary
}

// batch holds the files of one upload. If job is not "", they are already uploaded, and
// job is the id of their job.
type batch struct {
	job   string
	files []localFile
}

// run imports the files that earlier runs did not import. Failed files are recorded in
// the summary. run returns an error only if it stopped before it tried all files.
func (f *folderImport) run(ctx context.Context) error {
	if !f.DryRun {
		if err := f.checkServer(ctx); err != nil {
			return err
		}
	}
	f.uploads = make(chan struct{}, f.Parallel)
	f.pending, f.replaces = map[string]localFile{}, map[string]int{}
	f.summary.Files = len(f.tree.files)
	for _, fault := range f.tree.faults {
		f.summary.fail(fault)
	}
	batches, c, err := f.plan(ctx)
	if err != nil || f.DryRun {
		return err
	}
	g, whole := errgroup.WithContext(ctx)
	g.SetLimit(2 * f.Parallel) // upload a batch while the server imports another one
	for _, b := range batches {
		if whole.Err() != nil {
			break
		}
		g.Go(func() error { return f.importBatch(whole, b) })
	}
	err = g.Wait()
	f.summary.Left = len(f.pending)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = f.remove(ctx, c)
	}
	return err
}

// askFormats asks the server which files it imports, and leaves out all others. It does not
// ask if the answer cannot matter.
func (f *folderImport) askFormats(ctx context.Context) (err error) {
	needed := f.Delete || slices.ContainsFunc(f.tree.files, func(file localFile) bool { return !f.tree.isImportable(file.Path) })
	if needed {
		f.tree.extensions, err = f.core.Formats(ctx)
	}
	switch {
	case client.IsRefusal(err, http.StatusNotFound), client.IsRefusal(err, http.StatusMethodNotAllowed):
		f.tree.extensions = nil // an older server
	case err != nil:
		return fmt.Errorf("ask the server which types of files it imports: %w", err)
	}
	f.tree.restrict()
	if f.tree.single && len(f.tree.files) == 0 {
		return fmt.Errorf("%s cannot be imported: the server does not read files of this type; an operator can allow them (--formats of annals serve)", terminal.Printable(f.Path))
	}
	f.summary.PassedOver = f.tree.passed
	if over := f.tree.passed.String(); over != "" && !f.Quiet {
		f.meter.Print("skipped: " + over)
	}
	f.meter.limit(len(f.tree.files))
	return nil
}

// checkServer checks that the server is reachable and accepts the credential. If the
// server does not have the last job in the state file, it has lost its data or is
// another server, and checkServer removes all records.
func (f *folderImport) checkServer(ctx context.Context) error {
	known, err := f.core.Knows(ctx, f.state.recent)
	switch {
	case client.IsRefusal(err, http.StatusUnauthorized), fault.Is(err, fault.Unauthenticated):
		return err
	case err != nil:
		return fmt.Errorf("connect to the server: %w", err)
	case !known && f.state.recent != "":
		f.meter.Print("the server has no record of the earlier import of this folder: starting over")
		return f.state.reset()
	}
	return nil
}

// plan makes the changes that need no upload. It returns the batches to import,
// beginning with those whose jobs are still running.
func (f *folderImport) plan(ctx context.Context) (batches []batch, c *comparison, err error) {
	inFlight := map[localFile]bool{}
	for id, sent := range f.state.jobs {
		batches = append(batches, batch{id, sent})
		for _, file := range sent {
			inFlight[file] = true
		}
	}
	for _, file := range f.tree.files {
		f.pending[file.Path] = file
	}
	if c, err = f.compare(ctx, inFlight); err != nil {
		return nil, nil, err
	}
	var send []localFile
	if c != nil {
		send, err = f.makeChanges(ctx, c)
	} else {
		send = f.unfinished(inFlight)
	}
	if err != nil || f.DryRun {
		return nil, c, err
	}
	for _, files := range cut(send, maxBatchFiles, maxBatchBytes) {
		batches = append(batches, batch{"", files})
	}
	return batches, c, nil
}

// unfinished returns the files to upload if only the state file is known, not the
// documents on the server.
func (f *folderImport) unfinished(inFlight map[localFile]bool) (send []localFile) {
	for _, file := range f.tree.files {
		switch {
		case f.state.finished(file):
			f.skip(file)
		case !inFlight[file]:
			send = append(send, file)
			if noted, _ := f.state.noted(file); f.Replace {
				f.replaces[file.Path] = noted.Version // if the document has another version, the server rejects the file
			}
			if f.DryRun { // without a comparison a dry run cannot know whether the server has a document for the file
				f.summary.Created++
				f.propose(PlannedChange{Action: "create", File: file.Path})
			}
		}
	}
	return send
}

// skip counts a file as unchanged.
func (f *folderImport) skip(file localFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pending, file.Path)
	f.summary.Skipped++
	f.summary.Unchanged++
	f.meter.add(1)
}

// fail records files as failed.
func (f *folderImport) fail(reason string, files ...localFile) error {
	outcomes := make([]outcome, len(files))
	for i, file := range files {
		outcomes[i] = outcome{localFile: file, Error: reason}
	}
	return f.note("", outcomes...)
}

// note records outcomes in the state file and counts them in the summary. If job is not
// "", that job has ended with these outcomes.
func (f *folderImport) note(job string, outcomes ...outcome) error {
	if err := f.state.ended(job, outcomes); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range outcomes {
		if f.pending[o.Path] != o.localFile {
			continue // not a file of this run: an earlier run uploaded it, and it was changed or removed since
		}
		delete(f.pending, o.Path)
		f.summary.count(o)
		f.meter.add(1)
	}
	return nil
}

func (f *folderImport) stillPending(files []localFile) (pending []localFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range files {
		if f.pending[file.Path] == file {
			pending = append(pending, file)
		}
	}
	return pending
}
