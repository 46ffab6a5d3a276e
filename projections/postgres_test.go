package projections_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"annals/events/fault"
	"annals/events/sqldb/postgrestest"
	"annals/projections"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
)

func TestRecoversFromCutConnections(t *testing.T) {
	url, log := postgrestest.URL(t), projectionstest.NewLog(t)
	folder, last := projectionstest.ImportDocuments(t, log, 5)
	r := started(t, log, readmodel.Vault{}, projectionstest.Database(t, url))
	projectionstest.Wait(t, r, last)
	for range 2 {
		endSessions(t, url)
		_, last = projectionstest.ImportDocument(t, log, folder, "lighthouse")
		projectionstest.Until(t, r, func() bool { return r.Position() >= last })
	}
	if n := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM documents`); n != 7 {
		t.Errorf("the vault has %d documents, want 7", n)
	}
	if n := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM parked`); n != 0 {
		t.Errorf("%d events are parked because connections were lost, want none", n)
	}
}

// proxy forwards connections to a database server until the proxy is stopped.
type proxy struct {
	t      *testing.T
	to, at string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func (p *proxy) start() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.at)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listener, p.at = l, l.Addr().String()
	p.mu.Unlock()
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", p.to)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			forward := func(to, from net.Conn) {
				_, _ = io.Copy(to, from) // ends when either side is closed
				to.Close()
				from.Close()
			}
			go forward(in, out)
			go forward(out, in)
		}
	}()
}

func (p *proxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener.Close()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func TestUnreachableDatabaseIsUnavailable(t *testing.T) {
	u, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, to: u.Host, at: "127.0.0.1:0"}
	p.start()
	t.Cleanup(p.stop)
	u.Host = p.at
	home, log := projectionstest.Database(t, u.String()), projectionstest.NewLog(t)
	folder, last := projectionstest.ImportDocuments(t, log, 5)
	r := started(t, log, readmodel.Vault{}, home)
	projectionstest.Wait(t, r, last)

	p.stop()
	if _, err := projections.Column(t.Context(), r.DB(), `SELECT name FROM documents`); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a query for rows in an unreachable database = %v, want an error of kind unavailable", err)
	}
	if err := r.DB().QueryRowContext(t.Context(), `SELECT count(*) FROM documents`).Scan(new(int)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a query for one row in an unreachable database = %v, want an error of kind unavailable", err)
	}
	_, last = projectionstest.ImportDocument(t, log, folder, "lighthouse")
	if err := r.Wait(t.Context(), last); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Wait with an unreachable database = %v, want an error of kind unavailable", err)
	}
	if _, err := generation.New(t.Context(), log, readmodel.Jobs{}, home, "jobs-1", projectionstest.Quiet); !generation.IsTransient(err) {
		t.Errorf("opening a read model in an unreachable database = %v, want a transient error", err)
	}

	p.start()
	projectionstest.Until(t, r, func() bool { return r.Position() >= last && r.Err() == nil })
	if n, parked := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM documents`), projectionstest.Number(t, r.DB(), `SELECT count(*) FROM parked`); n != 6 || parked != 0 {
		t.Errorf("after the database was reachable again the vault has %d documents and %d parked events, want 6 and 0", n, parked)
	}
}
