package importer

import (
	"context"
	"errors"
	"unicode/utf8"

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
	// sectionBytes is more than the metadata and field names of a section's
	// event take.
	sectionBytes = 600
	// maxAttempts bounds how many attempts at one document's text there may
	// be.
	maxAttempts = 1000
)

// errOtherText says that the stream of an attempt holds another text than the
// one that is being appended, after a part that is the same.
var errOtherText = errors.New("the attempt's stream holds another text")

// textWriter appends the sections of a document to the stream of an attempt
// at reading it. It holds one batch.
//
// What this file's work appended to the stream before, it appends again: the
// log recognises it by the ids and goes over it. The stream of an attempt
// that begins with anything else is left to whoever made it, for the next.
type textWriter struct {
	log      *events.Log
	file     commands.ImportFile
	document uuid.UUID
	attempt  int
	end      int // of the attempts there may be
	limit    int // of bytes in a batch

	next     int64 // revision of the first event of the batch
	batch    []events.Data
	bytes    int // of the batch, as JSON
	sections int
	words    bool // there is text or a title
}

func (w *textWriter) stream() string { return events.TextStream(w.document, w.attempt) }

func (w *textWriter) add(ctx context.Context, s extract.Section) error {
	data := events.SectionExtracted{
		Index: s.Index, Part: s.Part, Level: s.Level, Title: s.Title, Path: s.Path,
		StartPage: s.StartPage, EndPage: s.EndPage, PageBreaks: s.PageBreaks, Text: s.Text,
	}
	size := sectionBytes + jsonSize(s.Title) + jsonSize(s.Text) + 8*len(s.PageBreaks)
	for _, title := range s.Path {
		size += jsonSize(title)
	}
	if w.bytes+size > w.limit {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	w.batch = append(w.batch, data)
	w.bytes += size
	w.sections = max(w.sections, s.Index+1)
	w.words = w.words || s.Title != "" || s.Text != ""
	return nil
}

// flush appends the batch.
func (w *textWriter) flush(ctx context.Context) error {
	if len(w.batch) == 0 {
		return nil
	}
	for ; w.attempt < w.end; w.attempt++ {
		stream := w.stream()
		added := make([]events.New, len(w.batch))
		for i, d := range w.batch {
			added[i] = events.New{ID: w.file.EventID(stream, w.next+int64(i), d), Data: d}
		}
		_, err := w.log.Append(ctx, stream, w.next-1, w.file.Cause, added...)
		if fault.Is(err, fault.Conflict) {
			if w.next == 0 {
				continue // nothing of this text is in the stream yet
			}
			return errOtherText
		}
		if err != nil {
			return err
		}
		failpoint.Here(failpoint.TextAppended)
		w.next += int64(len(w.batch))
		w.batch, w.bytes = w.batch[:0], 0
		return nil
	}
	return fault.Errorf(fault.Internal, "document %s has %d attempts at its text", w.document, maxAttempts)
}

// jsonSize returns how many bytes a text takes in JSON, as encoding/json
// writes it, at most.
func jsonSize(text string) int {
	const escaped = 6 // of \u003c
	n := len(text) + len(`"",`)
	for _, r := range text {
		switch r {
		case '"', '\\':
			n++
		case '<', '>', '&', '\u2028', '\u2029', utf8.RuneError:
			n += escaped - 1
		default:
			if r < ' ' || r == 0x7f {
				n += escaped - 1
			}
		}
	}
	return n
}
