package commands

import (
	"context"

	"annals/commands/aggregate"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// finishFiles records the outcomes of files of one job: a FileImported or FileFailed each.
// The job ends in the same append as its last file.
type finishFiles struct {
	outcomes []events.Data
}

func (c finishFiles) decide(j *job) (data []events.Data, err error) {
	finished := events.JobFinished{Successful: j.successful, Failed: j.failed}
	ended := make(map[int]bool)
	for _, outcome := range c.outcomes {
		index, successful := outcomeOf(outcome)
		f, err := j.file(index)
		if err != nil {
			return nil, err
		}
		if f == nil || ended[index] {
			continue
		}
		ended[index] = true
		if successful {
			finished.Successful++
		} else {
			finished.Failed++
		}
		data = append(data, outcome)
	}
	if len(data) > 0 && len(data) == j.open {
		data = append(data, finished)
	}
	return data, nil
}

// outcomeOf returns the index of the file of an outcome, and whether it was imported. The
// index is -1 for other events.
func outcomeOf(data events.Data) (file int, successful bool) {
	switch d := data.(type) {
	case events.FileImported:
		return d.File, true
	case events.FileFailed:
		return d.File, false
	}
	return -1, false
}

// FinishFile records that a file was imported. isNew means that the file became a new
// document. FinishFile does nothing if the file is finished already.
func (h *Handler) FinishFile(ctx context.Context, f ImportFile, became events.FileImported, isNew bool) error {
	became.File = f.Accepted.File
	err := h.finish(ctx, f, became)
	if err == nil && !isNew && !f.Ended {
		h.chargeFile(ctx, f, became)
	}
	return err
}

// FailFile records that a file cannot be imported. sentence is the reason, for the user. The
// FileFailed has no kind if the file itself is at fault. FailFile does nothing if the file
// is finished already.
func (h *Handler) FailFile(ctx context.Context, f ImportFile, kind fault.Kind, sentence string) error {
	failed := events.FileFailed{File: f.Accepted.File, Error: sentence}
	switch kind {
	case fault.Conflict, fault.Forbidden, fault.Unavailable, fault.Internal:
		failed.Kind = kind.String()
	}
	err := h.finish(ctx, f, failed)
	if err == nil && !f.Ended && kind != fault.Unavailable && kind != fault.Internal { // not the user's fault
		h.chargeFile(ctx, f, failed)
	}
	return err
}

// maxOutcomes limits the files that one append finishes.
const maxOutcomes = 32

// outcomes is a batch: the outcomes of files of one job that were reported while an append
// to its stream was in progress. One caller appends the whole batch, because each append
// waits for the disk and for the append before it.
type outcomes struct {
	all  []events.Data
	done chan struct{} // closed after err is set
	err  error
}

func (h *Handler) finish(ctx context.Context, f ImportFile, outcome events.Data) error {
	h.init()
	for {
		o, first := h.join(f.Job, outcome)
		if first {
			return h.finishAll(ctx, f, o)
		}
		select {
		case <-o.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		// If the caller that appends the batch was cancelled, try again.
		if !fault.Is(o.err, fault.Canceled) {
			return o.err
		}
	}
}

// join adds an outcome to the job's current batch. The first caller appends the batch.
func (h *Handler) join(job uuid.UUID, outcome events.Data) (o *outcomes, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o = h.finishing[job]
	if o == nil || len(o.all) == maxOutcomes {
		o, first = &outcomes{done: make(chan struct{})}, true
		h.finishing[job] = o
	}
	o.all = append(o.all, outcome)
	return o, first
}

// closeBatch makes later outcomes go into a new batch.
func (h *Handler) closeBatch(job uuid.UUID, o *outcomes) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.finishing[job] == o {
		delete(h.finishing, job)
	}
}

func (h *Handler) finishAll(ctx context.Context, f ImportFile, o *outcomes) error {
	defer close(o.done)
	defer h.closeBatch(f.Job, o)
	o.err = fault.Errorf(fault.Internal, "append the outcomes of files of %s: interrupted by a panic", f.requested) // o.err keeps this value if Do panics
	a := aggregate.Command[*job]{Name: "finish files", Stream: events.JobStream(f.Job), Cause: f.Cause}
	a.Cause.Causation = f.requested
	a.Decide = func(j *job) ([]events.Data, error) {
		h.closeBatch(f.Job, o) // this call holds the lock of the stream now
		return finishFiles{o.all}.decide(j)
	}
	a.ID = func(revision int64, data events.Data) uuid.UUID {
		file, _ := outcomeOf(data)
		return events.EventID(a.Stream, revision, f.Job, file, data)
	}
	_, o.err = h.jobs.Do(ctx, a)
	return o.err
}
