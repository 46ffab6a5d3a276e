package projections

import (
	"testing"

	"annals/events"
	"annals/events/postgres"

	"github.com/google/uuid"
)

// A database of its own stands for the replica: what it holds tells who answers.
func TestAReplicaAnswersOnceItHasPassedWhatTheTablesHold(t *testing.T) {
	log, folder := newLog(t), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	behind, url := database(t)
	copied := openIn(t, behind, log, Vault{})
	main, _ := database(t)
	var err error
	if main.Replica, err = postgres.Parse(url); err != nil {
		t.Fatal(err)
	}
	g := openIn(t, main, log, Vault{})
	r := g.serve()
	steps := func(all ...*generation) {
		for _, g := range all {
			if _, err := g.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	answer := func(want string) {
		t.Helper()
		got, err := Column(t.Context(), r.DB(), `SELECT name FROM folders`)
		var one string
		errRow := r.DB().QueryRowContext(t.Context(), `SELECT name FROM folders`).Scan(&one)
		if err != nil || errRow != nil || len(got) != 1 || got[0] != want || one != want {
			t.Errorf("the folder is called %q and %q (%v, %v), want %q", got, one, err, errRow, want)
		}
	}
	steps(g, copied)
	if err := copied.store.Exec(t.Context(), `UPDATE folders SET name = name || ' of the replica'`); err != nil {
		t.Fatal(err)
	}
	answer("F of the replica")
	add(t, log, events.Folders, events.FolderRenamed{Folder: folder, Name: "G"})
	steps(g)
	answer("G")
	steps(copied)
	if err := copied.store.Exec(t.Context(), `UPDATE folders SET name = name || ' of the replica'`); err != nil {
		t.Fatal(err)
	}
	answer("G of the replica")
	if err := behind.remove(t.Context(), "vault-1"); err != nil { // it fails from now on
		t.Fatal(err)
	}
	answer("G")
}
