package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/commands/naming"
	"annals/commands/quota"
	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"

	"github.com/google/uuid"
)

// job is an import job, folded from its stream. It drops each file as soon as the file is
// finished, so a finished job takes hardly any memory.
type job struct {
	accepted    []*events.FileAccepted // by index; nil if the file is finished
	uploads     int                    // number of FileAccepted events
	starts      map[int]int            // number of FileStarted events without Alone, by file, since its last new page
	alone       map[int]int            // number of FileStarted events with Alone, likewise
	pages       map[int]int            // last page that was recognised, by file
	exists      bool                   // ImportRequested was read: all files are accepted
	user        events.User
	restores    string // part in Metadata.Via if the job restores a deleted document
	correlation string
	at          events.Position // position of ImportRequested

	open               int // number of files that are not finished
	successful, failed int
}

func (j *job) Apply(e events.Event) {
	switch d := e.Data.(type) {
	case events.FileAccepted:
		j.uploads++
		if d.Refused != "" {
			j.accepted = append(j.accepted, nil)
			j.failed++
			return
		}
		j.accepted = append(j.accepted, &d)
		j.open++
	case events.ImportRequested:
		j.exists, j.correlation, j.at = true, e.Metadata.Correlation, e.Position
		j.user = events.User{Principal: d.User, Groups: d.Groups, Admin: d.Admin, Token: events.TokenIn(e.Metadata.Via)}
		if _, ok := events.RestoredIn(e.Metadata.Via); ok {
			j.restores = events.PartIn(e.Metadata.Via)
		}
	case events.FileStarted:
		if j.starts == nil {
			j.starts, j.alone = make(map[int]int), make(map[int]int)
		}
		if d.Alone != "" {
			j.alone[d.File]++
		} else {
			j.starts[d.File]++
		}
	case events.FileStepped:
		j.step(d)
	case events.FileImported:
		if j.end(d.File) {
			j.successful++
		}
	case events.FileFailed:
		if j.end(d.File) {
			j.failed++
		}
	case events.JobFinished:
		j.accepted = nil
	}
}

// step forgets earlier attempts to read a file if this one has come further in recognising its
// pages. That may take hours, in which the service may be restarted many times.
func (j *job) step(d events.FileStepped) {
	if d.Step != "ocr" {
		return
	}
	page := pageIn(d.Message)
	if page <= j.pages[d.File] {
		return
	}
	if j.pages == nil {
		j.pages = make(map[int]int)
	}
	j.pages[d.File] = page
	delete(j.starts, d.File)
	delete(j.alone, d.File)
}

// PageMessage returns the message of a step that is at a page. pages is 0 if it is unknown.
func PageMessage(page, pages int) string {
	if pages > 0 {
		return fmt.Sprintf("page %d of %d", page, pages)
	}
	return fmt.Sprintf("page %d", page)
}

// pageIn returns the page in a result of PageMessage, or 0.
func pageIn(message string) (page int) {
	if _, err := fmt.Sscanf(message, "page %d", &page); err != nil {
		return 0
	}
	return page
}

// end drops a file. It returns false if the file was finished before.
func (j *job) end(file int) bool {
	if f, _ := j.file(file); f == nil {
		return false
	}
	j.accepted[file] = nil
	delete(j.starts, file)
	delete(j.alone, file)
	delete(j.pages, file)
	j.open--
	return true
}

// file returns an accepted file, or nil if it is finished.
func (j *job) file(index int) (*events.FileAccepted, error) {
	if !j.exists || index < 0 || index >= j.uploads {
		return nil, fault.Errorf(fault.NotFound, "this job has no file %d", index)
	}
	if index >= len(j.accepted) {
		return nil, nil
	}
	return j.accepted[index], nil
}

func (j *job) weight() int { return 1 + len(j.accepted) }

// Upload is a file of an import request.
type Upload struct {
	Name   string
	Folder string // path of the folder to file it in
	// If Under is not uuid.Nil, it is the id of an existing folder. The file then goes to
	// the path Rest below that folder, and Folder is only displayed.
	Under     uuid.UUID
	Rest      string
	Tags      []string
	SHA256    string // hash of a committed original; empty if the file is refused
	Size      int64
	MediaType string
	Replace   bool // the file replaces the document of the same name in the folder, if there is one
	Version   int  // replace only this version of the document; 0 means any
	// Refused is the reason, for the user, why the file will not be read. It is empty if the
	// file will be read.
	Refused string

	existing bool // set by AdmitImport if the document to replace exists
}

// Refuse sets the reason why the file will not be read, unless one is set already.
func (u *Upload) Refuse(why string) {
	if u.Refused == "" {
		*u = Upload{Name: u.Name, Folder: u.Folder, Refused: why}
	}
}

// startImport accepts uploads as a job.
type startImport struct {
	user    events.User
	uploads []Upload
}

// decide returns the events of the new job: one per file, and then the event that creates
// the job.
func (c startImport) decide() ([]events.Data, error) {
	if len(c.uploads) == 0 {
		return nil, fault.Errorf(fault.Invalid, "an import needs at least one file")
	}
	data := make([]events.Data, 0, len(c.uploads)+2)
	for i, u := range c.uploads {
		accepted, err := u.accept(i)
		if err != nil {
			return nil, err
		}
		data = append(data, accepted)
	}
	return append(data, requestedBy(c.user, len(c.uploads))), nil
}

// finished adds JobFinished to a new job if all its files are refused.
func finished(data []events.Data) []events.Data {
	refused := 0
	for _, d := range data {
		if f, ok := d.(events.FileAccepted); ok {
			if f.Refused == "" {
				return data
			}
			refused++
		}
	}
	return append(data, events.JobFinished{Failed: refused})
}

// withRefused returns a copy of the uploads. Uploads that are refused in data are marked as
// refused, because refused files take no quota.
func withRefused(uploads []Upload, data []events.Data) []Upload {
	uploads = slices.Clone(uploads)
	for i := range uploads {
		if f := data[i].(events.FileAccepted); f.Refused != "" {
			uploads[i].Refuse(f.Refused)
		}
	}
	return uploads
}

// requestedBy returns the event that creates a job with the given number of files.
func requestedBy(user events.User, files int) events.ImportRequested {
	return events.ImportRequested{Files: files, User: user.Principal, Groups: user.Groups, Admin: user.Admin}
}

func (u Upload) accept(index int) (events.FileAccepted, error) {
	name, err := naming.Document(u.Name)
	if err != nil {
		return events.FileAccepted{}, fault.Errorf(fault.Invalid, "file %d: %w", index+1, err)
	}
	folder, err := naming.Folder(u.Folder)
	if err != nil {
		return events.FileAccepted{}, err
	}
	tags, err := naming.Tags(u.Tags)
	if err != nil {
		return events.FileAccepted{}, fault.Errorf(fault.Invalid, "file %q: %w", name, err)
	}
	rest := u.Rest
	if u.Under != uuid.Nil && rest != "" {
		if rest, err = naming.Folder(rest); err != nil {
			return events.FileAccepted{}, err
		}
	}
	if u.Refused != "" {
		tags = nil // the log need not keep the tags of a refused file
	}
	return events.FileAccepted{
		File: index, Name: name, Folder: folder, Under: u.Under, Rest: rest, Tags: tags,
		SHA256: u.SHA256, Size: u.Size, MediaType: u.MediaType, Refused: u.Refused,
		Replace: u.replaces(), Version: u.version(), Existing: u.existing && u.replaces(),
	}, nil
}

func (u Upload) replaces() bool { return u.Replace && u.Refused == "" }

// version returns the version of the document that the upload replaces, 0 for any.
func (u Upload) version() int {
	if !u.replaces() {
		return 0
	}
	return u.Version
}

// Started is a job that was accepted.
type Started struct {
	Job      uuid.UUID
	Position events.Position // position of the job's last event
}

// StartImport starts a job for uploads, whose originals must be committed. The error is
// fault.Invalid for invalid folder paths, tags and names, and fault.Forbidden for folders
// in which the user may not write. After an error no job exists.
func (h *Handler) StartImport(ctx context.Context, user events.User, correlation string, uploads []Upload) (Started, error) {
	return h.startImport(ctx, user, correlation, uploads, h.startJob)
}

func (h *Handler) startImport(ctx context.Context, user events.User, correlation string, uploads []Upload, start start) (Started, error) {
	data, err := startImport{user: user, uploads: uploads}.decide()
	if err != nil {
		return Started{}, err
	}
	h.init()
	err = h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error { return t.Accept(user, data) })
	if err != nil {
		return Started{}, err
	}
	h.refuseAlike(ctx, data)
	data, uploads = finished(data), withRefused(uploads, data)
	cause := events.Cause{Actor: user.Principal, Via: via(ctx, user, "import"), Correlation: correlation}
	hold := func() (*quota.Hold, error) {
		hold, err := h.HoldImport(ctx, user)
		if err == nil {
			err = h.AdmitImport(ctx, user, hold, uploads)
		}
		for i := range uploads {
			f := data[i].(events.FileAccepted)
			f.Existing = uploads[i].existing && f.Replace
			data[i] = f
		}
		return hold, err
	}
	return h.startHeld(ctx, user, hold, cause, data, start)
}

// start is a function that appends the events of a new job.
type start func(context.Context, events.Cause, []events.Data) (Started, error)

// startHeld starts a job under the quota hold in ctx or, if ctx has none, under one that the
// function hold opens. It charges the user uploadCost.
func (h *Handler) startHeld(ctx context.Context, user events.User, hold func() (*quota.Hold, error), cause events.Cause, data []events.Data, start start) (started Started, err error) {
	budget, err := h.charge(ctx, user)
	if err != nil {
		return Started{}, err
	}
	defer budget.Close()
	err = h.withHold(ctx, hold, func() (events.Position, error) {
		err := budget.Spend(uploadCost(data), func() (err error) {
			started, err = start(ctx, cause, data)
			return err
		})
		return started.Position, err
	})
	return started, err
}

// startJob appends all events of a new job. After an error no job exists.
func (h *Handler) startJob(ctx context.Context, cause events.Cause, data []events.Data) (Started, error) {
	return h.appendJob(ctx, uuid.New(), 0, cause, data)
}

// appendJob appends the events data[from:] of a job; data[:from] is in the log already. The
// error is of kind fault.Conflict if the stream has more than from events.
func (h *Handler) appendJob(ctx context.Context, job uuid.UUID, from int, cause events.Cause, data []events.Data) (Started, error) {
	started := Started{Job: job}
	expected := int64(from) - 1
	for i, batch := range batches(data[from:]) {
		if i > 0 {
			failpoint.Here(failpoint.JobStarted)
		}
		added := make([]events.New, len(batch))
		for i, d := range batch {
			added[i] = events.New{Data: d}
		}
		at, err := h.Log.Append(ctx, events.JobStream(started.Job), expected, cause, added...)
		if err != nil {
			return Started{}, err
		}
		expected, started.Position = at.Revision, at.Position
	}
	return started, nil
}

const (
	// maxBatch limits the estimated bytes of one append. It is far below
	// events.MaxAppendBytes, because the estimate may be too low.
	maxBatch = events.MaxAppendBytes / 2
	// metadataBytes is an upper bound for an event's metadata and ids.
	metadataBytes = 1 << 10
)

// batches splits events into batches of at most maxBatch bytes. A larger event gets its
// own batch.
func batches(data []events.Data) (cut [][]events.Data) {
	from, size := 0, 0
	for i, d := range data {
		b, err := json.Marshal(d)
		if err != nil {
			panic(fmt.Sprintf("commands: %T cannot be encoded: %v", d, err)) // cannot happen for plain structs
		}
		n := len(b) + metadataBytes
		if size+n > maxBatch && i > from {
			cut = append(cut, data[from:i])
			from, size = i, 0
		}
		size += n
	}
	return append(cut, data[from:])
}

// ImportFile is a file of a job, with everything needed to import it.
type ImportFile struct {
	Job      uuid.UUID
	Accepted events.FileAccepted // only File is set if Ended is set
	Ended    bool                // the file is finished
	Starts   int                 // number of FileStarted without Alone
	Alone    int                 // number of FileStarted with Alone
	User     events.User         // user who imports the file
	Cause    events.Cause        // cause of the events appended for the file
	At       events.Position     // position of the event that created the job

	requested string // event that created the job, as stream@revision
}

// Destination returns the folder that the file goes to.
func (f ImportFile) Destination() foldertree.Destination {
	return foldertree.Destination{Path: f.Accepted.Folder, Under: f.Accepted.Under, Rest: f.Accepted.Rest}
}

// FileToImport returns a file of a job. The error for an unknown file is fault.NotFound.
func (h *Handler) FileToImport(ctx context.Context, jobID uuid.UUID, file int) (ImportFile, error) {
	h.init()
	f := ImportFile{Job: jobID}
	// The cached job is recent enough, because accepted files never change. If another node
	// has finished this file, this node notices at the latest when it appends the file's
	// outcome.
	open := func(j *job) bool {
		accepted, err := j.file(file)
		return err == nil && accepted != nil
	}
	err := h.jobs.Peek(ctx, events.JobStream(jobID), open, func(j *job) error {
		accepted, err := j.file(file)
		if err != nil {
			return err
		}
		f.Ended = accepted == nil
		if !f.Ended {
			f.Accepted = *accepted
		}
		part := cmp.Or(j.restores, "importer")
		if f.Accepted.Reread {
			part = events.ViaReread
		}
		f.Accepted.File, f.Starts, f.Alone, f.User = file, j.starts[file], j.alone[file], j.user
		f.At = j.at
		f.Cause = events.Cause{
			Actor: j.user.Principal, Via: j.user.Via(part), Correlation: j.correlation,
			// The revision of a FileAccepted event is the index of its file.
			Causation: events.JobStream(jobID) + "@" + strconv.Itoa(file),
		}
		f.requested = events.JobStream(jobID) + "@" + strconv.Itoa(j.uploads)
		return nil
	})
	return f, err
}

// EventID returns the id of an event that is appended for the file. It is a hash of its
// arguments, so the log recognises a repeated append.
func (f ImportFile) EventID(stream string, revision int64, data events.Data) uuid.UUID {
	return events.EventID(stream, revision, f.Job, f.Accepted.File, data)
}

// stepFile records the current step of a file.
type stepFile struct {
	file    int
	first   bool // the start of the file is not recorded yet
	step    string
	message string
}

func (c stepFile) decide(j *job) ([]events.Data, error) {
	f, err := j.file(c.file)
	if err != nil || f == nil {
		return nil, err
	}
	stepped := events.FileStepped{File: c.file, Step: c.step, Message: c.message}
	if c.first {
		return []events.Data{events.FileStarted{File: c.file}, stepped}, nil
	}
	return []events.Data{stepped}, nil
}

// isolateFile records that a file is extracted alone.
type isolateFile struct {
	file int
	why  string
}

func (c isolateFile) decide(j *job) ([]events.Data, error) {
	f, err := j.file(c.file)
	if err != nil || f == nil {
		return nil, err
	}
	return []events.Data{events.FileStarted{File: c.file, Alone: c.why}}, nil
}

// IsolateFile records that a file will be extracted alone, and why. It does nothing if
// the file is finished.
func (h *Handler) IsolateFile(ctx context.Context, f ImportFile, why string) error {
	h.init()
	_, err := h.jobs.Do(ctx, aggregate.Command[*job]{
		Name: "isolate file", Stream: events.JobStream(f.Job), Cause: f.Cause,
		Decide: isolateFile{file: f.Accepted.File, why: why}.decide,
	})
	return err
}

// StepFile records the current step of a file and, if first is set, its start. It does
// nothing if the file is finished. Call it at most once a second for each file.
func (h *Handler) StepFile(ctx context.Context, f ImportFile, first bool, step, message string) error {
	h.init()
	_, err := h.jobs.Do(ctx, aggregate.Command[*job]{
		Name: "step file", Stream: events.JobStream(f.Job), Cause: f.Cause,
		Decide: stepFile{file: f.Accepted.File, first: first, step: step, message: message}.decide,
	})
	return err
}
