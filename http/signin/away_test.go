package signin

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/postgres"
	"annals/events/postgres/postgrestest"
)

// line is a connection to the database that can be cut, or swallow everything.
type line struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	state  string // "", cut or silent
	open   []net.Conn
	copies sync.WaitGroup
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{listener: listener, to: to}
	l.copies.Go(l.serve)
	t.Cleanup(func() {
		l.listener.Close()
		l.set("cut")
		l.copies.Wait()
	})
	return l
}

func (l *line) serve() {
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

// pass copies what comes, while the line is good.
func (l *line) pass(to, from net.Conn) {
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

func (l *line) set(state string) {
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

// A database that is away makes no good token bad, and nothing has to be started
// again once it is back.
func TestADatabaseThatIsAwayIsToldAsSuch(t *testing.T) {
	if os.Getenv(postgrestest.Variable) == "" {
		t.Skip("without PostgreSQL")
	}
	u, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	l := newLine(t, u.Host)
	u.Host = l.listener.Addr().String()
	d, err := postgres.Parse(u.String())
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := OpenSharedAccounts(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accounts.Close() })
	mux := http.NewServeMux()
	s := &site{TB: t, Server: httptest.NewServer(mux)}
	t.Cleanup(s.Server.Close)
	s.builtInStack = newBuiltInOver(t, accounts, s.URL)
	s.serve(mux)
	token := s.issue(t, "alice")

	for _, state := range []string{"cut", "silent"} {
		if _, _, err := s.verifier.Verify(t.Context(), token); err != nil {
			t.Fatalf("before the line is %s: %v", state, err)
		}
		if state == "silent" {
			accounts.db.patience = 200 * time.Millisecond
		}
		l.set(state)
		_, _, err := s.verifier.Verify(t.Context(), token)
		wantKind(t, "Verify of a good token while the line is "+state, err, fault.Unavailable)
		a := s.post("/signin/token", map[string]string{"grant_type": grantRefresh, "client_id": "x", "refresh_token": "x.y"})
		s.wantError("a refresh meanwhile", a, http.StatusServiceUnavailable, "temporarily_unavailable")
		if a.Header.Get("Retry-After") == "" {
			t.Error("no word of when to try again")
		}
		b := s.browser()
		b.client.Jar.SetCookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://"), Path: "/signin"},
			[]*http.Cookie{{Name: "annals_session", Value: newSecret(), Path: "/signin"}})
		if page := b.open("/signin/"); page.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page.body, "cannot answer at the moment") {
			t.Errorf("a page meanwhile = %s %s", page.Status, page.body)
		}
		accounts.db.patience = 30 * time.Second
		l.set("")
	}
	if _, _, err := s.verifier.Verify(t.Context(), token); err != nil {
		t.Errorf("after it came back: %v", err)
	}
}

func TestClocksThatAreFarApartAreRefused(t *testing.T) {
	now := time.Now()
	for off, ok := range map[time.Duration]bool{0: true, 20 * time.Second: true, -20 * time.Second: true, time.Minute: false, -time.Minute: false} {
		if err := compareClocks(now, now.Add(off), now.Add(time.Millisecond)); (err == nil) != ok {
			t.Errorf("%v apart: %v, want it taken: %v", off, err, ok)
		}
	}
}
