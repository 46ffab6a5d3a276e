package importer

import (
	"cmp"
	"context"

	"annals/commands"
	"annals/commands/importer/extract"
	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"

	"github.com/google/uuid"
)

const (
	// maxTextBatch is the most bytes of sections in one append.
	maxTextBatch = 512 << 10
	// maxAttempts is the most attempts at one document's text.
	maxAttempts = 1000
)

// textWriter keeps the sections of a file while it is read, and appends them to the text
// stream of one attempt once the whole file was read. What it keeps is bounded by the
// size of the upload, even if the reader misbehaves.
//
// Events that were appended for the same file before are appended again: the log
// recognises them by their ids. If the stream holds other events, it belongs to other
// work, and the stream of the next attempt is tried.
type textWriter struct {
	log      *events.Log
	file     commands.ImportFile
	document uuid.UUID
	attempt  int
	end      int // attempts must be less than this
	limit    int // most bytes of a batch

	spool    spool
	metadata int   // bytes of each event's metadata
	most     int64 // bytes of all events
	written  int64 // bytes of all events so far
	sections int
	words    bool // a section has text or a title
}

// bound sets how many bytes the events may take: most or, if that is 0, what the size of
// the file allows.
func (w *textWriter) bound(most int64) {
	size, c := w.file.Accepted.Size, w.file.Cause
	if extract.IsXML(readable(w.file.Accepted).Name) {
		size = extract.MostXML(size) // an upper bound until the file was read
	}
	w.most = cmp.Or(most, extract.Allowance(size))
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
		return fault.Errorf(fault.Invalid, "the file has a section of %d bytes in one piece, including its titles; the most is %d: divide it by headings, and upload that", size, maxTextBatch)
	}
	if w.written += int64(size); w.written > w.most {
		return w.tooMuch(w.most)
	}
	w.sections = max(w.sections, s.Index+1)
	w.words = w.words || s.Title != "" || s.Text != ""
	return w.spool.add(data, size)
}

// check returns an error if the file, which was read in full, has too much text for its
// bytes of XML.
func (w *textWriter) check(info extract.Info) error {
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

// append appends the sections to the first text stream that holds no other events.
func (w *textWriter) append(ctx context.Context) error {
	for ; w.attempt < w.end; w.attempt++ {
		err := w.fill(ctx)
		if !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return fault.Errorf(fault.Internal, "append the text of document %s: all of its %d text streams are in use", w.document, maxAttempts)
}

// fill appends the sections to one text stream, batch by batch.
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
