package commands

import (
	"context"

	"annals/commands/aggregate"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// finishFiles ends the work on files of one job. The outcome of each is a FileImported or
// a FileFailed. The job ends in the same append as its last file.
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

// outcomeOf returns the file of an outcome, and whether it was imported; -1 for other
// events.
func outcomeOf(data events.Data) (file int, successful bool) {
	switch d := data.(type) {
	case events.FileImported:
		return d.File, true
	case events.FileFailed:
		return d.File, false
	}
	return -1, false
}

// FinishFile ends the work on a file that became a document; made means that the document
// is new. It does nothing if the work has ended already.
func (h *Handler) FinishFile(ctx context.Context, f ImportFile, became events.FileImported, made bool) error {
	became.File = f.Accepted.File
	err := h.finish(ctx, f, became)
	if err == nil && !made && !f.Ended {
		h.chargeFile(ctx, f, became)
	}
	return err
}

// FailFile ends the work on a file that cannot be imported. sentence is the reason for the
// user. Kinds that FileFailed does not record are faults of the file itself. It does
// nothing if the work has ended already.
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

// maxOutcomes is the most files that end in one append.
const maxOutcomes = 32

// outcomes collects the outcomes of files of a job that end while an append to its stream
// is in progress. One caller appends them all, because appends to a stream wait for the
// disk and for each other.
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
		// The caller that appended for all may have been cancelled.
		if !fault.Is(o.err, fault.Canceled) {
			return o.err
		}
	}
}

// join adds an outcome to those that wait to be appended. The first caller appends them.
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

// leave closes o to further outcomes, which wait for the next append.
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
	o.err = fault.Errorf(fault.Internal, "record how the files of %s ended: the append did not run", f.requested) // remains if Do panics
	a := aggregate.Command[*job]{Name: "finish files", Stream: events.JobStream(f.Job), Cause: f.Cause}
	a.Cause.Causation = f.requested
	a.Decide = func(j *job) ([]events.Data, error) {
		h.leave(f.Job, o) // this call owns the stream now
		return finishFiles{o.all}.decide(j)
	}
	a.ID = func(revision int64, data events.Data) uuid.UUID {
		file, _ := outcomeOf(data)
		return events.EventID(a.Stream, revision, f.Job, file, data)
	}
	_, o.err = h.jobs.Do(ctx, a)
	return o.err
}
