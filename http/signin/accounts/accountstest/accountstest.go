// Package accountstest opens account stores for tests, in SQLite or in PostgreSQL.
package accountstest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/http/signin/accounts"

	"go.uber.org/goleak"
)

// Open opens the store for the folder dir, and closes it when the test ends.
func Open(t testing.TB, dir string) *accounts.Store {
	t.Helper()
	dropAtEnd(t, dir)
	store, err := OpenEngine(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// AddUser adds a user, with the password "correct horse" if n has none.
func AddUser(t testing.TB, store *accounts.Store, n accounts.NewAccount) accounts.Account {
	t.Helper()
	n.Password = cmp.Or(n.Password, "correct horse")
	account, err := store.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// WantKind checks the kind of an error.
func WantKind(t testing.TB, what string, err error, want fault.Kind) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("%s: got error %v (%v), want %v", what, err, fault.KindOf(err), want)
	}
}

// accountsVariable is the environment variable that selects where tests store accounts: in
// PostgreSQL if it is "postgres", and otherwise in SQLite files. In both cases a test
// identifies its store by a folder.
const accountsVariable = "ANNALS_TEST_ACCOUNTS"

// OnPostgres reports whether tests store accounts in PostgreSQL.
func OnPostgres() bool { return os.Getenv(accountsVariable) == "postgres" }

// InFiles skips a test that needs SQLite files if tests store accounts in PostgreSQL.
func InFiles(t testing.TB) {
	t.Helper()
	if OnPostgres() {
		t.Skip("accounts are not kept in files")
	}
}

// OpenEngine opens the store for the folder dir. The caller must close it.
func OpenEngine(ctx context.Context, dir string) (*accounts.Store, error) {
	if !OnPostgres() {
		return accounts.Open(ctx, dir)
	}
	d, err := databaseOf(dir)
	if err != nil {
		return nil, err
	}
	return accounts.OpenShared(ctx, d)
}

// databaseOf returns the PostgreSQL schema that stands for the folder dir.
func databaseOf(dir string) (*sqldb.Postgres, error) {
	sum := sha256.Sum256([]byte(dir))
	return sqldb.ParsePostgres(os.Getenv(postgrestest.Variable) + "&schema=test_" + hex.EncodeToString(sum[:12]))
}

var (
	schemasLock sync.Mutex
	schemas     = map[string]bool{} // by folder; the schemas that will be dropped when a test ends
)

// dropAtEnd drops the PostgreSQL schema of the folder dir when the test ends.
func dropAtEnd(t testing.TB, dir string) {
	t.Helper()
	schemasLock.Lock()
	defer schemasLock.Unlock()
	if !OnPostgres() || schemas[dir] {
		return
	}
	if os.Getenv(postgrestest.Variable) == "" {
		t.Skip("PostgreSQL is not available")
	}
	schemas[dir] = true
	d, err := databaseOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db := d.Open("", 1, nil)
		defer db.Close()
		if err := d.Drop(context.WithoutCancel(t.Context()), db, "accounts"); err != nil {
			t.Error(err)
		}
	})
}

// Clock is a clock that only the test advances.
type Clock struct {
	start  time.Time
	offset atomic.Int64
}

// NewClock returns a clock that starts at the current time.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time { return c.start.Add(time.Duration(c.offset.Load())) }

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// OpenFile opens the SQLite store in the folder dir, even if tests store accounts in
// PostgreSQL.
func OpenFile(t *testing.T, dir string) *accounts.Store {
	t.Helper()
	store, err := accounts.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// Run runs the tests of a package with cheap password hashes, and fails if they leak goroutines.
func Run(m *testing.M) {
	accounts.PasswordCost = accounts.Cost{Memory: 64, Time: 1, Lanes: 1}
	goleak.VerifyTestMain(m)
}

// OpenDB opens the database of the store for the folder dir, to change its rows with SQL.
func OpenDB(t testing.TB, dir string) *sql.DB {
	t.Helper()
	if !OnPostgres() {
		return OpenFileDB(t, dir)
	}
	d, err := databaseOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	db := d.Open("accounts", 1, nil)
	t.Cleanup(func() { db.Close() })
	return db
}

// OpenFileDB opens the database of the SQLite store in the folder dir.
func OpenFileDB(t testing.TB, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, accounts.FileName)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// AtOnce calls functions concurrently and returns how many of them return true. An error fails
// the test.
func AtOnce(t *testing.T, all ...func() (bool, error)) int {
	t.Helper()
	var group sync.WaitGroup
	var done atomic.Int32
	begin := make(chan struct{})
	for _, f := range all {
		group.Go(func() {
			<-begin
			ok, err := f()
			if err != nil {
				t.Error(err)
			}
			if ok {
				done.Add(1)
			}
		})
	}
	close(begin)
	group.Wait()
	return int(done.Load())
}

// Proxy is a TCP proxy in front of a database. A test can close or block its connections.
type Proxy struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	state  string // "", "cut" or "silent"; see Set
	open   []net.Conn
	copies sync.WaitGroup
}

// OpenThroughProxy opens a store in PostgreSQL through a proxy, and closes both when the test
// ends. If there is no PostgreSQL, the test is skipped.
func OpenThroughProxy(t *testing.T) (*accounts.Store, *Proxy) {
	t.Helper()
	if os.Getenv(postgrestest.Variable) == "" {
		t.Skip("PostgreSQL is not available")
	}
	u, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := newProxy(t, u.Host)
	u.Host = proxy.listener.Addr().String()
	d, err := sqldb.ParsePostgres(u.String())
	if err != nil {
		t.Fatal(err)
	}
	store, err := accounts.OpenShared(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store, proxy
}

func newProxy(t *testing.T, to string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Proxy{listener: listener, to: to}
	l.copies.Go(l.serve)
	t.Cleanup(func() {
		l.listener.Close()
		l.Set("cut")
		l.copies.Wait()
	})
	return l
}

func (l *Proxy) serve() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", l.to)
		if err != nil {
			in.Close()
			continue
		}
		l.mu.Lock()
		if l.open = append(l.open, in, out); l.state == "cut" {
			in.Close()
			out.Close()
		}
		l.mu.Unlock()
		l.copies.Go(func() { l.pass(in, out) })
		l.copies.Go(func() { l.pass(out, in) })
	}
}

// pass copies data until the connection is closed. While the state is "silent" it discards the
// data instead.
func (l *Proxy) pass(to, from net.Conn) {
	defer to.Close()
	for buffer := make([]byte, 4096); ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		l.mu.Lock()
		state := l.state
		l.mu.Unlock()
		if state == "silent" {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Set sets the state of the proxy: "" passes data, "cut" closes all connections, and "silent"
// discards data but keeps the connections open.
func (l *Proxy) Set(state string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
	if state == "silent" {
		return
	}
	for _, c := range l.open {
		c.Close()
	}
	l.open = nil
}
