package projections

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections/cluster"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/searchindex/bleve"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// nodeOf are the options of one more node on a database, with passages of its
// own.
func nodeOf(t *testing.T, log *events.Log, url string) generation.Options {
	t.Helper()
	database, err := sqldb.ParsePostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), tables.NewDatabase(database)
	t.Cleanup(func() {
		if err := home.Close(); err != nil {
			t.Error(err)
		}
	})
	return generation.Options{
		Log: log, Tables: home, Logger: quiet,
		Control: openedControl(t)(control.OpenShared(t.Context(), database)),
		Own: &generation.Own{
			Control: openedControl(t)(control.Open(t.Context(), filepath.Join(dir, "control.db"))),
			Tables:  tables.Folder(dir),
		},
		Search: bleve.Folder(dir),
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
			if r.Leads() {
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

func TestOneNodeLeadsOthersFollow(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	nodes, stop, url := twoNodes(t, log)
	_, last := manyDocuments(t, log, 20)
	for _, s := range nodes {
		for _, r := range s.All() {
			wait(t, r, last)
		}
		if got := number(t, s.Runner("vault"), `SELECT count(*) FROM documents`); got != 20 {
			t.Errorf("a node lists %d documents, want 20", got)
		}
	}
	leads := leader(t, nodes[0].Runner("vault"), nodes[1].Runner("vault"))
	if nodes[1-leads].Runner("vault").Leads() {
		t.Error("both nodes lead the vault")
	}
	for range 50 { // a change is seen at the other node as soon as its reply has come
		last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: uuid.NewString(), Owner: "user:alice"})
		wait(t, nodes[1-leads].Runner("vault"), last)
	}
	stop[leads]()
	last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later", Owner: "user:alice"})
	wait(t, nodes[1-leads].Runner("vault"), last)

	cutAll(t, url) // and continues by itself
	last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "latest", Owner: "user:alice"})
	wait(t, nodes[1-leads].Runner("vault"), last)
	if got := number(t, nodes[1-leads].Runner("vault"), `SELECT count(*) FROM folders`); got != 53 {
		t.Errorf("the vault holds %d folders, want 53", got)
	}
}

// State reports the leader, and whether its announcement has expired.
func TestStateNamesLeader(t *testing.T) {
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
	leads := leader(t, nodes[0].Runner("vault"), nodes[1].Runner("vault"))
	want(nodes[leads].options.Tables.(*tables.Database).Node, false)
	if s, err := stateOf(t, o, "passages"); err != nil || s.Leader != "" {
		t.Errorf("passages that are not shared have the leader %q (%v)", s.Leader, err)
	}
	stop[0]()
	stop[1]()
	want("", false)
	home := o.Tables.(*tables.Database)
	home.Node = cluster.NewName() // which never announced itself
	s, err := home.Open(t.Context(), "vault-1", "vault")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if leads, err := s.TryLock(t.Context()); !leads || err != nil {
		t.Fatalf("lead = %t, %v", leads, err)
	}
	want(home.Node, true)
}

// cutAll ends all sessions of a database.
func cutAll(t *testing.T, url string) {
	t.Helper()
	database, err := sqldb.ParsePostgres(url)
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
func TestStopIsSharedByNodes(t *testing.T) {
	t.Parallel()
	driver := memory.New()
	log := events.NewLog(driver)
	t.Cleanup(func() { log.Close() })
	nodes, stop, _ := twoNodes(t, log)
	last := add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	wait(t, nodes[0].Runner("vault"), last)
	wait(t, nodes[1].Runner("vault"), last)
	leads := leader(t, nodes[0].Runner("vault"), nodes[1].Runner("vault"))
	at, err := driver.Append(t.Context(), events.Folders, 0, []events.Record{written("FolderLocked", 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes {
		if err := s.Runner("vault").Wait(t.Context(), at.Position); !fault.Is(err, fault.Unavailable) || s.Runner("vault").Err() == nil {
			t.Errorf("Wait = %v, want an error of kind unavailable", err)
		}
	}
	stop[leads]()
	for r := nodes[1-leads].Runner("vault"); ; {
		moved := movedOf(r)
		if err := r.Err(); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("after the node that led is gone, Err = %v, want one of kind unavailable", err)
		}
		if r.hasStopped() { // it leads by now, and has stopped too
			break
		}
		<-moved
	}
}

// While nodes switch to another generation, all that a reply of one node reported is
// visible on the other.
func TestSwitchAcrossNodesHasNoStaleRead(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	nodes, _, url := twoNodes(t, log)
	_, last := manyDocuments(t, log, 20)
	var reported atomic.Int64 // folders that a reply has reported
	reported.Store(1)
	for _, s := range nodes {
		wait(t, s.Runner("vault"), last)
	}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i, s := range nodes {
		clients.Go(func() { // a writer at one node, and a reader at the other
			for ctx.Err() == nil {
				least := reported.Load()
				var n int64
				err := nodes[1-i].Runner("vault").DB().QueryRowContext(ctx, `SELECT count(*) FROM folders`).Scan(&n)
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
				if err := s.Runner("vault").Wait(ctx, at); err == nil {
					reported.Add(1)
				}
			}
		})
	}
	o := nodeOf(t, log, url)
	generation, err := o.Rebuild(t.Context(), "vault", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes {
		untilServes(t, s.Runner("vault"), generation)
	}
	for before := reported.Load(); reported.Load() < before+5 && !t.Failed(); { // writes continue after the switch
		<-movedOf(nodes[0].Runner("vault"))
	}
	stop()
	clients.Wait()
}

func movedOf(r *Runner) <-chan struct{} {
	_, moved := r.Moved()
	return moved
}

// A node of an older program keeps the generation that it can read.
func TestOlderNodeKeepsReadableGeneration(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	nodes, _, url := twoNodes(t, log)
	_, last := manyDocuments(t, log, 3)
	wait(t, nodes[0].Runner("vault"), last)
	newer := control.Generation{Projection: "vault", Number: 2, Version: readmodel.Vault{}.Version() + 1, State: control.Ready}
	control := nodeOf(t, log, url).Control
	if err := errors.Join(control.Save(t.Context(), newer), control.Activate(t.Context(), newer)); err != nil {
		t.Fatal(err)
	}
	last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later", Owner: "user:alice"})
	for _, s := range nodes {
		wait(t, s.Runner("vault"), last)
		if s.Runner("vault").Generation() != 1 {
			t.Errorf("generation %d serves, which this program cannot read", s.Runner("vault").Generation())
		}
	}
}
