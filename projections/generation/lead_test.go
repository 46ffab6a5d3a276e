package generation_test

import (
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb/postgrestest"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

// Only one of the processes that share tables leads. After the lock is released, the next
// leader continues at the position of the tables, and the previous leader can no longer
// write.
func TestOneProcessLeads(t *testing.T) {
	home := projectionstest.Database(t, postgrestest.URL(t))
	log, folder := projectionstest.NewLog(t), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	first, second := projectionstest.OpenModel(t, log, readmodel.Vault{}, home), projectionstest.OpenModel(t, log, readmodel.Vault{}, home)
	first.StepOnce()
	if leads, err := second.Lead(t.Context()); leads || err != nil {
		t.Fatalf("Lead while another process leads = %t, %v, want false", leads, err)
	}
	if _, err := second.Step(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Step while another process leads = %v, want an error of kind unavailable", err)
	}
	last := projectionstest.Append(t, log, events.Folders, events.FolderRenamed{Folder: folder, Name: "G"})
	first.StepOnce()
	first.Store().Unlock()        // as if its process had ended
	for leads := false; !leads; { // the database may release the lock a moment later
		var err error
		if leads, err = second.Lead(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if second.Position() != last {
		t.Errorf("the new leader continues at position %d, want %d", second.Position(), last)
	}
	err := first.Store().Transaction(t.Context(), func(tx readmodel.Tx) error { return tx.Exec(t.Context(), `DELETE FROM folders`) })
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("a write of the previous leader = %v, want an error of kind unavailable", err)
	}
	if n := projectionstest.Number(t, second.DB(), `SELECT count(*) FROM folders`); n != 1 {
		t.Errorf("the vault has %d folders, want 1", n)
	}
}
