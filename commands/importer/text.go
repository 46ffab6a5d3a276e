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
	maxTextBatch = 512 << 10 // bytes of sections in one append
	maxAttempts  = 1000      // maximum number of text streams tried for one document
)

// textWriter collects the sections of a file while it is read, and then appends them to a
// text stream. It enforces the limit that depends on the size of the upload, even if a
// hostile file has taken over the reader process.
//
// Text streams of a document are numbered by attempt. If an interrupted import has appended
// sections of the same file to a stream, the log recognises them by their ids. If the stream
// contains other events, it belongs to another upload, and textWriter uses the next stream.
type textWriter struct {
	log        *events.Log
	file       commands.ImportFile
	document   uuid.UUID
	attempt    int
	end        int // attempt must stay below this
	batchLimit int // bytes of sections in one append

	spool    spool
	metadata int   // bytes of metadata in each event
	limit    int64 // bytes of all events
	written  int64 // bytes of all events so far
	sections int
	words    bool // whether any section has text or a title

	named string // text stream of the document that has the same text already; "" if there is none
}

// setLimit sets the limit for the total bytes of the events. If limit is 0, it is computed
// from the file's size.
func (w *textWriter) setLimit(limit int64) {
	size, c := w.file.Accepted.Size, w.file.Cause
	if extract.IsCompressed(readable(w.file.Accepted).Name) {
		size = extract.MaxXML(size) // an upper bound until the file is read
	}
	w.limit = cmp.Or(limit, extract.Allowance(size))
	w.metadata = metadataBytes + extract.JSONSize(string(c.Actor)) + extract.JSONSize(c.Via) + extract.JSONSize(c.Correlation) + extract.JSONSize(c.Causation)
}

// metadataBytes is an upper bound for the field names, time and schema in an event's
// metadata.
const metadataBytes = 128

func (w *textWriter) stream() string {
	if w.named != "" {
		return w.named
	}
	return events.TextStream(w.document, w.attempt)
}

func (w *textWriter) add(s extract.Section) error {
	data := events.SectionExtracted{
		Index: s.Index, Part: s.Part, Level: s.Level, Title: s.Title, Path: s.Path,
		StartPage: s.StartPage, EndPage: s.EndPage, PageBreaks: s.PageBreaks, Text: s.Text,
		OCR: s.OCR, Confidence: extract.Thousandths(s.Confidence),
	}
	size := w.size(&data)
	if size > w.batchLimit && size > maxTextBatch {
		return fault.Errorf(fault.Invalid, "the file has a section of %d bytes, including its titles, and the limit is %d: divide it by headings, and upload the file again", size, maxTextBatch)
	}
	if w.written += int64(size); w.written > w.limit {
		return w.tooMuchText()
	}
	w.sections = max(w.sections, s.Index+1)
	w.words = w.words || s.Title != "" || s.Text != ""
	return w.spool.add(data, size)
}

// check returns an error if a file of compressed XML that was read completely has too much text for
// the size of its XML.
func (w *textWriter) check(info extract.Info) error {
	if info.XML > 0 {
		w.limit = min(w.limit, extract.Allowance(info.XML))
	}
	if w.written > w.limit {
		return w.tooMuchText()
	}
	return nil
}

func (w *textWriter) tooMuchText() error {
	return fault.Errorf(fault.Invalid, "the file contains too much text for its size: more than %d bytes, including titles and page numbers. The limit is %d times the size of a file (of the XML in an Office or OpenDocument file), and %d KiB for small files: split the file, and upload the parts",
		w.limit, extract.BytesPerByte, extract.MinBytes>>10)
}

// size returns an upper bound for the bytes of an event.
func (w *textWriter) size(d *events.SectionExtracted) int {
	size := w.metadata + extract.JSONSize(d.Title) + extract.JSONSize(d.Text)
	for _, field := range [...]struct {
		name  string
		value int
	}{{"index", d.Index}, {"part", d.Part}, {"level", d.Level}, {"start_page", d.StartPage}, {"end_page", d.EndPage}} {
		size += len(field.name) + len(`"":,`) + digits(field.value)
	}
	size += len(`{"title":,"path":[],"page_breaks":[],"text":}`)
	if d.OCR {
		size += len(`"ocr":true,"confidence":0.999,`)
	}
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

// append appends the sections to the first text stream that has no events of other uploads.
func (w *textWriter) append(ctx context.Context) error {
	for ; w.attempt < w.end; w.attempt++ {
		err := w.fill(ctx)
		if !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return fault.Errorf(fault.Internal, "append the text of document %s: all of its %d text streams are used by other uploads", w.document, maxAttempts)
}

// fill appends the sections to the current text stream, batch by batch.
func (w *textWriter) fill(ctx context.Context) error {
	stream := w.stream()
	var batch []events.New
	next, bytes := int64(0), 0 // next is the revision of the batch's first event, bytes the size of the batch
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
		if bytes+s.size > w.batchLimit {
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
