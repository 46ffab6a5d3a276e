package events_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/events/sqlite"

	"github.com/google/uuid"
)

// writeLog writes a log with a folder and a document, and returns the document's
// stream.
func writeLog(t *testing.T, path string) (stream string) {
	t.Helper()
	log := openFile(t, path)
	folder, document := uuid.New(), uuid.New()
	stream, text := events.DocumentStream(document), events.TextStream(document, 1)
	for _, e := range []struct {
		stream string
		data   events.Data
	}{
		{events.Folders, events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"}},
		{text, events.SectionExtracted{Text: "The lamp."}},
		{stream, events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: events.Content{
			SHA256: strings.Repeat("ab", 32), MediaType: "text/markdown", Title: "A", TextStream: text, Sections: 1, Extractor: 1}}},
		{stream, events.DocumentRenamed{Version: 2, Name: "b.md"}},
		{stream, events.DocumentTagged{Version: 3, Tags: []string{"x"}}},
		{events.Folders, events.FolderRenamed{Folder: folder, Name: "G"}},
	} {
		if _, err := log.Append(t.Context(), e.stream, events.AnyRevision, events.Cause{Actor: "user:alice"}, events.New{Data: e.data}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return stream
}

func openFile(t *testing.T, path string) *events.Log {
	t.Helper()
	return events.NewLog(openDriver(t, path))
}

func openDriver(t *testing.T, path string) events.Driver {
	t.Helper()
	driver, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

// tamper runs SQL on the file of a log, without the triggers that forbid changes.
func tamper(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range []string{`DROP TRIGGER events_never_change`, `DROP TRIGGER events_never_vanish`, statement} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestVerifyReportsProblems(t *testing.T) {
	for name, test := range map[string]struct{ change, want string }{
		"nothing":                  {`SELECT 1`, ``},
		"a gap":                    {`DELETE FROM events WHERE position = 4`, `event 2 of STREAM (DocumentTagged) at position 5: revision 1 is missing before it`},
		"a gap in a named text":    {`UPDATE events SET revision = 1 WHERE position = 2`, `event 1 of text-`},
		"a gap in an unnamed text": {`UPDATE events SET revision = 1, stream = stream || '9' WHERE position = 2`, ``},
		"a duplicate id":           {`UPDATE events SET id = (SELECT id FROM events WHERE position = 4) WHERE position = 5`, `event 2 of STREAM (DocumentTagged) at position 5: an earlier event has the same id`},
		"a missing first event":    {`DELETE FROM events WHERE position = 3`, `event 1 of STREAM (DocumentRenamed) at position 4: revision 0 is missing before it`},
		"a revision out of order":  {`UPDATE events SET revision = 7 WHERE position = 4; UPDATE events SET revision = 1 WHERE position = 5; UPDATE events SET revision = 2 WHERE position = 4`, `event 2 of STREAM (DocumentRenamed) at position 4: revision 1 is missing before it|event 1 of STREAM (DocumentTagged) at position 5: an earlier event of the stream has revision 2`},
		"a flipped byte":           {`UPDATE events SET data = CAST(replace(data, '"version":2', '"vErsion":2') AS BLOB) WHERE position = 4`, `event 1 of STREAM (DocumentRenamed) at position 4: `},
		"a flipped quote":          {`UPDATE events SET data = CAST(replace(data, '"b.md"', '"b.md#') AS BLOB) WHERE position = 4`, `event 1 of STREAM (DocumentRenamed) at position 4: `},
		"an invalid SHA-256":       {`UPDATE events SET data = CAST(replace(data, 'ababab', 'abXbab') AS BLOB) WHERE position = 3`, `event 0 of STREAM (DocumentImported) at position 3: `},
		"an unknown type":          {`UPDATE events SET type = 'DocumentRenamee' WHERE position = 4`, `which this version of Annals does not know`},
		"invalid metadata":         {`UPDATE events SET metadata = CAST('{' AS BLOB) WHERE position = 4`, `event 1 of STREAM (DocumentRenamed) at position 4: decode the metadata`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.db")
			stream := writeLog(t, path)
			tamper(t, path, test.change)
			log := openFile(t, path)
			defer log.Close()
			var wants, problems []string
			if test.want != "" {
				wants = strings.Split(strings.ReplaceAll(test.want, "STREAM", stream), "|")
			}
			if _, err := log.Verify(t.Context(), 6, nil, func(p string) { problems = append(problems, p) }); err != nil {
				t.Fatal(err)
			}
			if len(problems) != len(wants) {
				t.Fatalf("Verify: got problems %q, want %q", problems, wants)
			}
			for i, want := range wants {
				if !strings.Contains(problems[i], want) {
					t.Errorf("problem %d: got %q, want %q", i, problems[i], want)
				}
			}
		})
	}
}

func TestVerifyEndsAtPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	writeLog(t, path)
	tamper(t, path, `UPDATE events SET data = CAST('{}' AS BLOB) WHERE position = 5`)
	log := openFile(t, path)
	defer log.Close()
	for to, want := range map[events.Position]int{0: 0, 4: 0, 5: 1, 6: 1} {
		problems, at := 0, events.Position(0)
		n, err := log.Verify(t.Context(), to, func(p events.Position) { at = p }, func(string) { problems++ })
		if err != nil || n != int(to) || at != to || problems != want {
			t.Errorf("Verify(%d): got %d events, %v, position %d, %d problems, want %d problems", to, n, err, at, problems, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Verify(ended, 6, nil, func(string) {}); err == nil {
		t.Error("Verify with a cancelled context: got no error")
	}
}

func TestVerifyRereadsEvictedStreams(t *testing.T) {
	log := events.NewLog(memory.New())
	defer log.Close()
	first := events.JobStream(uuid.New())
	add := func(stream string) (at events.Appended) {
		at, err := log.Append(t.Context(), stream, events.AnyRevision, events.Cause{}, events.New{Data: events.FileStarted{}})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	add(first)
	for range 17_000 {
		add(events.JobStream(uuid.New()))
	}
	head := add(first).Position
	n, err := log.Verify(t.Context(), head, nil, func(p string) { t.Error(p) })
	if err != nil || n != 17_002 {
		t.Errorf("Verify: got %d events, %v, want 17002", n, err)
	}
}

// sparse is a driver whose reads cover only one position. So reads often return no
// event, because positions have gaps.
type sparse struct{ events.Driver }

func (s sparse) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	records, through, err := s.Driver.ReadAll(ctx, after, 1, skip)
	if len(records) > 0 && records[0].Position > after+1 {
		return nil, after + 1, nil
	}
	return records, through, err
}

func TestVerifyAfterEmptyBatch(t *testing.T) {
	driver := memory.New()
	log := events.NewLog(sparse{driver})
	defer log.Close()
	for range 3 {
		if _, err := log.Append(t.Context(), events.JobStream(uuid.New()), events.NoStream, events.Cause{}, events.New{Data: events.FileStarted{}}); err != nil {
			t.Fatal(err)
		}
	}
	head, err := log.Head(t.Context())
	if err != nil || head <= 3 {
		t.Fatalf("Head after three events: got %d, %v, want more than 3, so that positions have gaps", head, err)
	}
	n, err := log.Verify(t.Context(), head, nil, func(p string) { t.Error(p) })
	if err != nil || n != 3 {
		t.Errorf("Verify: got %d events, %v, want 3", n, err)
	}
}
