package projections_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqldb/postgrestest"
	"annals/projections"
	"annals/projections/cluster"
	"annals/projections/control"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// twoNodes runs two nodes that share a database until the test ends or stop is called.
func twoNodes(t *testing.T, log *events.Log) (sets [2]*projections.Set, stop [2]func(), url string) {
	t.Helper()
	url = postgrestest.URL(t)
	var opening sync.WaitGroup
	var failed [2]error
	for i := range sets {
		o := projectionstest.NodeOptions(t, log, url)
		opening.Go(func() { sets[i], failed[i] = projections.Open(t.Context(), o) }) // concurrently: both nodes may have to create the tables
	}
	opening.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		t.Fatal(err)
	}
	for i, s := range sets {
		stop[i] = projectionstest.Run(t, s)
	}
	return sets, stop, url
}

// awaitLeader waits until one of two nodes leads a read model, and returns the index of
// that node.
func awaitLeader(t *testing.T, one, other *projections.Runner) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, moved := one.Moved()
		for i, r := range []*projections.Runner{one, other} {
			if r.Leads() {
				return i
			}
		}
		select {
		case <-moved:
		case <-time.After(poll):
		case <-ctx.Done():
			t.Fatal("no node leads after a minute")
		}
	}
}

// poll is the pause between two checks of a state whose changes tests are not notified
// of.
const poll = 100 * time.Millisecond

func TestOneNodeLeadsOthersFollow(t *testing.T) {
	t.Parallel()
	log := projectionstest.NewLog(t)
	nodes, stop, url := twoNodes(t, log)
	_, last := projectionstest.ImportDocuments(t, log, 20)
	for _, s := range nodes {
		for _, r := range s.All() {
			projectionstest.Wait(t, r, last)
		}
		if got := projectionstest.Number(t, s.Runner("vault").DB(), `SELECT count(*) FROM documents`); got != 20 {
			t.Errorf("a node has %d documents, want 20", got)
		}
	}
	leads := awaitLeader(t, nodes[0].Runner("vault"), nodes[1].Runner("vault"))
	if nodes[1-leads].Runner("vault").Leads() {
		t.Error("both nodes lead the vault")
	}
	for range 50 { // a change must be visible on the follower after the reply to the write
		last = projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: uuid.NewString(), Owner: "user:alice"})
		projectionstest.Wait(t, nodes[1-leads].Runner("vault"), last)
	}
	stop[leads]()
	last = projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later", Owner: "user:alice"})
	projectionstest.Wait(t, nodes[1-leads].Runner("vault"), last)

	endSessions(t, url) // and the new leader reconnects
	last = projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "latest", Owner: "user:alice"})
	projectionstest.Wait(t, nodes[1-leads].Runner("vault"), last)
	if got := projectionstest.Number(t, nodes[1-leads].Runner("vault").DB(), `SELECT count(*) FROM folders`); got != 53 {
		t.Errorf("the vault has %d folders, want 53", got)
	}
}

// State must report the leader, and whether the leader's announcement has expired.
func TestStateNamesLeader(t *testing.T) {
	t.Parallel()
	log := projectionstest.NewLog(t)
	nodes, stop, url := twoNodes(t, log)
	o := projectionstest.NodeOptions(t, log, url)
	want := func(leader string, silent bool) {
		t.Helper()
		s, err := stateOf(t, o, "vault")
		for begun := time.Now(); s.Silent && !silent && time.Since(begun) < time.Minute; { // it takes a moment until the node has announced itself
			<-time.After(poll)
			s, err = stateOf(t, o, "vault")
		}
		if err != nil || s.Leader != leader || s.Silent != silent {
			t.Errorf("StateOf returns the leader %q, silent %t (%v), want %q, %t", s.Leader, s.Silent, err, leader, silent)
		}
	}
	leads := awaitLeader(t, nodes[0].Runner("vault"), nodes[1].Runner("vault"))
	want(nodes[leads].Node(), false)
	if s, err := stateOf(t, o, "passages"); err != nil || s.Leader != "" {
		t.Errorf("passages, which are not shared, have the leader %q (%v), want none", s.Leader, err)
	}
	stop[0]()
	stop[1]()
	want("", false)
	home := o.Tables.(*tables.Database)
	home.Node = cluster.NewName() // a node that never announces itself
	s, err := home.Open(t.Context(), "vault-1", "vault")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if leads, err := s.TryLock(t.Context()); !leads || err != nil {
		t.Fatalf("TryLock = %t, %v, want true", leads, err)
	}
	want(home.Node, true)
}

// endSessions ends all sessions of the database at a URL.
func endSessions(t *testing.T, url string) {
	t.Helper()
	_, err := projectionstest.Database(t, url).Pool().ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil {
		t.Fatal(err)
	}
}

// If the leader cannot apply an event of the folder tree, no node may serve reads, even
// after the leader has ended.
func TestStopIsSharedByNodes(t *testing.T) {
	t.Parallel()
	driver := memory.New()
	log := projectionstest.LogOver(t, driver)
	nodes, stop, _ := twoNodes(t, log)
	last := projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	projectionstest.Wait(t, nodes[0].Runner("vault"), last)
	projectionstest.Wait(t, nodes[1].Runner("vault"), last)
	leads := awaitLeader(t, nodes[0].Runner("vault"), nodes[1].Runner("vault"))
	at, err := driver.Append(t.Context(), events.Folders, 0, []events.Record{projectionstest.UnknownEvent("FolderLocked", 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes {
		if err := s.Runner("vault").Wait(t.Context(), at.Position); !fault.Is(err, fault.Unavailable) || s.Runner("vault").Err() == nil {
			t.Errorf("Wait = %v, want an error of kind unavailable", err)
		}
	}
	stop[leads]()
	r := nodes[1-leads].Runner("vault")
	projectionstest.Until(t, r, func() bool {
		if err := r.Err(); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("after the leader ended, Err = %v, want an error of kind unavailable", err)
		}
		return r.HasStopped() // the other node leads now, and has stopped, too
	})
}

// While nodes switch to another generation, a change must be visible on both nodes after
// one of them has replied to the write.
func TestSwitchAcrossNodesHasNoStaleRead(t *testing.T) {
	t.Parallel()
	log := projectionstest.NewLog(t)
	nodes, _, url := twoNodes(t, log)
	_, last := projectionstest.ImportDocuments(t, log, 20)
	var reported atomic.Int64 // number of folders for which the reply to their creation was received
	reported.Store(1)
	for _, s := range nodes {
		projectionstest.Wait(t, s.Runner("vault"), last)
	}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i, s := range nodes {
		clients.Go(func() { // a reader on each node, and a writer on the first node
			for ctx.Err() == nil {
				least := reported.Load()
				var n int64
				err := nodes[1-i].Runner("vault").DB().QueryRowContext(ctx, `SELECT count(*) FROM folders`).Scan(&n)
				if ctx.Err() != nil {
					return
				}
				if err != nil || n < least {
					t.Errorf("a node has %d folders (%v), want %d at least", n, err, least)
					return
				}
				if i == 1 {
					continue
				}
				at := projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: uuid.NewString(), Owner: "user:alice"})
				if err := s.Runner("vault").Wait(ctx, at); err == nil {
					reported.Add(1)
				}
			}
		})
	}
	o := projectionstest.NodeOptions(t, log, url)
	generation, err := o.Rebuild(t.Context(), "vault", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes {
		projectionstest.UntilServes(t, s.Runner("vault"), generation)
	}
	before := reported.Load()
	projectionstest.Until(t, nodes[0].Runner("vault"), func() bool { return reported.Load() >= before+5 || t.Failed() })
	stop()
	clients.Wait()
}

// A node of an older program must keep its generation when a newer program activates a
// generation that the node cannot read.
func TestOlderNodeKeepsReadableGeneration(t *testing.T) {
	t.Parallel()
	log := projectionstest.NewLog(t)
	nodes, _, url := twoNodes(t, log)
	_, last := projectionstest.ImportDocuments(t, log, 3)
	projectionstest.Wait(t, nodes[0].Runner("vault"), last)
	newer := control.Generation{Projection: "vault", Number: 2, Version: readmodel.Vault{}.Version() + 1, State: control.Ready}
	control := projectionstest.NodeOptions(t, log, url).Control
	if err := errors.Join(control.Save(t.Context(), newer), control.Activate(t.Context(), newer)); err != nil {
		t.Fatal(err)
	}
	last = projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later", Owner: "user:alice"})
	for _, s := range nodes {
		projectionstest.Wait(t, s.Runner("vault"), last)
		if s.Runner("vault").Generation() != 1 {
			t.Errorf("generation %d is active, want 1, which this program can read", s.Runner("vault").Generation())
		}
	}
}
