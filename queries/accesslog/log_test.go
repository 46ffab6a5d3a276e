package accesslog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/events"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
)

// onEngines runs a test with SQLite, and with PostgreSQL if a server is available.
func onEngines(t *testing.T, run func(t *testing.T, open func(Options) *Log)) {
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), File)
		run(t, func(o Options) *Log {
			l, err := Open(t.Context(), path, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return l
		})
	})
	t.Run("postgres", func(t *testing.T) {
		d, err := sqldb.ParsePostgres(postgrestest.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		run(t, func(o Options) *Log {
			l, err := OpenShared(t.Context(), d, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return l
		})
	})
}

var (
	alice = events.User{Principal: "user:alice"}
	admin = events.User{Principal: "user:admin", Admin: true}
)

// lookups sets Find and Granted. Find finds every document except those whose ids begin
// with "none". Granted lets everybody read folder-1 and nothing else.
func lookups(o Options) Options {
	o.Find = func(_ context.Context, things []string) (map[string]Found, error) {
		all := map[string]Found{}
		for _, thing := range things {
			if n, ok := strings.CutPrefix(thing, "document-"); ok && !strings.HasPrefix(n, "none") {
				all[thing] = Found{Place: "folder-" + n[:1], PlaceName: "Folder", Name: thing + ".md"}
			}
		}
		return all, nil
	}
	o.Granted = func(_ context.Context, _ events.User, folder string) (bool, error) { return folder == "folder-1", nil }
	return o
}

func all(t *testing.T, l *Log, f Filter) []Record {
	t.Helper()
	f.Limit = cmp.Or(f.Limit, 100_000)
	if f.Places == nil {
		f.Everywhere = true
	}
	records, err := l.Records(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestReadPolicy(t *testing.T) {
	onEngines(t, func(t *testing.T, open func(Options) *Log) {
		for reads, want := range map[string]string{
			"none":     "AccessDenied SignInFailed",
			"admins":   "AccessDenied DocumentExported DocumentExported(as an administrator) DocumentReadByAdmin SignInFailed",
			"sample:2": "AccessDenied DocumentExported DocumentExported(as an administrator) DocumentRead DocumentReadByAdmin SignInFailed",
			"all":      "AccessDenied DocumentExported DocumentExported(as an administrator) DocumentRead DocumentRead DocumentReadByAdmin SignInFailed",
		} {
			policy, err := ParseReads(reads)
			if err != nil {
				t.Fatal(err)
			}
			l := open(lookups(Options{Reads: policy}))
			from := time.Now()
			for _, a := range []Access{
				{Kind: Denied, User: alice, Thing: "document-2"},
				{Kind: Denied, User: alice, Thing: "document-none"}, // not recorded, because it does not exist
				{Kind: Read, User: alice, Thing: "document-1"},
				{Kind: Read, User: admin, Thing: "document-1"}, // recorded as Read, because a permission grants it
				{Kind: Read, User: admin, Thing: "document-2"},
				{Kind: Exported, User: alice, Thing: "document-1"},
				{Kind: Exported, User: admin, Thing: "document-2"},
				{Kind: KindOf("sign-in failed"), Place: "user:alice", Name: "alice", Address: "192.0.2.1"},
			} {
				l.Record(a)
			}
			counts := map[string]int{}
			for _, r := range all(t, l, Filter{From: from}) {
				name := string(r.Kind)
				if r.Detail != "" {
					name += "(" + r.Detail + ")"
				}
				counts[name]++
			}
			wanted := map[string]int{}
			for name := range strings.SplitSeq(strings.ReplaceAll(want, "(as an administrator)", "(as_an_administrator)"), " ") {
				wanted[strings.ReplaceAll(name, "_", " ")]++
			}
			if fmt.Sprint(counts) != fmt.Sprint(wanted) {
				t.Errorf("--audit-reads %s records %v, want %v", reads, counts, wanted)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRecordsPersist(t *testing.T) {
	onEngines(t, func(t *testing.T, open func(Options) *Log) {
		l := open(lookups(Options{}))
		for i := range 50 {
			l.Record(Access{Kind: Denied, User: alice, Thing: fmt.Sprintf("document-%d-%d", i%3, i), Address: "192.0.2.7", Correlation: "c", Via: "vault", Detail: "GET\x00 \xff"})
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = open(Options{})
		seen := map[string]bool{}
		f := Filter{Limit: 7, Places: []string{"folder-1", "folder-2", "folder-x"}}
		for {
			page := all(t, l, f)
			for _, r := range page {
				if seen[r.Thing] || r.Actor != "user:alice" || r.Address != "192.0.2.7" || r.Place == "folder-0" || r.Name == "" || r.Count != 1 {
					t.Errorf("record %+v", r)
				}
				seen[r.Thing] = true
				f.Before = r.Mark
			}
			if len(page) < f.Limit {
				break
			}
		}
		if len(seen) != 33 {
			t.Errorf("%d records of two folders, want 33", len(seen))
		}
		for name, f := range map[string]Filter{
			"thing": {Thing: "document-1-4"}, "actor": {Actor: "user:bob"}, "to": {To: time.Now().Add(-time.Hour)}, "from": {From: time.Now().Add(time.Hour)},
		} {
			if got, want := len(all(t, l, f)), map[string]int{"thing": 1}[name]; got != want {
				t.Errorf("by %s: %d records, want %d", name, got, want)
			}
		}
	})
}

func TestEqualAccessesShareRecord(t *testing.T) {
	onEngines(t, func(t *testing.T, open func(Options) *Log) {
		var mu sync.Mutex
		now := time.Now()
		l := open(lookups(Options{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }}))
		denied := Access{Kind: Denied, User: alice, Thing: "document-1"}
		for i := range 1000 {
			l.Record(denied)
			if i%300 == 0 {
				all(t, l, Filter{}) // writes the records so far
			}
		}
		mu.Lock()
		now = now.Add(61 * time.Second)
		mu.Unlock()
		l.Record(denied)
		got := all(t, l, Filter{})
		if len(got) != 2 || got[0].Count != 1 || got[1].Count != 1000 || !strings.HasSuffix(got[1].Words(), ", 1000 times within a minute") {
			t.Errorf("records %+v", got)
		}
	})
}

// A flood of accesses by one user or address takes little space, and does not displace
// the records of other users and addresses.
func TestFloodIsBounded(t *testing.T) {
	onEngines(t, func(t *testing.T, open func(Options) *Log) {
		lost := 0
		l := open(lookups(Options{Lost: func(n int) { lost += n }}))
		for i := range 30_000 {
			l.Record(Access{Kind: Denied, User: events.User{Principal: "user:mallory"}, Thing: fmt.Sprintf("document-1-%d", i)})
			l.Record(Access{Kind: TokenRefused, Address: "203.0.113.9", Detail: fmt.Sprint(i)})
		}
		l.Record(Access{Kind: Denied, User: alice, Thing: "document-1"})
		l.Record(Access{Kind: KindOf("sign-in failed"), Place: "user:bob", Name: "bob", Address: "192.0.2.1"})
		got := all(t, l, Filter{})
		by, counted, gone := map[string]int{}, 0, 0
		for _, r := range got {
			by[string(r.Actor)+r.Address+string(r.Kind)]++
			switch {
			case r.Kind == Lost:
				gone += r.Count
			case r.Actor == "user:mallory" || r.Address == "203.0.113.9":
				counted += r.Count
			}
		}
		if len(got) > 2*(minuteLimit+1)+3 || by["user:aliceAccessDenied"] != 1 || by["192.0.2.1SignInFailed"] != 1 {
			t.Errorf("%d records: %v", len(got), by)
		}
		if counted+gone != 60_000 || gone == 0 || gone != lost {
			t.Errorf("%d accesses are counted and %d lost (%d passed to Lost), want 60000 in all", counted, gone, lost)
		}
	})
}

// Each kind has its own record of accesses beyond the limit, even if kinds alternate.
func TestFloodOfSeveralKindsIsBounded(t *testing.T) {
	onEngines(t, func(t *testing.T, open func(Options) *Log) {
		l := open(lookups(Options{}))
		const rounds, each = 10, 50
		kinds := []Kind{TokenRefused, KindOf("sign-in failed"), KindOf("sign-in refused")}
		for round := range rounds {
			for i := range each {
				for _, kind := range kinds {
					l.Record(Access{Kind: kind, Address: "203.0.113.9", Detail: fmt.Sprint(round, " ", i)})
				}
			}
			if err := l.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		got, counted := all(t, l, Filter{}), 0
		for _, r := range got {
			counted += r.Count
		}
		if len(got) > minuteLimit+len(kinds) || counted != rounds*each*len(kinds) {
			t.Errorf("%d records count %d, want at most %d that count %d", len(got), counted, minuteLimit+len(kinds), rounds*each*len(kinds))
		}
	})
}

// While Find fails, records stay in memory and are lost beyond the limit. After Find
// works again, the remaining records are written, and one further record counts the lost
// ones.
func TestLostRecordsAreCounted(t *testing.T) {
	var mu sync.Mutex
	failing := true
	o := lookups(Options{})
	find := o.Find
	o.Find = func(ctx context.Context, things []string) (map[string]Found, error) {
		mu.Lock()
		defer mu.Unlock()
		if failing {
			return nil, errors.New("the vault does not respond")
		}
		return find(ctx, things)
	}
	path := filepath.Join(t.TempDir(), File)
	l, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxPerSource + 10 {
		l.Record(Access{Kind: Denied, User: alice, Thing: fmt.Sprintf("document-1-%d", i)})
	}
	if _, err := l.Records(t.Context(), Filter{Everywhere: true, Limit: 1}); err == nil {
		t.Error("Records succeeds although no record can be written")
	}
	signedIn := Access{Kind: KindOf("signed in"), User: events.User{Principal: "user:bob"}, Place: "user:bob"}
	l.Record(signedIn) // needs no lookup
	if _, err := l.Records(t.Context(), Filter{Everywhere: true, Limit: 1}); err == nil {
		t.Error("Records succeeds although some records cannot be written")
	}
	n := 0
	if err := l.store.QueryRowContext(t.Context(), `SELECT count(*) FROM accesses WHERE kind = 'SignedIn'`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d sign-ins are written (%v), want 1", n, err)
	}
	mu.Lock()
	failing = false
	mu.Unlock()
	kept, lost := 0, 0
	for _, r := range all(t, l, Filter{}) {
		if r.Kind == Lost {
			lost += r.Count
		} else {
			kept += r.Count
		}
	}
	if kept != maxPerSource+1 || lost != 10 {
		t.Errorf("%d kept and %d lost, want %d and 10", kept, lost, maxPerSource+1)
	}
	mu.Lock()
	failing = true
	mu.Unlock()
	l.Record(Access{Kind: Denied, User: events.User{Principal: "user:carol"}, Thing: "document-1"})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l, err = Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := all(t, l, Filter{Actor: "user:carol"}); len(got) != 1 {
		t.Errorf("%d records are written on Close without a lookup, want 1", len(got))
	}
}

// If jobs cannot be looked up, the records of documents are written all the same.
func TestFailingLookupHoldsBackOnlyItsKind(t *testing.T) {
	o := lookups(Options{})
	find := o.Find
	o.Find = func(ctx context.Context, things []string) (map[string]Found, error) {
		for _, thing := range things {
			if strings.HasPrefix(thing, "job-") {
				return nil, errors.New("the read model jobs has stopped")
			}
		}
		return find(ctx, things)
	}
	l, err := Open(t.Context(), filepath.Join(t.TempDir(), File), o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, thing := range []string{"job-1", "document-1", "job-2", "document-2"} {
		l.Record(Access{Kind: Denied, User: alice, Thing: thing})
	}
	if _, err := l.Records(t.Context(), Filter{Everywhere: true, Limit: 1}); err == nil {
		t.Error("Records succeeds although the records of jobs cannot be written")
	}
	var documents, jobs int
	if err := l.store.QueryRowContext(t.Context(), `SELECT count(*) FROM accesses WHERE thing LIKE 'document-%'`).Scan(&documents); err != nil {
		t.Fatal(err)
	}
	if err := l.store.QueryRowContext(t.Context(), `SELECT count(*) FROM accesses WHERE thing LIKE 'job-%'`).Scan(&jobs); err != nil {
		t.Fatal(err)
	}
	if documents != 2 || jobs != 0 {
		t.Errorf("%d records of documents and %d of jobs are written, want 2 and 0", documents, jobs)
	}
}

func TestOldRecordsAreDeleted(t *testing.T) {
	onEngines(t, func(t *testing.T, open func(Options) *Log) {
		l := open(lookups(Options{Retention: time.Hour, Bytes: 100_000}))
		start := time.Now()
		var rows []row
		for i := range 1000 {
			at := start.Add(-time.Duration(i) * 10 * time.Second) // 360 of the 1000 are younger than the retention of an hour
			rows = append(rows, row{entry: &entry{}, Record: Record{Mark: Mark{Time: at.UnixMicro()}, Last: at, Count: 1, Kind: Denied, Name: strings.Repeat("x", 600)}})
		}
		if err := l.store.write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		l.Bytes = 0
		if err := l.forget(t.Context(), start.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if got := all(t, l, Filter{}); len(got) != 360 {
			t.Errorf("%d records are within the retention, want 360", len(got))
		}
		l.Bytes = 100_000
		if err := l.forget(t.Context(), start); err != nil {
			t.Fatal(err)
		}
		got := all(t, l, Filter{})
		if len(got) < 80 || len(got) > 99 || got[0].Time != start.UnixMicro() {
			t.Errorf("%d records of about 1000 bytes are within 100000 bytes, the newest of %v", len(got), time.UnixMicro(got[0].Time))
		}
	})
}

// Records are written without a call of Records, so a crash loses only the latest ones.
func TestRecordsAreWrittenSoon(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	l, err := Open(t.Context(), path, lookups(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.Record(Access{Kind: Exported, User: alice, Thing: "document-1"})
	other, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for began := time.Now(); len(all(t, other, Filter{})) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute { // about 0.5 s on an idle machine
			t.Fatal("the record is not written")
		}
	}
}

func TestConcurrentRecords(t *testing.T) {
	l, err := Open(t.Context(), filepath.Join(t.TempDir(), File), lookups(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var g sync.WaitGroup
	for i := range 8 {
		g.Go(func() {
			for j := range 2000 {
				l.Record(Access{Kind: Denied, User: alice, Thing: fmt.Sprint("document-1-", j%50)})
				if j%500 == 0 && i == 0 {
					all(t, l, Filter{})
				}
			}
		})
	}
	g.Wait()
	sum := 0
	for _, r := range all(t, l, Filter{}) {
		sum += r.Count
	}
	if sum != 16_000 {
		t.Errorf("%d accesses are counted, want 16000", sum)
	}
	var none *Log
	none.Record(Access{Kind: Denied}) // a nil Log records nothing
}
