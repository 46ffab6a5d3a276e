package projectionstest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"annals/events"
	"annals/events/memory"

	"github.com/google/uuid"
)

// NewLog returns an empty log.
func NewLog(t testing.TB) *events.Log {
	t.Helper()
	return LogOver(t, memory.New())
}

// LogOver returns the log of a driver, which is closed when the test ends.
func LogOver(t testing.TB, driver events.Driver) *events.Log {
	t.Helper()
	log := events.NewLog(driver)
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

// Append appends events of user:alice to the end of a stream.
func Append(t testing.TB, log *events.Log, stream string, data ...events.Data) events.Position {
	t.Helper()
	return AppendAs(t, log, "user:alice", stream, data...)
}

// AppendAs appends events of an actor to the end of a stream.
func AppendAs(t testing.TB, log *events.Log, actor events.Principal, stream string, data ...events.Data) events.Position {
	t.Helper()
	all := make([]events.New, len(data))
	for i, d := range data {
		all[i].Data = d
	}
	at, err := log.Append(t.Context(), stream, events.AnyRevision, events.Cause{Actor: actor}, all...)
	if err != nil {
		t.Fatal(err)
	}
	return at.Position
}

// AppendText appends the text of a version of a document: sections that each contain
// word. It returns the Content for the event that imports or revises the document.
func AppendText(t testing.TB, log *events.Log, document uuid.UUID, version int, word string, sections int) events.Content {
	t.Helper()
	stream := events.TextStream(document, version-1)
	var all []events.Data
	for i := range sections {
		all = append(all, events.SectionExtracted{Index: i, Title: fmt.Sprint("section ", i), Text: TextWith(word)})
	}
	if len(all) > 0 {
		Append(t, log, stream, all...)
	}
	return events.Content{SHA256: strings.Repeat("0", 64), MediaType: "text/markdown", Title: word, TextStream: stream, Sections: sections}
}

// TextWith returns the text of each section that AppendText appends.
func TextWith(word string) string { return "It describes a " + word + "." }

// Imported returns the event that imports a document without text.
func Imported(folder uuid.UUID, name string) events.DocumentImported {
	return events.DocumentImported{Version: 1, Folder: folder, Name: name, Content: events.Content{Title: name, MediaType: "text/markdown", SHA256: strings.Repeat("ab", 32)}}
}

// ImportDocument imports a document of one section that contains word.
func ImportDocument(t testing.TB, log *events.Log, folder uuid.UUID, word string) (document uuid.UUID, at events.Position) {
	t.Helper()
	document = uuid.New()
	return document, Append(t, log, events.DocumentStream(document),
		events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: AppendText(t, log, document, 1, word, 1)})
}

// ImportDocuments creates a folder and imports n documents into it. Each contains the
// word lighthouse.
func ImportDocuments(t testing.TB, log *events.Log, n int) (folder uuid.UUID, last events.Position) {
	t.Helper()
	folder = uuid.New()
	Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"})
	for range n {
		_, last = ImportDocument(t, log, folder, "lighthouse")
	}
	return folder, last
}

// ReviseDocument imports a document, revises it twice, tags it, and moves it to
// another folder.
func ReviseDocument(t testing.TB, log *events.Log) (document uuid.UUID) {
	t.Helper()
	a, b := uuid.New(), uuid.New()
	Append(t, log, events.Folders, events.FolderCreated{Folder: a, Name: "A"}, events.FolderCreated{Folder: b, Name: "B"})
	document = uuid.New()
	for attempt, word := range []string{"one", "two", "three"} {
		stream := events.TextStream(document, attempt)
		Append(t, log, stream, events.SectionExtracted{Text: "The text of version " + word + "."})
		content := events.Content{SHA256: strings.Repeat("0", 64), MediaType: "text/markdown", Title: word, TextStream: stream, Sections: 1}
		if attempt == 0 {
			Append(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: a, Name: "a.md", Content: content})
			continue
		}
		Append(t, log, events.DocumentStream(document), events.DocumentRevised{Version: attempt + 1, Content: content})
	}
	Append(t, log, events.DocumentStream(document), events.DocumentTagged{Version: 4, Tags: []string{"t"}}, events.DocumentMoved{Version: 5, Folder: b})
	return document
}

// UnknownEvent returns an event of a kind and schema that this program need not know.
func UnknownEvent(kind string, schema int) events.Record {
	return events.Record{ID: uuid.New(), Type: kind, Data: []byte(`{}`), Metadata: fmt.Appendf(nil, `{"time":"2026-01-02T03:04:05Z","schema":%d}`, schema)}
}

// Head returns the last position of a log.
func Head(t testing.TB, log *events.Log) events.Position {
	t.Helper()
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// OldReader is a log as an older program reads it: some events have a schema that the
// program does not know.
type OldReader struct {
	events.Driver

	mu      sync.Mutex
	unknown map[string]int64 // the first unknown revision, by stream
}

// NewOldReader returns an empty log. All events in it are known until Hide is called.
func NewOldReader() *OldReader {
	return &OldReader{Driver: memory.New(), unknown: make(map[string]int64)}
}

// Hide makes the events of a stream unknown from a revision on.
func (o *OldReader) Hide(stream string, from int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unknown[stream] = from
}

// Upgrade makes all events known.
func (o *OldReader) Upgrade() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.unknown)
}

// ReadAll is Driver.ReadAll.
func (o *OldReader) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	records, through, err := o.Driver.ReadAll(ctx, after, limit, nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, r := range records {
		if from, hidden := o.unknown[r.Stream]; hidden && r.Revision >= from {
			records[i].Metadata = bytes.Replace(r.Metadata, []byte(`"schema":1`), []byte(`"schema":999`), 1)
		}
	}
	return slices.DeleteFunc(records, func(r events.Record) bool { return slices.Contains(skip, r.Type) }), through, err
}

// Hooked is a log that calls functions when it is read, if they are set.
type Hooked struct {
	events.Driver
	AfterHead  func()                            // after the head was read
	BeforeRead func(after events.Position) error // its error fails the read
}

// Head is Driver.Head.
func (h Hooked) Head(ctx context.Context) (events.Position, error) {
	head, err := h.Driver.Head(ctx)
	if h.AfterHead != nil {
		h.AfterHead()
	}
	return head, err
}

// ReadAll is Driver.ReadAll.
func (h Hooked) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	if h.BeforeRead != nil {
		if err := h.BeforeRead(after); err != nil {
			return nil, after, err
		}
	}
	return h.Driver.ReadAll(ctx, after, limit, skip)
}
