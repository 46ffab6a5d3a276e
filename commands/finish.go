package commands

import (
	"context"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// finishFiles ends the work on files of one job, each by its outcome:
// FileImported or FileFailed. The job ends with its last file, in the same
// append.
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

// outcomeOf returns the file that an outcome is of, -1 for other events.
func outcomeOf(data events.Data) (file int, successful bool) {
	switch d := data.(type) {
	case events.FileImported:
		return d.File, true
	case events.FileFailed:
		return d.File, false
	}
	return -1, false
}

// FinishFile ends the work on a file that became a document; made says whether
// it is one that was not there before. It does nothing for a file whose work has
// ended already.
func (h *Handler) FinishFile(ctx context.Context, f ImportFile, became events.FileImported, made bool) error {
	became.File = f.Accepted.File
	err := h.finish(ctx, f, became)
	if err == nil && !made && !f.Ended {
		h.chargeFile(ctx, f, became)
	}
	return err
}

// FailFile ends the work on a file that cannot be imported, with a sentence
// for the user that says why, and whose fault it is: any kind that has no name
// in FileFailed is the file's own. It does nothing for a file whose work has
// ended already.
func (h *Handler) FailFile(ctx context.Context, f ImportFile, kind fault.Kind, sentence string) error {
	failed := events.FileFailed{File: f.Accepted.File, Error: sentence}
	switch kind {
	case fault.Conflict, fault.Forbidden, fault.Unavailable, fault.Internal:
		failed.Kind = kind.String()
	}
	err := h.finish(ctx, f, failed)
	if err == nil && !f.Ended && kind != fault.Unavailable && kind != fault.Internal { // which are no fault of the user's
		h.chargeFile(ctx, f, failed)
	}
	return err
}

// maxOutcomes is how many files end in one append at most.
const maxOutcomes = 32

// outcomes are those of files of one job that end while an append to its
// stream is being made. One caller appends them all: an append waits for the
// disk, and the appends of one stream for each other.
type outcomes struct {
	all  []events.Data
	done chan struct{} // closed once err is set
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
		// Whoever appended for all may have been called off alone.
		if !fault.Is(o.err, fault.Canceled) {
			return o.err
		}
	}
}

// join adds an outcome to those that wait. Whoever is the first appends them.
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

// leave ends the waiting: who comes later waits for the next append.
func (h *Handler) leave(job uuid.UUID, o *outcomes) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.finishing[job] == o {
		delete(h.finishing, job)
	}
}

func (h *Handler) finishAll(ctx context.Context, f ImportFile, o *outcomes) error {
	defer close(o.done)
	defer h.leave(f.Job, o)
	o.err = fault.Errorf(fault.Internal, "the append of %s was not made", f.requested) // stands if do panics
	a := action[*job]{name: "finish files", stream: events.JobStream(f.Job), cause: f.Cause}
	a.cause.Causation = f.requested
	a.decide = func(j *job) ([]events.Data, error) {
		h.leave(f.Job, o) // the stream is ours now
		return finishFiles{o.all}.decide(j)
	}
	a.id = func(revision int64, data events.Data) uuid.UUID {
		file, _ := outcomeOf(data)
		return events.EventID(a.stream, revision, f.Job, file, data)
	}
	_, o.err = do(ctx, h, h.jobs, a)
	return o.err
}
