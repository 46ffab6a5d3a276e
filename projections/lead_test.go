package projections

import (
	"testing"
	"time"

	"annals/events"

	"github.com/google/uuid"
)

// Whoever waits until a read model can be trusted looks again as soon as it can,
// also where nothing is appended meanwhile.
func TestWhatCanBeTrustedAgainWakesWhoeverWaits(t *testing.T) {
	log := newLog(t)
	add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	r := openIn(t, Folder(t.TempDir()), log, Vault{}).serve()
	r.shared = &sharing{confirmed: time.Now().Add(-2 * unsure)}
	if r.Err() == nil {
		t.Fatal("what was not confirmed for long is trusted")
	}
	_, moved := r.Moved()
	r.confirm(time.Now(), false)
	select {
	case <-moved:
	default:
		t.Errorf("whoever waits is not woken, though Err = %v", r.Err())
	}
	_, moved = r.Moved()
	r.confirm(time.Now(), false)
	select {
	case <-moved:
		t.Error("whoever waits is woken by nothing new")
	default:
	}
}
