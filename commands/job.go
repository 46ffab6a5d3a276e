package commands

import (
	"context"
	"slices"
	"strconv"

	"annals/commands/quota"
	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"

	"github.com/google/uuid"
)

// job is one import job, folded from its stream. What is told of a file is
// forgotten once its work has ended, so that a finished job weighs nothing.
type job struct {
	accepted []*events.FileAccepted // by index; nil once ended
	uploads  int                    // FileAccepted so far
	starts   map[int]int            // how often work on a file was taken up, where that was told
	alone    map[int]int            // how often a file was read apart from all others
	// exists says that all files are accepted.
	exists      bool
	user        events.User
	correlation string
	at          events.Position // at which it came to exist

	open               int // files whose work has not ended
	successful, failed int
}

func (j *job) apply(e events.Event) {
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
	case events.FileStarted:
		if j.starts == nil {
			j.starts, j.alone = make(map[int]int), make(map[int]int)
		}
		if d.Alone != "" {
			j.alone[d.File]++
		} else {
			j.starts[d.File]++
		}
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

// end forgets a file, and reports whether its work was open.
func (j *job) end(file int) bool {
	if f, _ := j.file(file); f == nil {
		return false
	}
	j.accepted[file] = nil
	delete(j.starts, file)
	delete(j.alone, file)
	j.open--
	return true
}

// file returns an accepted file, nil once its work has ended.
func (j *job) file(index int) (*events.FileAccepted, error) {
	if !j.exists || index < 0 || index >= j.uploads {
		return nil, fault.Errorf(fault.NotFound, "no file %d in this job", index)
	}
	if index >= len(j.accepted) {
		return nil, nil
	}
	return j.accepted[index], nil
}

func (j *job) weight() int { return 1 + len(j.accepted) }

// Upload is a file that was uploaded, or refused.
type Upload struct {
	Name   string
	Folder string // path of the folder to file it in
	// Under is a folder to file it below instead, and Rest the path from there;
	// Folder is then what the user calls the place. uuid.Nil: the path counts.
	Under     uuid.UUID
	Rest      string
	Tags      []string
	SHA256    string // of an original that is committed; none where the file is refused
	Size      int64
	MediaType string
	Replace   bool // the document of that name in the folder, if there is one
	Version   int  // that the document must have to be replaced; 0: any
	// Refused says why the file will not be read, as a sentence for the user.
	Refused string

	existing bool // AdmitImport found the document that it replaces
}

// Refuse notes that the file will not be read, and why, unless that was noted
// before.
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

// decide gives the events of the new job, the one that makes it exist after
// those that tell its files.
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

// finished ends a new job that has no file to read.
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

// withRefused returns the uploads of a new job as its files are accepted, since
// what is refused takes nothing.
func withRefused(uploads []Upload, data []events.Data) []Upload {
	uploads = slices.Clone(uploads)
	for i := range uploads {
		if f := data[i].(events.FileAccepted); f.Refused != "" {
			uploads[i].Refuse(f.Refused)
		}
	}
	return uploads
}

// refuse makes an accepted file one that will not be read, and says why.
func refuse(f events.FileAccepted, why error) events.FileAccepted {
	return events.FileAccepted{File: f.File, Name: f.Name, Folder: f.Folder, Under: f.Under, Rest: f.Rest, Refused: why.Error()}
}

// requestedBy makes a job of so many files exist.
func requestedBy(user events.User, files int) events.ImportRequested {
	return events.ImportRequested{Files: files, User: user.Principal, Groups: user.Groups, Admin: user.Admin}
}

func (u Upload) accept(index int) (events.FileAccepted, error) {
	name, err := normalizeName(u.Name)
	if err != nil {
		return events.FileAccepted{}, fault.Errorf(fault.Invalid, "file %d: %w", index+1, err)
	}
	folder, err := NormalizeFolder(u.Folder)
	if err != nil {
		return events.FileAccepted{}, err
	}
	tags, err := NormalizeTags(u.Tags)
	if err != nil {
		return events.FileAccepted{}, fault.Errorf(fault.Invalid, "file %q: %w", name, err)
	}
	rest := u.Rest
	if u.Under != uuid.Nil && rest != "" {
		if rest, err = NormalizeFolder(rest); err != nil {
			return events.FileAccepted{}, err
		}
	}
	if u.Refused != "" {
		tags = nil // the log keeps nothing that serves nobody
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

// Started tells of a job that was accepted.
type Started struct {
	Job      uuid.UUID
	Position events.Position // of its last event
}

// StartImport accepts uploads, whose originals must be committed, as one job.
// Folder paths, tags and names that cannot be are fault.Invalid, folders in
// which the user may not write fault.Forbidden. After an error no job exists.
func (h *Handler) StartImport(ctx context.Context, user events.User, correlation string, uploads []Upload) (Started, error) {
	return h.startImport(ctx, user, correlation, uploads, h.startJob)
}

func (h *Handler) startImport(ctx context.Context, user events.User, correlation string, uploads []Upload, start start) (Started, error) {
	data, err := startImport{user: user, uploads: uploads}.decide()
	if err != nil {
		return Started{}, err
	}
	h.init()
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error { return t.accept(user, data) })
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

// start appends the events of a new job.
type start func(context.Context, events.Cause, []events.Data) (Started, error)

// startHeld starts a job by what a hold takes: that of ctx, or one that is made
// now. The user is charged for what is beyond the ordinary; of several uploads at
// once those fit that together do.
func (h *Handler) startHeld(ctx context.Context, user events.User, hold func() (*quota.Hold, error), cause events.Cause, data []events.Data, start start) (started Started, err error) {
	budget, err := h.charge(ctx, user)
	if err != nil {
		return Started{}, err
	}
	defer budget.Close()
	err = h.holding(ctx, hold, func() (events.Position, error) {
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

// appendJob appends the events of a job from one on; those before it are in the
// log. The error is of kind fault.Conflict if others are there by now.
func (h *Handler) appendJob(ctx context.Context, job uuid.UUID, from int, cause events.Cause, data []events.Data) (Started, error) {
	started := Started{Job: job}
	expected := int64(from) - 1
	for i, batch := range batches(data[from:]) {
		if i > 0 {
			failpoint.Here(failpoint.JobBegun)
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

// ImportFile is a file of a job, as whoever works on it needs it.
type ImportFile struct {
	Job      uuid.UUID
	Accepted events.FileAccepted // only File is set where Ended
	Ended    bool                // its work is done
	Starts   int                 // how often FileStarted was told of it, without Alone
	Alone    int                 // and with it
	User     events.User         // for whom it is imported
	Cause    events.Cause        // of what is done for it
	At       events.Position     // at which it was accepted

	requested string // names the event that made the job exist
}

// Destination returns where the file goes.
func (f ImportFile) Destination() Destination {
	return Destination{Path: f.Accepted.Folder, Under: f.Accepted.Under, Rest: f.Accepted.Rest}
}

// FileToImport returns a file of a job. An unknown one is fault.NotFound.
func (h *Handler) FileToImport(ctx context.Context, jobID uuid.UUID, file int) (ImportFile, error) {
	h.init()
	f := ImportFile{Job: jobID}
	// What was accepted never changes; that a file was ended elsewhere shows,
	// at the latest, when its work is to be ended.
	open := func(j *job) bool {
		accepted, err := j.file(file)
		return err == nil && accepted != nil
	}
	err := peek(ctx, h, h.jobs, events.JobStream(jobID), open, func(j *job) error {
		accepted, err := j.file(file)
		if err != nil {
			return err
		}
		f.Ended = accepted == nil
		if !f.Ended {
			f.Accepted = *accepted
		}
		f.Accepted.File, f.Starts, f.Alone, f.User = file, j.starts[file], j.alone[file], j.user
		f.At = j.at
		f.Cause = events.Cause{
			Actor: j.user.Principal, Via: j.user.Via("importer"), Correlation: j.correlation,
			// FileAccepted of a file stands at the revision of its index.
			Causation: events.JobStream(jobID) + "@" + strconv.Itoa(file),
		}
		f.requested = events.JobStream(jobID) + "@" + strconv.Itoa(j.uploads)
		return nil
	})
	return f, err
}

// EventID names an event that is appended for the file, so that the same one
// appended again is recognised.
func (f ImportFile) EventID(stream string, revision int64, data events.Data) uuid.UUID {
	return events.EventID(stream, revision, f.Job, f.Accepted.File, data)
}

// stepFile tells how far the work on a file is.
type stepFile struct {
	file    int
	first   bool // nothing was told of this work yet
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

// isolateFile says that a file is read apart from all others.
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

// IsolateFile says, before it is done, that a file is read apart from all
// others, and why. It does nothing for a file whose work has ended.
func (h *Handler) IsolateFile(ctx context.Context, f ImportFile, why string) error {
	h.init()
	_, err := do(ctx, h, h.jobs, action[*job]{
		name: "isolate file", stream: events.JobStream(f.Job), cause: f.Cause,
		decide: isolateFile{file: f.Accepted.File, why: why}.decide,
	})
	return err
}

// StepFile tells how far the work on a file is; first, that it was taken up.
// It does nothing for a file whose work has ended. Whoever calls it sees to
// it that this is at most once a second for a file.
func (h *Handler) StepFile(ctx context.Context, f ImportFile, first bool, step, message string) error {
	h.init()
	_, err := do(ctx, h, h.jobs, action[*job]{
		name: "step file", stream: events.JobStream(f.Job), cause: f.Cause,
		decide: stepFile{file: f.Accepted.File, first: first, step: step, message: message}.decide,
	})
	return err
}
