package generation_test

import (
	"context"
	"errors"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"

	"github.com/google/uuid"
)

// shifted is a copy of a log in which all positions are higher.
type shifted struct {
	events.Driver
	by events.Position
}

func (s shifted) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	records, err := s.Driver.ReadStream(ctx, stream, from, limit)
	for i := range records {
		records[i].Position += s.by
	}
	return records, err
}

func (s shifted) Head(ctx context.Context) (events.Position, error) {
	head, err := s.Driver.Head(ctx)
	return head + s.by, err
}

// catchUp opens generation 1 of a projection with a log, and applies the log up to a
// position.
func catchUp(t *testing.T, log *events.Log, dir string, p readmodel.Projection, to events.Position) error {
	t.Helper()
	g, err := projectionstest.Options(t, log, dir).OpenTables(t.Context(), p, 1)
	if err != nil {
		return err
	}
	return errors.Join(g.CatchUp(t.Context(), to, nil), g.Close())
}

func TestOpenRejectsOtherLog(t *testing.T) {
	driver := memory.New()
	log, dir := projectionstest.LogOver(t, driver), t.TempDir()
	folder, last := projectionstest.ImportDocuments(t, log, 3)
	vault := readmodel.Vault{}
	if err := catchUp(t, log, dir, vault, last); err != nil {
		t.Fatal(err)
	}
	_, last = projectionstest.ImportDocument(t, log, folder, "lighthouse")
	if err := catchUp(t, log, dir, vault, last); err != nil {
		t.Errorf("open with the same log after it grew: %v", err)
	}
	if err := catchUp(t, events.NewLog(shifted{driver, 3}), dir, vault, last); !errors.Is(err, generation.ErrLogMismatch) || !generation.IsTransient(err) {
		t.Errorf("open with a log of other positions: %v, want the transient error %v", err, generation.ErrLogMismatch)
	}
	longer := projectionstest.NewLog(t)
	projectionstest.ImportDocuments(t, longer, 9)
	if err := catchUp(t, longer, dir, vault, last); !errors.Is(err, generation.ErrLogMismatch) {
		t.Errorf("open with a longer log of other events: %v, want %v", err, generation.ErrLogMismatch)
	}
	if err := catchUp(t, log, dir, vault, last); err != nil {
		t.Errorf("open with the first log again: %v", err)
	}
}

func TestLogCheckIgnoresRemovedText(t *testing.T) {
	driver := memory.New()
	log, dir := projectionstest.LogOver(t, driver), t.TempDir()
	folder, _ := projectionstest.ImportDocuments(t, log, 2)
	text := events.TextStream(uuid.New(), 0)
	projectionstest.Append(t, log, text, events.SectionExtracted{Text: "The extraction was interrupted."})
	if err := catchUp(t, log, dir, new(passages.Projection), projectionstest.Head(t, log)); err != nil {
		t.Fatal(err)
	}
	projectionstest.ImportDocument(t, log, folder, "lighthouse")
	if err := driver.Remove(t.Context(), []string{text}, nil); err != nil {
		t.Fatal(err)
	}
	if err := catchUp(t, log, dir, new(passages.Projection), projectionstest.Head(t, log)); err != nil {
		t.Errorf("open after a text was removed: %v", err)
	}
}
