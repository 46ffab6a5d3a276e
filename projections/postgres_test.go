package projections

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// database is an empty home in PostgreSQL, and its URL.
func database(t testing.TB) (d *tables.Database, url string) {
	t.Helper()
	url = postgrestest.URL(t)
	return databaseAt(t, url), url
}

func databaseAt(t testing.TB, url string) *tables.Database {
	t.Helper()
	parsed, err := sqldb.ParsePostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	d := tables.NewDatabase(parsed)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func openIn(t testing.TB, home tables.Home, log *events.Log, p readmodel.Projection) *generation.Generation {
	t.Helper()
	g, err := generation.New(t.Context(), log, p, home, p.Name()+"-1", quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// follow runs a generation until the test ends.
func follow(t *testing.T, g *generation.Generation) *Runner {
	t.Helper()
	r := newRunner(g)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestOneOfThoseWhoShareTablesLeads(t *testing.T) {
	d, _ := database(t)
	log, folder := newLog(t), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	first, second := openIn(t, d, log, readmodel.Vault{}), openIn(t, d, log, readmodel.Vault{})
	if _, err := first.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if leads, err := second.Lead(t.Context()); leads || err != nil {
		t.Fatalf("while another leads, lead = %t, %v", leads, err)
	}
	if _, err := second.Step(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("while another leads, step = %v, want fault.Unavailable", err)
	}
	last := add(t, log, events.Folders, events.FolderRenamed{Folder: folder, Name: "G"})
	if _, err := first.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.Store().Unlock()        // as if its process had died
	for leads := false; !leads; { // the server may take a moment to notice
		var err error
		if leads, err = second.Lead(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if second.Position() != last {
		t.Errorf("who takes the lead begins at position %d, want %d", second.Position(), last)
	}
	err := first.Store().Transaction(t.Context(), func(tx readmodel.Tx) error { return tx.Exec(t.Context(), `DELETE FROM folders`) })
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("who has lost the lead writes: %v", err)
	}
	if n := number(t, newRunner(second), `SELECT count(*) FROM folders`); n != 1 {
		t.Errorf("there are %d folders, want 1", n)
	}
}

// terminate ends every session of a read model.
func terminate(t *testing.T, d *tables.Database) {
	t.Helper()
	if _, err := d.Pool().ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
}

func TestRecoversFromCutConnections(t *testing.T) {
	d, _ := database(t)
	log := newLog(t)
	folder, last := manyDocuments(t, log, 5)
	g := openIn(t, d, log, readmodel.Vault{})
	r := follow(t, g)
	wait(t, r, last)
	for range 2 {
		terminate(t, d)
		_, last = fileInto(t, log, folder, "lighthouse")
		for r.Position() < last {
			_, moved := r.Moved()
			if r.Position() < last {
				<-moved
			}
		}
	}
	if n := number(t, r, `SELECT count(*) FROM documents`); n != 7 {
		t.Errorf("there are %d documents, want 7", n)
	}
	if n := number(t, r, `SELECT count(*) FROM parked`); n != 0 {
		t.Errorf("%d events are parked because connections were cut", n)
	}
}

// proxy passes connections on to a server, while it is up.
type proxy struct {
	t      *testing.T
	to, at string

	mu    sync.Mutex
	up    net.Listener
	conns []net.Conn
}

func (p *proxy) start() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.at)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.up, p.at = l, l.Addr().String()
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
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(to, from) // which ends when either side is cut
				to.Close()
				from.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
}

func (p *proxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up.Close()
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
	d, log := databaseAt(t, u.String()), newLog(t)
	folder, last := manyDocuments(t, log, 5)
	r := follow(t, openIn(t, d, log, readmodel.Vault{}))
	wait(t, r, last)

	p.stop()
	if _, err := Column(t.Context(), r.DB(), `SELECT name FROM documents`); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a list from an unreachable database: %v, want fault.Unavailable", err)
	}
	if err := r.DB().QueryRowContext(t.Context(), `SELECT count(*) FROM documents`).Scan(new(int)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a row from an unreachable database: %v, want fault.Unavailable", err)
	}
	_, last = fileInto(t, log, folder, "lighthouse")
	if err := r.Wait(t.Context(), last); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Wait with an unreachable database: %v, want fault.Unavailable", err)
	}
	if _, err := generation.New(t.Context(), log, readmodel.Jobs{}, d, "jobs-1", quiet); !generation.IsTransient(err) {
		t.Errorf("opening a read model in an unreachable database: %v, want a transient error", err)
	}

	p.start()
	for r.Position() < last || r.Err() != nil {
		_, moved := r.Moved()
		if r.Position() < last || r.Err() != nil {
			<-moved
		}
	}
	if n, parked := number(t, r, `SELECT count(*) FROM documents`), number(t, r, `SELECT count(*) FROM parked`); n != 6 || parked != 0 {
		t.Errorf("afterwards there are %d documents and %d parked events, want 6 and 0", n, parked)
	}
}

// refusing is a vault that PostgreSQL refuses some documents of.
type refusing struct{ readmodel.Vault }

func (r refusing) Apply(ctx context.Context, tx readmodel.Tx, e events.Event) error {
	err := r.Vault.Apply(ctx, tx, e)
	if d, ok := e.Data.(events.DocumentImported); ok && strings.HasPrefix(d.Name, "bad") {
		err = errors.Join(err, tx.Exec(ctx, `UPDATE documents SET size = size / 0 WHERE id = $1`, events.StreamID(e.Stream).String()))
	}
	return err
}

func TestRefusedStatementParksOneEvent(t *testing.T) {
	d, _ := database(t)
	log, folder := newLog(t), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	for _, name := range []string{"a", "bad", "c", "d", "bad too", "e"} {
		add(t, log, events.DocumentStream(uuid.New()), imported(folder, name))
	}
	g := openIn(t, d, log, refusing{})
	if _, err := g.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, err := Column(t.Context(), g.Store().Reads(), `SELECT name FROM documents ORDER BY name`)
	if want := []string{"a", "c", "d", "e"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("documents are %q (%v), want %q", names, err, want)
	}
	reasons, err := Column(t.Context(), g.Store().Reads(), `SELECT reason FROM parked`)
	if err != nil || len(reasons) != 2 || !strings.Contains(reasons[0], "division by zero") {
		t.Errorf("parked for %q (%v), want two for divisions by zero", reasons, err)
	}
}

func TestInvalidTextInPostgres(t *testing.T) {
	d, _ := database(t)
	g := openIn(t, d, newLog(t), readmodel.Summaries{})
	for _, title := range []string{"a\x00b", "a\xffc", `["\u0000","\\u0000"]`} {
		err := g.Store().Transaction(t.Context(), func(tx readmodel.Tx) error {
			return tx.Exec(t.Context(), `INSERT INTO folders (id, parent, name, summary) VALUES ($1, '', $1, $1)`, title)
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := Column(t.Context(), g.Store().Reads(), `SELECT name FROM folders WHERE id = $1`, title)
		if err != nil || len(found) != 1 {
			t.Errorf("by %q is found %q (%v), want one", title, found, err)
		}
	}
	all, err := Column(t.Context(), g.Store().Reads(), `SELECT name FROM folders ORDER BY name`)
	if want := []string{`["\ufffd","\\u0000"]`, "a\uFFFDb", "a\uFFFDc"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("kept are %q (%v), want %q", all, err, want)
	}
}

func TestTextsCompareByTheirBytesAsInAFile(t *testing.T) {
	d, _ := database(t)
	var lists [][]string
	for _, home := range []tables.Home{d, tables.Folder(t.TempDir())} {
		g := openIn(t, home, newLog(t), readmodel.Summaries{})
		for _, name := range []string{"b", "B", "a b", "a-b", "ä", "Z", "ab", "_", "Ä", "10", "9"} {
			if err := g.Store().Exec(t.Context(), `INSERT INTO folders (id, parent, name, summary) VALUES ($1, '', $1, $1)`, name); err != nil {
				t.Fatal(err)
			}
		}
		names, err := Column(t.Context(), g.Store().Reads(), `SELECT name FROM folders WHERE name > '1' ORDER BY name`)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, names)
	}
	if !slices.Equal(lists[0], lists[1]) {
		t.Errorf("in PostgreSQL texts are in the order %q, in a file %q", lists[0], lists[1])
	}
}

func TestRowsThatAreThereAreLeftAsTheyAre(t *testing.T) {
	d, _ := database(t)
	for _, home := range []tables.Home{d, tables.Folder(t.TempDir())} {
		g := openIn(t, home, newLog(t), readmodel.Work{})
		insert := func(from, to int, owner string) {
			err := g.Store().Transaction(t.Context(), func(tx readmodel.Tx) error {
				for i := from; i < to; i++ {
					if err := tx.Insert(t.Context(), "files", []string{"job", "file", "owner", "accepted"}, "j", i, owner, 1); err != nil {
						return err
					}
				}
				return tx.Exec(t.Context(), `DELETE FROM files WHERE file = $1`, to-1)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		insert(0, 2500, "first")
		insert(2000, 3000, "second") // some are there
		insert(2998, 3001, "third")
		var counts []int
		for _, owner := range []string{"first", "second", "third"} {
			counts = append(counts, number(t, newRunner(g), `SELECT count(*) FROM files WHERE owner = $1`, owner))
		}
		if want := []int{2499, 500, 1}; !slices.Equal(counts, want) {
			t.Errorf("in %s there are %d rows, want %d", home.Describe(""), counts, want)
		}
	}
}
