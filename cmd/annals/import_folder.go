package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"annals/events"
	"annals/events/fault"
)

// folderImport sends the files of a tree and waits for what becomes of them.
type folderImport struct {
	client   *coreClient
	state    *importState
	meter    *meter
	tree     tree
	top      string
	tags     []string
	parallel int
	poll     time.Duration // at first; it grows
	patience time.Duration // how long a job whose files have all ended is followed until they are found too

	replace bool
	vault   *vaultClient          // to compare with; nil: what was noted tells what to send
	delete  bool                  // documents that have no file
	force   bool                  // even if that leaves none
	confirm func([]planned) error // is asked before that; nil: nobody is
	begin   func()                // is called once nobody is asked any more; may be nil
	dryRun  bool

	uploads chan struct{} // one for each upload under way

	mu      sync.Mutex
	wanted  map[string]localFile // not ended yet
	summary importSummary

	replaces map[string]int // versions of documents, by the paths of files that replace them; none is set once files are sent
}

// Bounds of one upload.
const (
	maxBatchFiles = 100
	maxBatchBytes = 32 << 20
	maxPoll       = 2 * time.Second
	maxResends    = 3 // of a job that the server does not know
)

// task is files that go together: to be sent, or, with a job, sent already.
type task struct {
	job   string
	files []localFile
}

// run imports everything that an earlier run did not. The error is why it
// stopped early; files that failed are in the summary.
func (f *folderImport) run(ctx context.Context) error {
	if !f.dryRun {
		if err := f.greet(ctx); err != nil {
			return err
		}
	}
	f.uploads = make(chan struct{}, f.parallel)
	f.wanted, f.replaces = map[string]localFile{}, map[string]int{}
	f.summary.Files = len(f.tree.files)
	for _, fault := range f.tree.faults {
		f.summary.fail(fault)
	}
	tasks, m, err := f.plan(ctx)
	if err != nil || f.dryRun {
		return err
	}
	g, whole := errgroup.WithContext(ctx)
	// While the server works on one job, the next is uploaded.
	g.SetLimit(2 * f.parallel)
	for _, t := range tasks {
		if whole.Err() != nil {
			break
		}
		g.Go(func() error { return f.carry(whole, t) })
	}
	err = g.Wait()
	f.summary.Left = len(f.wanted)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = f.remove(ctx, m)
	}
	return err
}

// greet makes sure that the server is there, and that it is the one that the
// state tells of: with a new data folder it would know none of its jobs.
func (f *folderImport) greet(ctx context.Context) error {
	id := f.state.recent
	if id == "" {
		id = uuid.Nil.String()
	}
	known, err := f.client.reach(ctx, id)
	switch {
	case isRefusal(err, http.StatusUnauthorized), fault.Is(err, fault.Unauthenticated):
		return err
	case err != nil:
		return fmt.Errorf("reach the server: %w", err)
	case !known && f.state.recent != "":
		f.meter.say("the server does not know the earlier import of this folder; starting anew")
		return f.state.forget()
	}
	return nil
}

// plan decides what is left to do, the jobs in flight first. Documents of renamed
// files are renamed here.
func (f *folderImport) plan(ctx context.Context) (tasks []task, m *comparison, err error) {
	flying := map[localFile]bool{}
	for id, sent := range f.state.jobs {
		tasks = append(tasks, task{id, sent})
		for _, file := range sent {
			flying[file] = true
		}
	}
	for _, file := range f.tree.files {
		f.wanted[file.Path] = file
	}
	if m, err = f.compare(ctx, flying); err != nil {
		return nil, nil, err
	}
	var send []localFile
	if m != nil {
		send, err = f.settle(ctx, m)
	} else {
		send = f.unfinished(flying)
	}
	if err != nil || f.dryRun {
		return nil, m, err
	}
	for _, files := range batches(send, maxBatchFiles, maxBatchBytes) {
		tasks = append(tasks, task{"", files})
	}
	return tasks, m, nil
}

// unfinished returns the files to send by what was noted alone.
func (f *folderImport) unfinished(flying map[localFile]bool) (send []localFile) {
	for _, file := range f.tree.files {
		switch {
		case f.state.finished(file):
			f.skip(file)
		case !flying[file]:
			send = append(send, file)
			if noted, _ := f.state.noted(file); f.replace {
				f.replaces[file.Path] = noted.Version // one beyond it was changed at the service
			}
			if f.dryRun { // or update: there is nothing to compare with
				f.summary.Created++
				f.propose(planned{Action: "create", File: file.Path})
			}
		}
	}
	return send
}

// skip counts a file as one that is there.
func (f *folderImport) skip(file localFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.wanted, file.Path)
	f.summary.Skipped++
	f.summary.Unchanged++
	f.meter.add(1)
}

// carry brings files to their end.
func (f *folderImport) carry(ctx context.Context, t task) error {
	for range maxResends {
		if t.job == "" {
			job, sums, err := f.send(ctx, t.files)
			if err != nil {
				return f.divide(ctx, t.files, err)
			}
			if err := f.state.sent(job.ID, t.files, sums); err != nil {
				return err
			}
			t.job = job.ID
		}
		err := f.follow(ctx, t)
		if !isRefusal(err, http.StatusNotFound) {
			return err
		}
		if err := f.state.ended(t.job, nil); err != nil {
			return err
		}
		t = task{"", f.stillWanted(t.files)}
		if len(t.files) == 0 {
			return nil
		}
	}
	return fmt.Errorf("the server forgets every job that it made of %s and other files", t.files[0].Path)
}

func (f *folderImport) send(ctx context.Context, files []localFile) (importJob, []string, error) {
	select {
	case f.uploads <- struct{}{}:
		defer func() { <-f.uploads }()
		return f.client.upload(ctx, f.tree.dir, files, func(file localFile) uploadEntry {
			return uploadEntry{Folder: folderOf(f.top, file), Tags: f.tags, Replace: f.replace, Version: f.replaces[file.Path]}
		})
	case <-ctx.Done():
		return importJob{}, nil, ctx.Err()
	}
}

// divide goes on after an upload that failed, where that is the fault of some
// of its files: without the one that cannot be read, or with the halves of
// what the server refused.
func (f *folderImport) divide(ctx context.Context, files []localFile, err error) error {
	var local *fileError
	var refused *refusal
	switch {
	case errors.As(err, &local):
		rest := make([]localFile, 0, len(files))
		for _, file := range files {
			if file != local.file {
				rest = append(rest, file)
			}
		}
		err := f.fail([]localFile{local.file}, unwrapPath(local.err))
		if err != nil || len(rest) == 0 {
			return err
		}
		return f.carry(ctx, task{"", rest})
	case !errors.As(err, &refused) || !refused.blamesFiles():
		return err
	case len(files) > 1 && (refused.status != http.StatusForbidden || !f.oneFolder(files)):
		half := len(files) / 2
		err := f.carry(ctx, task{"", files[:half]})
		if err != nil {
			return err
		}
		return f.carry(ctx, task{"", files[half:]})
	}
	return f.fail(files, refused.Error())
}

// blamesFiles reports whether a refusal is due to what was sent, and not to
// the server's state or the sign-in.
func (e *refusal) blamesFiles() bool {
	switch e.status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

func (f *folderImport) oneFolder(files []localFile) bool {
	for _, file := range files[1:] {
		if folderOf(f.top, file) != folderOf(f.top, files[0]) {
			return false
		}
	}
	return true
}

// follow asks for a job until it has ended, and notes what became of its
// files. What lets them be found may be away for longer than anybody waits. A refusal 404 means that the server does not know it.
func (f *folderImport) follow(ctx context.Context, t task) error {
	shown := 0
	var ended time.Time // when all files of the job first had
	show := func(n int) {
		n = min(n, len(f.stillWanted(t.files))) // the others are counted, or gone
		f.meter.add(n - shown)
		shown = n
	}
	for wait := f.poll; ; wait = min(wait*3/2, maxPoll) {
		job, err := f.client.job(ctx, t.job)
		if err != nil {
			show(0)
			return err
		}
		if ended.IsZero() && job.Successful+job.Failed >= len(t.files) {
			ended = time.Now()
		}
		late := !ended.IsZero() && time.Since(ended) > f.patience
		if job.finished() || late {
			show(0)
			if !job.finished() {
				f.meter.waiting("what was imported is not found yet: " + job.Message)
			}
			return f.end(t, job)
		}
		show(min(job.Successful+job.Failed, len(t.files)))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end notes the results of a job that has ended.
func (f *folderImport) end(t task, job importJob) error {
	if len(job.Results) != len(t.files) {
		return fmt.Errorf("job %s of %d files has %d results: %s", t.job, len(t.files), len(job.Results), job.Message)
	}
	outcomes := make([]fileOutcome, len(t.files))
	for i, r := range job.Results {
		file := t.files[i]
		outcomes[i] = f.outcome(file, r)
		if !r.Success {
			outcomes[i].Error = r.Error
			if r.Error == "" {
				outcomes[i].Error = "the server tells no reason"
			}
		}
	}
	return f.note(t.job, outcomes)
}

// outcome is what is noted of a file that was sent.
func (f *folderImport) outcome(file localFile, r importResult) fileOutcome {
	before, sum := f.state.noted(file)
	o := fileOutcome{localFile: file, Document: r.Document, Duplicate: r.Duplicate, Outcome: r.Outcome, SHA256: sum, Tags: f.tags}
	o.Made = before.Made && before.Document == r.Document
	replaced := f.replaces[file.Path]
	switch {
	case r.Outcome == events.OutcomeCreated, r.Outcome == "" && !r.Duplicate: // "": by an older server
		o.Made, o.Version = true, 1
	case r.Outcome == events.OutcomeUpdated && replaced > 0:
		o.Version = replaced + 1
	}
	return o
}

// fail notes files that could not even be sent.
func (f *folderImport) fail(files []localFile, reason string) error {
	outcomes := make([]fileOutcome, len(files))
	for i, file := range files {
		outcomes[i] = fileOutcome{localFile: file, Error: reason}
	}
	return f.note("", outcomes)
}

func (f *folderImport) note(job string, outcomes []fileOutcome) error {
	if err := f.state.ended(job, outcomes); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range outcomes {
		if f.wanted[o.Path] != o.localFile {
			continue // sent by an earlier run, and changed or gone since
		}
		delete(f.wanted, o.Path)
		f.summary.count(o)
		f.meter.add(1)
	}
	return nil
}

func (f *folderImport) stillWanted(files []localFile) []localFile {
	f.mu.Lock()
	defer f.mu.Unlock()
	var wanted []localFile
	for _, file := range files {
		if f.wanted[file.Path] == file {
			wanted = append(wanted, file)
		}
	}
	return wanted
}
