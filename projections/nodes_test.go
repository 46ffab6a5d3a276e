package projections

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/postgres"
	"annals/events/postgres/postgrestest"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

	"github.com/google/uuid"
)

// nodeOf are the options of one more node on a database, with passages of its
// own.
func nodeOf(t *testing.T, log *events.Log, url string) Options {
	t.Helper()
	database, err := postgres.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), NewDatabase(database)
	t.Cleanup(func() {
		if err := home.Close(); err != nil {
			t.Error(err)
		}
	})
	return Options{
		Log: log, Tables: home, Logger: quiet,
		Control: opened(t, func() (*Control, error) { return OpenSharedControl(t.Context(), database) }),
		Own: &Own{
			Control: opened(t, func() (*Control, error) { return OpenControl(t.Context(), filepath.Join(dir, "control.db")) }),
			Tables:  Folder(dir),
		},
		OpenSearch: func(_ context.Context, name string) (searchindex.Engine, error) {
			return bleve.Open(filepath.Join(dir, name))
		},
		RemoveSearch: func(_ context.Context, name string) error { return os.RemoveAll(filepath.Join(dir, name)) },
	}
}

// twoNodes runs two nodes on a database until the test or stop ends them.
func twoNodes(t *testing.T, log *events.Log) (sets [2]*Set, stop [2]func(), url string) {
	t.Helper()
	url = postgrestest.URL(t)
	var opening sync.WaitGroup
	var failed [2]error
	for i := range sets {
		o := nodeOf(t, log, url)
		opening.Go(func() { sets[i], failed[i] = Open(t.Context(), o) }) // at once: the first makes the tables
	}
	opening.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		t.Fatal(err)
	}
	for i, s := range sets {
		stop[i] = run(t, s)
	}
	return sets, stop, url
}

// leader returns which of two nodes leads a read model, once one does.
func leader(t *testing.T, one, other *Runner) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, moved := one.Moved()
		for i, r := range []*Runner{one, other} {
			if leads, err := r.leading(t.Context()); leads && err == nil {
				return i
			}
		}
		select {
		case <-moved:
		case <-time.After(confirmEvery):
		case <-ctx.Done():
			t.Fatal("no node leads after a minute")
		}
	}
}

func TestOneNodeLeadsAReadModelAndTheOthersFollow(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	nodes, stop, url := twoNodes(t, log)
	_, last := manyDocuments(t, log, 20)
	for _, s := range nodes {
		for _, r := range s.All() {
			wait(t, r, last)
		}
		if got := number(t, s.Vault, `SELECT count(*) FROM documents`); got != 20 {
			t.Errorf("a node lists %d documents, want 20", got)
		}
	}
	leads := leader(t, nodes[0].Vault, nodes[1].Vault)
	if other, err := nodes[1-leads].Vault.leading(t.Context()); other || err != nil {
		t.Errorf("both nodes lead the vault (%v)", err)
	}
	for range 50 { // a change is seen at the other node as soon as its reply has come
		last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: uuid.NewString(), Owner: "user:alice"})
		wait(t, nodes[1-leads].Vault, last)
	}
	stop[leads]()
	last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later", Owner: "user:alice"})
	wait(t, nodes[1-leads].Vault, last)

	cutAll(t, url) // and goes on by itself
	last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "latest", Owner: "user:alice"})
	wait(t, nodes[1-leads].Vault, last)
	if got := number(t, nodes[1-leads].Vault, `SELECT count(*) FROM folders`); got != 53 {
		t.Errorf("the vault holds %d folders, want 53", got)
	}
}

// Who leads is told to those who only look, and that a leader is not heard of.
func TestTheStateNamesTheNodeThatLeads(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	nodes, stop, url := twoNodes(t, log)
	o := nodeOf(t, log, url)
	want := func(leader string, silent bool) {
		t.Helper()
		s, err := stateOf(t, o, "vault")
		for again := time.Now(); s.Silent && !silent && time.Since(again) < time.Minute; { // it may only just begin to tell
			<-time.After(confirmEvery)
			s, err = stateOf(t, o, "vault")
		}
		if err != nil || s.Leader != leader || s.Silent != silent {
			t.Errorf("the state names the leader %q, silent %t (%v), want %q, %t", s.Leader, s.Silent, err, leader, silent)
		}
	}
	leads := leader(t, nodes[0].Vault, nodes[1].Vault)
	want(nodes[leads].options.Tables.(*Database).Node, false)
	if s, err := stateOf(t, o, "passages"); err != nil || s.Leader != "" {
		t.Errorf("passages that are not shared have the leader %q (%v)", s.Leader, err)
	}
	stop[0]()
	stop[1]()
	want("", false)
	home := o.Tables.(*Database)
	home.Node = nodeName() // which never told that it is there
	s, err := home.open(t.Context(), "vault-1", "vault")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if leads, err := s.lead(t.Context()); !leads || err != nil {
		t.Fatalf("lead = %t, %v", leads, err)
	}
	want(home.Node, true)
}

// cutAll ends all sessions of a database.
func cutAll(t *testing.T, url string) {
	t.Helper()
	database, err := postgres.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	db := database.Open("", 1, nil)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil {
		t.Fatal(err)
	}
}

// What a node could not apply of the folder tree is trusted by none, also when
// that node is gone.
func TestWhatOneNodeMayNotTrustIsTrustedByNone(t *testing.T) {
	t.Parallel()
	driver := memory.New()
	log := events.NewLog(driver)
	t.Cleanup(func() { log.Close() })
	nodes, stop, _ := twoNodes(t, log)
	last := add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	wait(t, nodes[0].Vault, last)
	wait(t, nodes[1].Vault, last)
	leads := leader(t, nodes[0].Vault, nodes[1].Vault)
	at, err := driver.Append(t.Context(), events.Folders, 0, []events.Record{written("FolderLocked", 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes {
		if err := s.Vault.Wait(t.Context(), at.Position); !fault.Is(err, fault.Unavailable) || s.Vault.Err() == nil {
			t.Errorf("Wait = %v, want an error of kind unavailable", err)
		}
	}
	stop[leads]()
	for r := nodes[1-leads].Vault; ; {
		moved := movedOf(r)
		if err := r.Err(); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("after the node that led is gone, Err = %v, want one of kind unavailable", err)
		}
		if r.failed() { // it leads by now, and cannot go on either
			break
		}
		<-moved
	}
}

// While nodes go over to another generation, whatever a reply of one told is seen
// at the other.
func TestNodesGoOverToAnotherGenerationWithoutAStaleRead(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	nodes, _, url := twoNodes(t, log)
	_, last := manyDocuments(t, log, 20)
	var told atomic.Int64 // folders that a reply told of
	told.Store(1)
	for _, s := range nodes {
		wait(t, s.Vault, last)
	}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i, s := range nodes {
		clients.Go(func() { // a writer at one node, and a reader at the other
			for ctx.Err() == nil {
				least := told.Load()
				var n int64
				err := nodes[1-i].Vault.DB().QueryRowContext(ctx, `SELECT count(*) FROM folders`).Scan(&n)
				if ctx.Err() != nil {
					return
				}
				if err != nil || n < least {
					t.Errorf("a node counts %d folders, %v; want at least %d", n, err, least)
					return
				}
				if i == 1 {
					continue
				}
				at := add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: uuid.NewString(), Owner: "user:alice"})
				if err := s.Vault.Wait(ctx, at); err == nil {
					told.Add(1)
				}
			}
		})
	}
	o := nodeOf(t, log, url)
	generation, err := o.Rebuild(t.Context(), "vault", unheard)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes {
		untilServes(t, s.Vault, generation)
	}
	for before := told.Load(); told.Load() < before+5 && !t.Failed(); { // it goes on afterwards
		<-movedOf(nodes[0].Vault)
	}
	stop()
	clients.Wait()
}

func movedOf(r *Runner) <-chan struct{} {
	_, moved := r.Moved()
	return moved
}

// A node that a newer program leaves behind goes on with what it can read.
func TestANodeOfAnOlderProgramGoesOnWithWhatItCanRead(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	nodes, _, url := twoNodes(t, log)
	_, last := manyDocuments(t, log, 3)
	wait(t, nodes[0].Vault, last)
	newer := spare{projection: "vault", generation: 2, version: Vault{}.Version() + 1, state: ready}
	control := nodeOf(t, log, url).Control
	if err := errors.Join(control.setSpare(t.Context(), newer), control.serve(t.Context(), newer)); err != nil {
		t.Fatal(err)
	}
	last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later", Owner: "user:alice"})
	for _, s := range nodes {
		wait(t, s.Vault, last)
		if s.Vault.Generation() != 1 {
			t.Errorf("generation %d serves, which this program cannot read", s.Vault.Generation())
		}
	}
}
