package importer

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/reader"
	"annals/commands/importer/turns"
	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
)

// read extracts the file, and then appends its text. A file that cannot be read leaves
// nothing in the log.
func (r *run) read(ctx context.Context) (events.Content, error) {
	summary := summaries{make: func() Summariser { return r.summariser(r.file.Accepted.Name) }}
	info, err := r.extract(ctx, &summary)
	if err == nil {
		err = r.text.check(info)
	}
	if err == nil && r.file.Accepted.Reread { // the new text takes the place of the earlier one
		err = r.checkReread(ctx, info)
	} else if err == nil {
		r.hold, err = r.Handler.HoldText(ctx, r.file.User, r.file.Destination(), r.text.written)
	}
	if err == nil {
		failpoint.Here(failpoint.TextExtracted)
		err = r.ensureLocated(ctx)
	}
	if err == nil {
		err = r.progress.at(ctx, "summarising", "")
	}
	if err == nil {
		err = r.recheck(ctx)
	}
	if err == nil {
		err = r.appendText(ctx)
	}
	if err != nil {
		return events.Content{}, err
	}
	failpoint.Here(failpoint.TextEnded)
	accepted := r.file.Accepted
	description, text := summary.result()
	return events.Content{
		SHA256: accepted.SHA256, Size: accepted.Size, MediaType: cmp.Or(info.MediaType, accepted.MediaType),
		Title: cmp.Or(shorten(info.Title, maxTitle), accepted.Name), Pages: info.Pages,
		TextStream: r.text.stream(), Sections: r.text.sections, Extractor: extract.Version, TextBytes: r.text.written,
		Description: description, Summary: text, Warnings: r.warnings(info.Warnings),
		OCRPages: info.OCRPages, Confidence: extract.Thousandths(info.Confidence), UnreadPages: info.UnreadPages,
	}, nil
}

// extract waits for a slot and extracts the file. Extraction takes a core and memory, so
// only a few files are extracted at a time. The timeout does not include the wait. The error
// is turns.ErrSuspended if the slot was given to another file.
func (r *run) extract(ctx context.Context, summary *summaries) (extract.Info, error) {
	r.clock.Stop()
	waited := func() {}
	if r.scan {
		waited = r.progress.waiting(ctx)
	}
	reading, release, err := r.acquire(ctx, r.turn, r.alone != "", r.scan)
	waited()
	if err != nil {
		return extract.Info{}, err
	}
	defer release()
	reading, cancel := context.WithCancelCause(reading)
	defer cancel(nil)
	r.clock.Reset(r.timeout())
	accepted := readable(r.file.Accepted)
	files := r.Reader
	if r.alone != "" {
		if err := r.isolate(ctx, r.progress.ref, r.file, r.alone); err != nil {
			return extract.Info{}, err
		}
		files = reader.Isolated(files)
	}
	stop, err := r.progress.watch(ctx)
	if err != nil {
		return extract.Info{}, err
	}
	defer stop()
	path, done, err := r.Originals.Path(reading, accepted.SHA256)
	if fault.Is(err, fault.NotFound) { // an accepted file must have its original: not the user's fault
		return extract.Info{}, fault.Errorf(fault.Internal, "open the original of file %d: %w", accepted.File, err)
	}
	if err != nil {
		return extract.Info{}, r.suspended(reading, err)
	}
	defer done()
	info, err := files.Read(reading, path, accepted.Name, func(s extract.Section) error {
		if err := r.text.add(s); err != nil {
			return err
		}
		summary.add(s)
		return r.progress.at(ctx, "splitting", "")
	}, r.stepping(ctx, cancel))
	if r.scan {
		r.clock.Reset(r.timeout())
	}
	if err == nil {
		err = reading.Err() // a reader may report success although reading was cancelled
	}
	return info, r.suspended(reading, err)
}

// stepping returns the extract.Progress for the reader of the file. It stops reading if a page
// is to be recognised, and the file has no slot for that.
func (r *run) stepping(ctx context.Context, stop context.CancelCauseFunc) extract.Progress {
	report := r.progress.reading(ctx)
	return func(step string, page, pages int) {
		switch {
		case step == "ocr" && !r.scan:
			stop(errScanned)
			return
		case step == "ocr":
			r.clock.Stop() // recognising pages has its own limits
		case r.scan:
			r.clock.Reset(r.timeout())
		}
		report(step, page, pages)
	}
}

// suspended returns turns.ErrSuspended or errScanned instead of err if reading was stopped
// because of that.
func (r *run) suspended(reading context.Context, err error) error {
	cause := context.Cause(reading)
	if err == nil || cause != turns.ErrSuspended && cause != errScanned {
		return err
	}
	r.progress.pause()
	return cause
}

// recheck returns an error if the file can no longer be filed, to avoid appending its text
// for nothing. The error is errFiled if the file is a duplicate.
func (r *run) recheck(ctx context.Context) error {
	if isRevision(r.file.Accepted) {
		claim, err := r.Handler.ClaimRevision(ctx, r.file)
		if err == nil && claim.Filed {
			r.claim, err = claim, errFiled
		}
		return markFinal(err)
	}
	if err := r.Handler.CheckFiling(ctx, r.file.User, r.folder); err != nil {
		return r.explainRefusal(ctx, err)
	}
	if r.file.Accepted.Replace {
		return r.locateReplaced(ctx) // the document to be replaced may have changed meanwhile
	}
	return r.checkDuplicate(ctx, r.document(r.folder, events.Content{SHA256: r.file.Accepted.SHA256}))
}

// Limits of a file's title and warnings, so that the events of many files fit into one
// append.
const (
	maxTitle    = 1 << 10 // bytes
	maxWarnings = 10
	maxSentence = 300 // bytes of a warning
)

func (r *run) warnings(warnings []string) (kept []string) {
	if !r.text.words && len(warnings) == 0 {
		return []string{"no text was found in the file"}
	}
	for n, w := range warnings {
		if n == maxWarnings {
			return append(kept, fmt.Sprintf("there are %d more warnings like these", len(warnings)-n))
		}
		kept = append(kept, shorten(w, maxSentence))
	}
	return kept
}

// leastConfidence is the least confidence of recognised text that a summary is made of, unless
// the document has no other text.
const leastConfidence = 0.6

// summaries composes the summary of a file: of its sure text or, if it has none, of its
// doubtful text.
type summaries struct {
	make           func() Summariser
	sure, doubtful Summariser // nil until text is added
}

func (s *summaries) add(section extract.Section) {
	to := &s.sure
	if section.OCR && section.Confidence < leastConfidence {
		to = &s.doubtful
	}
	if *to == nil {
		*to = s.make()
	}
	(*to).Add(section.Title, section.Text)
}

func (s *summaries) result() (description, summary string) {
	for _, of := range []Summariser{s.sure, s.doubtful} {
		if of == nil {
			continue
		}
		if description, summary = of.Result(); description != "" {
			break
		}
	}
	return description, summary
}

type noSummary struct{}

func (noSummary) Add(string, string)       {}
func (noSummary) Result() (string, string) { return "", "" }

func (i *Importer) summariser(title string) Summariser {
	if i.Summarise == nil {
		return noSummary{}
	}
	return i.Summarise(title)
}

// shorten cuts text to at most maxBytes bytes.
func shorten(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxBytes], "")
}
