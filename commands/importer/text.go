package importer

import (
	"context"

	"annals/commands"
	"annals/commands/importer/extract"
	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"

	"github.com/google/uuid"
)

const (
	// maxTextBatch is the most bytes of sections that one append is filled
	// with.
	maxTextBatch = 512 << 10
	// maxAttempts bounds how many attempts at one document's text there may
	// be.
	maxAttempts = 1000
)

// textWriter keeps the sections of a file while it is read, and appends them
// to the stream of an attempt at reading its document once all of it was read
// well. What is kept is bounded by the size of the upload, whatever the reader
// says.
//
// What this file's work appended to the stream before, it appends again: the
// log recognises it by the ids and goes over it. The stream of an attempt
// that holds anything else is left to whoever made it, for the next.
type textWriter struct {
	log      *events.Log
	file     commands.ImportFile
	document uuid.UUID
	attempt  int
	end      int // of the attempts there may be
	limit    int // of bytes in a batch

	spool    spool
	metadata int   // bytes of each event's metadata
	most     int64 // bytes of all events
	written  int64 // of them so far
	sections int
	words    bool // there is text or a title
}

// bound sets how many bytes the events may take: most, unless that is 0.
func (w *textWriter) bound(most int64) {
	size, c := w.file.Accepted.Size, w.file.Cause
	if extract.IsXML(readable(w.file.Accepted).Name) {
		size = extract.MostXML(size) // until it is known how much there is
	}
	w.most = or(most, extract.Allowance(size))
	w.metadata = metadataBytes + extract.JSONSize(string(c.Actor)) + extract.JSONSize(c.Via) + extract.JSONSize(c.Correlation) + extract.JSONSize(c.Causation)
}

// metadataBytes is more than the field names, time and schema of an event's
// metadata take.
const metadataBytes = 128

func (w *textWriter) stream() string { return events.TextStream(w.document, w.attempt) }

// add keeps a section.
func (w *textWriter) add(s extract.Section) error {
	data := events.SectionExtracted{
		Index: s.Index, Part: s.Part, Level: s.Level, Title: s.Title, Path: s.Path,
		StartPage: s.StartPage, EndPage: s.EndPage, PageBreaks: s.PageBreaks, Text: s.Text,
	}
	size := w.size(&data)
	if size > w.limit && size > maxTextBatch {
		return fault.Errorf(fault.Invalid, "the file has a section of %d bytes in one piece, with its titles; %d are possible", size, maxTextBatch)
	}
	if w.written += int64(size); w.written > w.most {
		return w.tooMuch(w.most)
	}
	w.sections = max(w.sections, s.Index+1)
	w.words = w.words || s.Title != "" || s.Text != ""
	return w.spool.add(data, size)
}

// read is called once all of the file was read, with the XML that it holds.
func (w *textWriter) read(info extract.Info) error {
	if info.XML > 0 {
		w.most = min(w.most, extract.Allowance(info.XML))
	}
	if w.written > w.most {
		return w.tooMuch(w.most)
	}
	return nil
}

func (w *textWriter) tooMuch(most int64) error {
	return fault.Errorf(fault.Invalid, "the file holds more text than may be kept of it: with titles and page numbers more than %d bytes. Kept are at most %d times the bytes of a file, of a Word document those of its XML, and %d KiB of a small file",
		most, extract.BytesPerByte, extract.LeastBytes>>10)
}

// size returns how many bytes an event takes at most.
func (w *textWriter) size(d *events.SectionExtracted) int {
	size := w.metadata + extract.JSONSize(d.Title) + extract.JSONSize(d.Text)
	for _, field := range [...]struct {
		name  string
		value int
	}{{"index", d.Index}, {"part", d.Part}, {"level", d.Level}, {"start_page", d.StartPage}, {"end_page", d.EndPage}} {
		size += len(field.name) + len(`"":,`) + digits(field.value)
	}
	size += len(`{"title":,"path":[],"page_breaks":[],"text":}`)
	for _, title := range d.Path {
		size += extract.JSONSize(title)
	}
	for _, at := range d.PageBreaks {
		size += digits(at) + len(",")
	}
	return size
}

func digits(n int) int {
	count := 1
	if n < 0 {
		count++
	}
	for ; n > 9 || n < -9; n /= 10 {
		count++
	}
	return count
}

// append appends what was kept, to the first attempt that holds nothing else.
func (w *textWriter) append(ctx context.Context) error {
	for ; w.attempt < w.end; w.attempt++ {
		err := w.fill(ctx)
		if !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return fault.Errorf(fault.Internal, "document %s has %d attempts at its text", w.document, maxAttempts)
}

// fill appends what was kept to the stream of one attempt, batch by batch.
func (w *textWriter) fill(ctx context.Context) error {
	stream := w.stream()
	var batch []events.New
	next, bytes := int64(0), 0 // revision of the batch's first event, and its size
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, err := w.log.Append(ctx, stream, next-1, w.file.Cause, batch...)
		if err != nil {
			return err
		}
		failpoint.Here(failpoint.TextAppended)
		next += int64(len(batch))
		batch, bytes = batch[:0], 0
		return nil
	}
	err := w.spool.each(func(s spooled) error {
		if bytes+s.size > w.limit {
			if err := flush(); err != nil {
				return err
			}
		}
		id := w.file.EventID(stream, next+int64(len(batch)), s.SectionExtracted)
		batch = append(batch, events.New{ID: id, Data: s.SectionExtracted})
		bytes += s.size
		return nil
	})
	if err == nil {
		err = flush()
	}
	return err
}
