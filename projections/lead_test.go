package projections

import (
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"

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

// A node whose connection was cut unnoticed leads no more: it moves no pointer
// behind whoever does.
func TestWhoLostTheLeadUnnoticedLetsNoOtherGenerationServe(t *testing.T) {
	d, _ := database(t)
	log := newLog(t)
	add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	first := openIn(t, d, log, Vault{})
	if _, err := first.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := newGeneration(t.Context(), log, Vault{}, d, "vault-2", quiet)
	if err == nil {
		err = next.mustLead(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := next.close(); err != nil {
			t.Error(err)
		}
	})
	r := first.serve()
	r.shared = new(sharing)
	var pid int
	if err := first.store.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if _, err := d.pool.ExecContext(t.Context(), `SELECT pg_terminate_backend($1, 10000)`, pid); err != nil {
		t.Fatal(err)
	}
	committed := false
	_, err = r.swap(t.Context(), next, func() error { committed = true; return nil })
	if committed || !fault.Is(err, fault.Unavailable) {
		t.Errorf("another generation serves: %t, %v; want an error of kind unavailable", committed, err)
	}
}
