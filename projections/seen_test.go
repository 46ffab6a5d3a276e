package projections

import (
	"context"
	"errors"
	"testing"

	"annals/events"
	"annals/events/memory"
)

// shifted is a log whose positions are all higher, as a copy's may be.
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

func TestAReadModelOfAnotherLogDoesNotServe(t *testing.T) {
	driver := memory.New()
	log, dir := events.NewLog(driver), t.TempDir()
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	folder, last := manyDocuments(t, log, 3)
	fill := func(log *events.Log) error {
		g, err := optionsIn(t, log, dir).openTables(t.Context(), Vault{}, 1)
		if err != nil {
			return err
		}
		return errors.Join(g.reach(t.Context(), last, func(events.Position) {}), g.close())
	}
	if err := fill(log); err != nil {
		t.Fatal(err)
	}
	_, last = fileInto(t, log, folder, "lighthouse")
	if err := fill(log); err != nil {
		t.Errorf("open with the log that went on: %v", err)
	}
	if err := fill(events.NewLog(shifted{driver, 3})); !errors.Is(err, errOther) || !passing(err) {
		t.Errorf("open with a log of other positions = %v, want %v, which is of the log", err, errOther)
	}
	elsewhere := newLog(t)
	manyDocuments(t, elsewhere, 9)
	if err := fill(elsewhere); !errors.Is(err, errOther) {
		t.Errorf("open with a longer log of other events = %v, want %v", err, errOther)
	}
	if err := fill(log); err != nil {
		t.Errorf("open with the log that it was made of: %v", err)
	}
}
