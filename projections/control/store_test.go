package control

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
)

// eachControl runs a test on a control store in a file and on one that nodes share. Each
// call of open opens the same store.
func eachControl(t *testing.T, test func(t *testing.T, open func() (*Store, error))) {
	t.Run("file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "control.db")
		test(t, func() (*Store, error) { return Open(t.Context(), path) })
	})
	t.Run("shared", func(t *testing.T) {
		database, err := sqldb.ParsePostgres(postgrestest.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		test(t, func() (*Store, error) { return OpenShared(t.Context(), database) })
	})
}

func opened(t *testing.T, open func() (*Store, error)) *Store {
	t.Helper()
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestLeaseHasOneHolder(t *testing.T) {
	eachControl(t, func(t *testing.T, open func() (*Store, error)) {
		here, there := opened(t, open), opened(t, open)
		claim := func(c *Store, holder string, lease time.Duration, want bool) {
			t.Helper()
			if won, err := c.Claim(t.Context(), holder, lease, "thing"); won["thing"] != want || err != nil {
				t.Errorf("Claim of %s = %v, %v, want %v", holder, won, err, want)
			}
		}
		claim(here, "here", time.Hour, true)
		claim(there, "there", time.Hour, false)
		if held, err := there.renewOne(t.Context(), "thing", "there", time.Hour); held || err != nil {
			t.Errorf("renewOne of a lease of another holder = %t, %v, want false", held, err)
		}
		if held, err := here.renewOne(t.Context(), "thing", "here", -time.Second); !held || err != nil { // the lease expires
			t.Errorf("renewOne = %t, %v, want true", held, err)
		}
		claim(there, "there", time.Hour, true)
		if held, err := here.renewOne(t.Context(), "thing", "here", time.Hour); held || err != nil {
			t.Errorf("renewOne of a lease that another holder has claimed = %t, %v, want false", held, err)
		}
		if err := there.ReleaseAll(t.Context(), "there"); err != nil {
			t.Fatal(err)
		}
		claim(here, "here", -time.Hour, true)
		if err := there.RemoveExpired(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if held, err := here.renewOne(t.Context(), "thing", "here", time.Hour); held || err != nil {
			t.Errorf("renewOne of a removed lease = %t, %v, want false", held, err)
		}
	})
}

func TestClaimSkipsLeasesOfOthers(t *testing.T) {
	eachControl(t, func(t *testing.T, open func() (*Store, error)) {
		here, there := opened(t, open), opened(t, open)
		for _, c := range []struct {
			control *Store
			holder  string
			lease   time.Duration
			names   []string
			want    map[string]bool
		}{
			{there, "there", time.Hour, []string{"a", "b"}, map[string]bool{"a": true, "b": true}},
			{there, "there", -time.Hour, []string{"c"}, map[string]bool{"c": true}}, // an expired lease
			{here, "here", time.Hour, []string{"d", "c", "b", "a"}, map[string]bool{"c": true, "d": true}},
			{here, "here", time.Hour, nil, nil},
		} {
			if got, err := c.control.Claim(t.Context(), c.holder, c.lease, c.names...); err != nil || !maps.Equal(got, c.want) {
				t.Errorf("Claim of %v by %s = %v, %v, want %v", c.names, c.holder, got, err, c.want)
			}
		}
	})
}

// One node may claim expired leases while another node removes expired leases.
func TestClaimAndRemoveDoNotBlock(t *testing.T) {
	eachControl(t, func(t *testing.T, open func() (*Store, error)) {
		here, there := opened(t, open), opened(t, open)
		names := make([]string, 64)
		for i := range names {
			names[i] = fmt.Sprintf("file/%02d", i)
		}
		reversed := slices.Clone(names)
		slices.Reverse(reversed)
		for range 40 {
			if _, err := there.Claim(t.Context(), "gone", -time.Hour, names...); err != nil {
				t.Fatal(err)
			}
			var claiming sync.WaitGroup
			claiming.Go(func() {
				if won, err := here.Claim(t.Context(), "here", time.Hour, reversed...); err != nil || len(won) != len(names) {
					t.Errorf("Claim = %d of %d leases, %v", len(won), len(names), err)
				}
			})
			if err := there.RemoveExpired(t.Context(), time.Minute); err != nil {
				t.Errorf("RemoveExpired: %v", err)
			}
			claiming.Wait()
			if err := here.ReleaseAll(t.Context(), "here"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// If several nodes activate generations at the same time, exactly one generation becomes
// active, and the store still lists the others.
func TestConcurrentActivation(t *testing.T) {
	eachControl(t, func(t *testing.T, open func() (*Store, error)) {
		const nodes = 6
		var running sync.WaitGroup
		for range nodes {
			running.Go(func() {
				c, err := open() // the first node creates the tables
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				s := Generation{Projection: "vault", Number: 7, Version: 1, State: Ready}
				if err := c.Save(t.Context(), s); err != nil {
					t.Error(err)
				}
				if err := c.Activate(t.Context(), s); err != nil && !fault.Is(err, fault.Conflict) {
					t.Errorf("Activate: %v, want nil or a conflict", err)
				}
			})
		}
		running.Wait()
		c := opened(t, open)
		version, number, err := c.Active(t.Context(), "vault")
		if version != 1 || number != 7 || err != nil {
			t.Errorf("Active = version %d, generation %d, %v, want 1, 7", version, number, err)
		}
		if next, err := c.NextNumber(t.Context(), "vault"); next != 8 || err != nil {
			t.Errorf("NextNumber = %d, %v, want 8", next, err)
		}
		if err := c.Replace(t.Context(), "vault", 2, 8); err != nil {
			t.Fatal(err)
		}
		old, ok, err := c.Find(t.Context(), "vault", Gone)
		if !ok || old.Number != 7 || err != nil {
			t.Errorf("Find(Gone) = %v, %t, %v, want generation 7", old, ok, err)
		}
		if err := c.GiveUpAll(t.Context(), "vault"); err != nil {
			t.Fatal(err)
		}
		if _, number, err = c.Active(t.Context(), "vault"); number != 0 || err != nil {
			t.Errorf("after GiveUpAll generation %d is active (%v), want none", number, err)
		}
	})
}

func TestUnreachableSharedStoreIsUnavailable(t *testing.T) {
	database, err := sqldb.ParsePostgres("postgres://me@127.0.0.1:1/db")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenShared(t.Context(), database); !fault.Is(err, fault.Unavailable) {
		t.Errorf("OpenShared without a server = %v, want an error of kind unavailable", err)
	}
}

// Only one process rebuilds a read model at a time. A process that has lost the lease is
// canceled.
func TestWhileRebuildingExcludesOthers(t *testing.T) {
	eachControl(t, func(t *testing.T, open func() (*Store, error)) {
		var inside, most atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			c := opened(t, open)
			all.Go(func() {
				err := c.WhileRebuilding(t.Context(), "vault", func(context.Context) error {
					n := inside.Add(1)
					most.Store(max(most.Load(), n))
					time.Sleep(10 * time.Millisecond)
					inside.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if most.Load() != 1 {
			t.Errorf("%d processes rebuilt the read model at the same time, want 1", most.Load())
		}
		c, other := opened(t, open), opened(t, open)
		err := c.WhileRebuilding(t.Context(), "vault", func(ctx context.Context) error {
			if _, err := other.db.Exec(ctx, `UPDATE leases SET holder = 'another'`); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if err == nil || t.Context().Err() != nil {
			t.Errorf("WhileRebuilding after the lease was lost = %v, want an error", err)
		}
	})
}

func TestNoteReplacesPreviousText(t *testing.T) {
	eachControl(t, func(t *testing.T, open func() (*Store, error)) {
		server, other := opened(t, open), opened(t, open)
		if text, at, err := other.Noted(t.Context(), "limits"); text != "" || !at.IsZero() || err != nil {
			t.Fatalf("Noted without a note = %q, %v, %v, want an empty text", text, at, err)
		}
		for _, want := range []string{`{"bytes":1}`, `{"bytes":2}`} {
			if err := server.Note(t.Context(), "limits", want); err != nil {
				t.Fatal(err)
			}
			if text, at, err := other.Noted(t.Context(), "limits"); text != want || at.IsZero() || err != nil {
				t.Errorf("Noted = %q, %v, %v, want %q and a time", text, at, err, want)
			}
		}
	})
}
