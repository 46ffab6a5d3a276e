package cluster_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"annals/events"
	"annals/events/sqldb/postgrestest"
	"annals/projections/cluster"
	"annals/projections/control"
	"annals/projections/projectionstest"
	"annals/projections/tables"
)

// fakeGeneration is generation 1 of a read model. Another node holds its lock unless
// free is set.
type fakeGeneration struct {
	free, leads bool
	err         error // returned by TryLock and Lead
	tries       int   // number of TryLock calls
	yields      int
}

func (g *fakeGeneration) Number() int { return 1 }
func (g *fakeGeneration) Leads() bool { return g.leads }
func (g *fakeGeneration) Yield()      { g.leads = false; g.yields++ }

func (g *fakeGeneration) Lead(context.Context) (bool, error) {
	g.leads = g.free && g.err == nil
	return g.leads, g.err
}

func (g *fakeGeneration) TryLock(context.Context) (bool, error) {
	g.tries++
	return g.free && g.err == nil, g.err
}

// fakeNotifier records notices.
type fakeNotifier struct {
	cluster.Notifier
	sent  []cluster.Notice
	hangs bool // the leader has timed out
	ended int  // number of ended sessions
}

func (n *fakeNotifier) Notify(_ context.Context, notice cluster.Notice) error {
	n.sent = append(n.sent, notice)
	return nil
}

func (n *fakeNotifier) EndHungLeader(context.Context, string, int) (bool, error) {
	if n.hangs {
		n.ended++
	}
	return n.hangs, nil
}

// fakeControl is the control store of a cluster with one read model.
type fakeControl struct {
	active    control.Active
	unsettled bool // other nodes have not had time to notice the active generation
	stopped   map[int]bool
	indexed   map[int]events.Position
}

func (c *fakeControl) AllActive(context.Context) (map[string]control.Active, error) {
	return map[string]control.Active{c.active.Projection: c.active}, nil
}

func (c *fakeControl) IsSettled(context.Context, string) (bool, error) { return !c.unsettled, nil }

func (c *fakeControl) MarkStopped(_ context.Context, _ string, number int) error {
	c.stopped[number] = true
	return nil
}

func (c *fakeControl) ClearStopped(_ context.Context, _ string, number int) error {
	delete(c.stopped, number)
	return nil
}

func (c *fakeControl) SetIndexed(_ context.Context, _ string, number int, at events.Position) error {
	c.indexed[number] = at
	return nil
}

func (c *fakeControl) Indexed(_ context.Context, _ string, number int) (events.Position, error) {
	return c.indexed[number], nil
}

// fakeCluster is the node under test, with fakes of everything that it depends on.
type fakeCluster struct {
	*testing.T
	*cluster.Node
	control    *fakeControl
	generation *fakeGeneration
	notifier   *fakeNotifier
}

const (
	model    = "work"
	readable = 7 // the version of the tables that the node can read
)

// inCluster runs a test on a node whose generation 1 is active. Time is simulated.
func inCluster(t *testing.T, test func(c *fakeCluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeControl{
			active:  control.Active{Projection: model, Version: readable, Generation: 1},
			stopped: make(map[int]bool), indexed: make(map[int]events.Position),
		}
		c := &fakeCluster{T: t, control: store, generation: new(fakeGeneration), notifier: new(fakeNotifier)}
		c.Node = cluster.NewNode(model, func(version int) bool { return version == readable }, store, c.notifier, projectionstest.Quiet, time.Now())
		test(c)
	})
}

// wantLead calls Lead and checks its result.
func (c *fakeCluster) wantLead(when string, want bool) {
	c.Helper()
	leads, err := c.Lead(c.Context(), c.generation)
	if err != nil || leads != want || c.Leads() != want {
		c.Errorf("%s: Lead = %t, %v, then Leads = %t, want %t", when, leads, err, c.Leads(), want)
	}
}

func TestNodeAcquiresLeadership(t *testing.T) {
	active := func(generation, version int) control.Active {
		return control.Active{Projection: model, Generation: generation, Version: version}
	}
	for name, test := range map[string]struct {
		free    bool
		control fakeControl
		want    bool
	}{
		"the lock is free":                             {true, fakeControl{active: active(1, readable)}, true},
		"another node has the lock":                    {false, fakeControl{active: active(1, readable)}, false},
		"another generation is active":                 {true, fakeControl{active: active(2, readable)}, false},
		"the active version is not readable":           {true, fakeControl{active: active(2, readable+1)}, true},
		"no generation is active":                      {true, fakeControl{}, false},
		"nodes may not know the active generation yet": {true, fakeControl{active: active(1, readable), unsettled: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(c *fakeCluster) {
				c.generation.free, *c.control = test.free, test.control
				c.wantLead(name, test.want)
			})
		})
	}
}

func TestNodeKeepsAndLosesLeadership(t *testing.T) {
	inCluster(t, func(c *fakeCluster) {
		c.generation.free = true
		c.wantLead("with a free lock", true)
		c.wantLead("immediately after that", true)
		c.generation.free = false
		c.wantLead("after the lock was lost", false)
		c.generation.free = true
		c.wantLead("immediately after the loss", false)
		time.Sleep(time.Minute)
		c.wantLead("a minute after the loss", true)

		c.Yield(c.generation)
		if c.Leads() || c.generation.leads {
			c.Error("after Yield the node still leads")
		}
		c.wantLead("immediately after Yield", false)
		c.Retry()
		c.wantLead("after Retry", true)
	})
}

func TestNodeReportsLockError(t *testing.T) {
	inCluster(t, func(c *fakeCluster) {
		c.generation.err = errors.New("the database is unreachable")
		if leads, err := c.Lead(c.Context(), c.generation); leads || !errors.Is(err, c.generation.err) || c.Leads() {
			c.Errorf("Lead = %t, %v, want the error of the lock", leads, err)
		}
	})
}

func TestFollowerTriesLockRarely(t *testing.T) {
	inCluster(t, func(c *fakeCluster) {
		for range 100 {
			c.wantLead("while another node leads", false)
			time.Sleep(100 * time.Millisecond)
		}
		if c.generation.tries < 3 || c.generation.tries > 6 {
			c.Errorf("in 10 s the node tried %d times to acquire the lock, want about 5", c.generation.tries)
		}
	})
}

func TestFollowerEndsHungLeader(t *testing.T) {
	inCluster(t, func(c *fakeCluster) {
		c.wantLead("while another node leads", false)
		c.notifier.hangs = true
		time.Sleep(10 * time.Second)
		c.wantLead("when the leader has timed out", false)
		if c.notifier.ended != 1 {
			c.Fatalf("%d sessions were ended, want 1", c.notifier.ended)
		}
		c.generation.free = true
		c.wantLead("immediately after the session was ended", true)
	})
}

func TestMayReplace(t *testing.T) {
	for name, test := range map[string]struct {
		free, leads, stopped bool
		want                 bool
	}{
		"the leader":                      {free: true, leads: true, want: true},
		"a follower":                      {free: false, want: false},
		"a node that could lead":          {free: true, want: false},
		"a stopped node without a leader": {free: true, stopped: true, want: true},
		"a stopped follower":              {free: false, stopped: true, want: false},
		"a leader that lost the lock":     {free: false, leads: true, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(c *fakeCluster) {
				c.generation.free, c.generation.leads = test.free, test.leads
				if may, err := c.MayReplace(c.Context(), c.generation, test.stopped); may != test.want || err != nil {
					c.Errorf("MayReplace = %t, %v, want %t", may, err, test.want)
				}
				leads := c.generation.leads
				c.EndReplace(c.generation)
				if released := c.generation.yields == 1; released == leads {
					c.Errorf("EndReplace released the lock: %t, want %t, because the node leads: %t", released, !leads, leads)
				}
			})
		})
	}
}

func TestConfirmationExpires(t *testing.T) {
	inCluster(t, func(c *fakeCluster) {
		want := func(when string, stale, stopped bool) {
			c.Helper()
			if c.Stale() != stale || c.Stopped() != stopped {
				c.Errorf("%s: Stale = %t, Stopped = %t, want %t, %t", when, c.Stale(), c.Stopped(), stale, stopped)
			}
		}
		confirm := func(stopped, wantChanged bool) {
			c.Helper()
			if changed := c.Confirm(time.Now(), stopped); changed != wantChanged {
				c.Errorf("Confirm = %t, want %t", changed, wantChanged)
			}
		}
		want("at first", false, false)
		time.Sleep(control.StalenessBound + time.Second)
		want("after the staleness bound", true, false)
		confirm(false, true)
		want("after Confirm", false, false)
		confirm(false, false)
		confirm(true, true)
		want("after the leader stopped", false, true)
	})
}

func TestProgressClearsStop(t *testing.T) {
	inCluster(t, func(c *fakeCluster) {
		if err := c.ReportStop(c.Context(), 1); err != nil || !c.control.stopped[1] {
			c.Fatalf("ReportStop = %v, and the generation is stopped: %t, want true", err, c.control.stopped[1])
		}
		c.Confirm(time.Now(), true)
		if changed, err := c.ReportProgress(c.Context(), 1); !changed || err != nil || c.control.stopped[1] || c.Stopped() {
			c.Errorf("ReportProgress = %t, %v, and the generation is stopped: %t, want true, and false", changed, err, c.control.stopped[1])
		}
		if changed, err := c.ReportProgress(c.Context(), 1); changed || err != nil {
			c.Errorf("the next ReportProgress = %t, %v, want false", changed, err)
		}
	})
}

func TestIndexedIsShared(t *testing.T) {
	inCluster(t, func(c *fakeCluster) {
		if err := c.ReportIndexed(c.Context(), 1, 42); err != nil {
			c.Fatal(err)
		}
		if at, err := c.Indexed(c.Context(), 1); at != 42 || err != nil {
			c.Errorf("Indexed = %d, %v, want 42", at, err)
		}
		if want := []cluster.Notice{{Kind: cluster.Indexed, Model: model, Generation: 1, Position: 42}}; !slices.Equal(c.notifier.sent, want) {
			c.Errorf("the notices are %+v, want %+v", c.notifier.sent, want)
		}
	})
}

// looks calls Follow in a loop for the given time, and returns how often Follow
// reported that the position must be read.
func (c *fakeCluster) looks(within time.Duration, wanted events.Position) (n int) {
	c.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); {
		look, err := c.Follow(c.Context(), 1, wanted, nil)
		if err != nil {
			c.Fatal(err)
		}
		if look {
			n++
		}
	}
	return n
}

func TestFollowReadsPositionMoreOftenForReaders(t *testing.T) {
	inCluster(t, func(c *fakeCluster) {
		if n := c.looks(10*time.Second, 0); n < 4 || n > 7 {
			c.Errorf("without readers the position is read %d times in 10 s, want about 5", n)
		}
		if len(c.notifier.sent) > 0 {
			c.Errorf("without readers the notices are %+v, want none", c.notifier.sent)
		}
		if n := c.looks(10*time.Second, 9); n < 30 || n > 50 {
			c.Errorf("while a reader waits the position is read %d times in 10 s, want about 40", n)
		}
		if want := []cluster.Notice{{Kind: cluster.Awaited, Model: model, Generation: 1, Position: 9}}; !slices.Equal(c.notifier.sent, want) {
			c.Errorf("while a reader waits the notices are %+v, want %+v", c.notifier.sent, want)
		}
	})
}

func TestWakeMakesFollowReadPosition(t *testing.T) {
	inCluster(t, func(c *fakeCluster) {
		begun := time.Now()
		hurry := make(chan struct{}, 1)
		for i, want := range []bool{true, false, true, false} { // the position is read by the first call, and by the call after the one that Wake ended
			switch i {
			case 1:
				c.Wake()
			case 3:
				hurry <- struct{}{}
			}
			if look, err := c.Follow(c.Context(), 1, 0, hurry); look != want || err != nil || time.Since(begun) > 0 {
				c.Errorf("call %d: Follow = %t, %v after %v, want %t immediately", i, look, err, time.Since(begun), want)
			}
		}
	})
}

// A node that shares no tables always leads, and reports nothing to other nodes.
func TestAloneAlwaysLeads(t *testing.T) {
	var m cluster.Member = cluster.Alone{}
	g := new(fakeGeneration)
	leads, err := m.Lead(t.Context(), g)
	may, errReplace := m.MayReplace(t.Context(), g, false)
	if !leads || !may || errors.Join(err, errReplace) != nil {
		t.Errorf("Lead = %t, %v, MayReplace = %t, %v, want true", leads, err, may, errReplace)
	}
	m.Yield(g)
	m.EndReplace(g)
	m.Retry()
	m.Wake()
	changed, err := m.ReportProgress(t.Context(), 1)
	if err := errors.Join(err, m.ReportStop(t.Context(), 1), m.ReportIndexed(t.Context(), 1, 1)); err != nil {
		t.Error(err)
	}
	if changed || m.Confirm(time.Time{}, true) || m.Shared() || m.Leads() || m.Stopped() || m.Stale() || *g != (fakeGeneration{}) {
		t.Errorf("a node without others has state of a cluster: %+v", g)
	}
}

// PostgreSQL truncates the name of a session to 63 bytes.
func TestNewNameIsShortAndUnique(t *testing.T) {
	one, other := cluster.NewName(), cluster.NewName()
	if one == other || len(tables.SessionPrefix+one) > 63 || strings.ContainsAny(one, "' %_") {
		t.Errorf("NewName = %q, then %q", one, other)
	}
}

func TestListenReceivesNoticesOfOwnService(t *testing.T) {
	u, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	own := cluster.NotifierOf(projectionstest.Database(t, u.String()))
	query := u.Query()
	query.Set("schema", "other")
	u.RawQuery = query.Encode()
	other := cluster.NotifierOf(projectionstest.Database(t, u.String()))
	ctx, stop := context.WithCancel(t.Context())
	ready, received, ended := make(chan struct{}), make(chan cluster.Notice, 10), make(chan error, 1)
	go func() {
		ended <- own.Listen(ctx, func() { close(ready) }, func(n cluster.Notice) { received <- n })
	}()
	<-ready
	want := cluster.Notice{Kind: cluster.Applied, Model: "work", Generation: 12, Position: 345}
	for _, n := range []cluster.Notifier{other, own} {
		if err := n.Notify(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	last := cluster.Notice{Kind: cluster.Awaited, Model: "work", Generation: 1, Position: 2}
	if err := own.Notify(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	for _, want := range []cluster.Notice{want, last} {
		if got := <-received; got != want {
			t.Errorf("received %+v, want %+v", got, want)
		}
	}
	stop()
	if err := <-ended; err == nil {
		t.Error("Listen with an ended context returned no error")
	}
	if cluster.NotifierOf(tables.Folder(t.TempDir())) != nil {
		t.Error("NotifierOf a folder is not nil")
	}
}
