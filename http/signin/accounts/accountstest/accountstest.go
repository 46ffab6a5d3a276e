// Package accountstest opens account stores for tests, on either engine.
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

// Open opens the store of a folder until the test ends.
func Open(t testing.TB, dir string) *accounts.Store {
	t.Helper()
	MakeEngine(t, dir)
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

// AddUser adds a user, by default with the password "correct horse".
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
		t.Errorf("%s: got error %v (%v), want one that is %v", what, err, fault.KindOf(err), want)
	}
}

// accountsVariable selects the engine of the tests: postgres, or else files. A test names its
// store by a folder in either case.
const accountsVariable = "ANNALS_TEST_ACCOUNTS"

// OnPostgres reports whether tests keep accounts in PostgreSQL.
func OnPostgres() bool { return os.Getenv(accountsVariable) == "postgres" }

// InFiles skips a test that needs files.
func InFiles(t testing.TB) {
	t.Helper()
	if OnPostgres() {
		t.Skip("accounts are not kept in files")
	}
}

// OpenEngine opens the store of a folder; the caller closes it.
func OpenEngine(ctx context.Context, dir string) (*accounts.Store, error) {
	if !OnPostgres() {
		return accounts.Open(ctx, dir)
	}
	d, err := DatabaseOf(dir)
	if err != nil {
		return nil, err
	}
	return accounts.OpenShared(ctx, d)
}

// DatabaseOf returns the database that stands for a folder.
func DatabaseOf(dir string) (*sqldb.Postgres, error) {
	sum := sha256.Sum256([]byte(dir))
	return sqldb.ParsePostgres(os.Getenv(postgrestest.Variable) + "&schema=test_" + hex.EncodeToString(sum[:12]))
}

// MakeEngine deletes what belongs to a folder when the test ends.
func MakeEngine(t testing.TB, dir string) {
	t.Helper()
	madeLock.Lock()
	defer madeLock.Unlock()
	if !OnPostgres() || made[dir] {
		return
	}
	if os.Getenv(postgrestest.Variable) == "" {
		t.Skip("without PostgreSQL")
	}
	made[dir] = true
	d, err := DatabaseOf(dir)
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

// Clock is a time that only the test advances, starting now.
type Clock struct {
	start  time.Time
	offset atomic.Int64
}

// NewClock returns a clock that shows the present.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Now returns the time.
func (c *Clock) Now() time.Time { return c.start.Add(time.Duration(c.offset.Load())) }

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// OpenFile opens a store that is a file whatever the engine.
func OpenFile(t *testing.T, dir string) *accounts.Store {
	t.Helper()
	copied, err := accounts.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { copied.Close() })
	return copied
}

var (
	madeLock sync.Mutex
	made     = map[string]bool{}
)

// Run runs a package's tests with cheap password hashes, and fails if goroutines are left.
func Run(m *testing.M) {
	accounts.PasswordCost = accounts.Cost{Memory: 64, Time: 1, Lanes: 1}
	goleak.VerifyTestMain(m)
}

// OpenDB opens the database of the store in a folder.
func OpenDB(t testing.TB, dir string) *sql.DB {
	t.Helper()
	if !OnPostgres() {
		return OpenFileDB(t, dir)
	}
	d, err := DatabaseOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	db := d.Open("accounts", 1, nil)
	t.Cleanup(func() { db.Close() })
	return db
}

// OpenFileDB is OpenDB for a store that is a file in any case.
func OpenFileDB(t testing.TB, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, accounts.FileName)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// AtOnce runs functions concurrently and returns how many report success.
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

// Proxy is a connection to a database that can be cut or go silent.
type Proxy struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	state  string // "", cut or silent
	open   []net.Conn
	copies sync.WaitGroup
}

// OpenThroughProxy opens a store in PostgreSQL until the test ends, and returns the proxy
// through which it is reached. Without PostgreSQL the test is skipped.
func OpenThroughProxy(t *testing.T) (*accounts.Store, *Proxy) {
	t.Helper()
	if os.Getenv(postgrestest.Variable) == "" {
		t.Skip("without PostgreSQL")
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

// pass copies data while the connection works.
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

// Set has the proxy pass data (""), cut its connections, or go silent.
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
