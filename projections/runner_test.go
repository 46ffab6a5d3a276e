package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqldb/postgrestest"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/tables"

	"github.com/google/uuid"
)

var quiet = slog.New(slog.DiscardHandler)

// runnerOver lets one generation serve, which it opens by its name.
func runnerOver(ctx context.Context, log *events.Log, p readmodel.Projection, home tables.Home, name string, logger *slog.Logger) (*Runner, error) {
	g, err := generation.New(ctx, log, p, home, name, logger)
	if err != nil {
		return nil, err
	}
	return newRunner(g), nil
}

// started runs a projection over a log until the test ends.
func started(t testing.TB, log *events.Log, p readmodel.Projection) *Runner {
	t.Helper()
	r, err := runnerOver(t.Context(), log, p, homeIn(t, t.TempDir()), p.Name(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, r.close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func newLog(t testing.TB) *events.Log {
	t.Helper()
	log := events.NewLog(memory.New())
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

// add appends events to a stream, wherever it ends.
func add(t testing.TB, log *events.Log, stream string, data ...events.Data) events.Position {
	t.Helper()
	return addBy(t, log, "user:alice", stream, data...)
}

func addBy(t testing.TB, log *events.Log, actor events.Principal, stream string, data ...events.Data) events.Position {
	t.Helper()
	all := make([]events.New, len(data))
	for i, d := range data {
		all[i].Data = d
	}
	at, err := log.Append(t.Context(), stream, events.AnyRevision, events.Cause{Actor: actor}, all...)
	if err != nil {
		t.Fatal(err)
	}
	return at.Position
}

func wait(t testing.TB, r *Runner, p events.Position) {
	t.Helper()
	if err := r.Wait(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func number(t testing.TB, r *Runner, query string, args ...any) (n int) {
	t.Helper()
	if err := r.DB().QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func imported(folder uuid.UUID, name string) events.DocumentImported {
	return events.DocumentImported{Version: 1, Folder: folder, Name: name, Content: events.Content{Title: name, MediaType: "text/markdown", SHA256: strings.Repeat("ab", 32)}}
}

func TestWaitSeesPosition(t *testing.T) {
	log := newLog(t)
	r := started(t, log, readmodel.Vault{})
	for i := range 50 {
		folder := uuid.New()
		p := add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: folder.String(), Owner: "user:alice"})
		wait(t, r, p)
		if got := number(t, r, `SELECT count(*) FROM folders`); got != i+1 {
			t.Fatalf("after %d folders the vault holds %d", i+1, got)
		}
	}
}

// poisoned applies everything but documents of one name.
type poisoned struct {
	readmodel.Vault
	name string
}

func (p poisoned) Apply(ctx context.Context, tx readmodel.Tx, e events.Event) error {
	if d, ok := e.Data.(events.DocumentImported); ok && d.Name == p.name {
		// What it changed before it failed must not stay.
		if err := tx.Exec(ctx, `INSERT INTO tags (tag, document) VALUES ('half', 'done')`); err != nil {
			return err
		}
		return errors.New("this document cannot be applied")
	}
	if d, ok := e.Data.(events.FolderRenamed); ok && d.Name == p.name {
		return errors.New("this folder cannot be renamed")
	}
	return p.Vault.Apply(ctx, tx, e)
}

func TestFailingEventIsParkedWithStream(t *testing.T) {
	log := newLog(t)
	folder := uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	bad, good := events.DocumentStream(uuid.New()), events.DocumentStream(uuid.New())
	add(t, log, bad, imported(folder, "bad.md"))
	add(t, log, good, imported(folder, "good.md"))
	add(t, log, bad, events.DocumentRenamed{Version: 2, Name: "worse.md"})
	last := add(t, log, good, events.DocumentRenamed{Version: 2, Name: "better.md"})
	r := started(t, log, poisoned{name: "bad.md"})
	wait(t, r, last)
	if got := number(t, r, `SELECT count(*) FROM documents WHERE name = 'better.md'`); got != 1 {
		t.Errorf("the document behind the parked one was applied %d times, want once", got)
	}
	if got := number(t, r, `SELECT count(*) FROM parked WHERE stream = $1`, bad); got != 2 {
		t.Errorf("%d events of the bad stream are parked, want both", got)
	}
	if got := number(t, r, `SELECT count(*) FROM tags WHERE tag = 'half'`); got != 0 {
		t.Error("what the parked event changed before it failed has stayed")
	}
}

func TestFailingFolderEventStopsReads(t *testing.T) {
	log := newLog(t)
	folder := uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	last := add(t, log, events.Folders, events.FolderRenamed{Folder: folder, Name: "poison"})
	r := started(t, log, poisoned{name: "poison"})
	if err := r.Wait(t.Context(), last); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Wait = %v, want an error of kind unavailable", err)
	}
	if r.Position() >= last {
		t.Error("the projection passed an event of the folder tree that it could not apply")
	}
}

// written returns an event that a later version of the program wrote.
func written(kind string, schema int) events.Record {
	return events.Record{ID: uuid.New(), Type: kind, Data: []byte(`{}`), Metadata: fmt.Appendf(nil, `{"time":"2026-01-02T03:04:05Z","schema":%d}`, schema)}
}

func TestEventOfLaterVersionIsParked(t *testing.T) {
	for name, later := range map[string]events.Record{
		"a later schema":      written("DocumentRenamed", 99),
		"a type nobody knows": written("DocumentBurnt", 1),
	} {
		t.Run(name, func(t *testing.T) {
			driver := memory.New()
			log := events.NewLog(driver)
			t.Cleanup(func() { log.Close() })
			folder, stream := uuid.New(), events.DocumentStream(uuid.New())
			add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
			add(t, log, stream, imported(folder, "a.md"))
			if _, err := driver.Append(t.Context(), stream, 0, []events.Record{later}); err != nil {
				t.Fatal(err)
			}
			last := add(t, log, stream, events.DocumentRenamed{Version: 3, Name: "b.md"})
			r := started(t, log, readmodel.Vault{})
			wait(t, r, last)
			reasons, err := Column(t.Context(), r.DB(), `SELECT reason FROM parked WHERE stream = $1 ORDER BY position`, stream)
			if err != nil || len(reasons) != 2 || !strings.Contains(reasons[0], later.Type) || !strings.Contains(reasons[1], "waits for an earlier event") {
				t.Errorf("parked with the reasons %q, %v, want the %s and what waits for it", reasons, err, later.Type)
			}
			if got := number(t, r, `SELECT count(*) FROM documents WHERE name = 'a.md' AND version = 1`); got != 1 {
				t.Error("the document did not stay as it was before")
			}
		})
	}
}

func TestFolderEventOfLaterVersionStopsReads(t *testing.T) {
	for name, later := range map[string]events.Record{
		"a later schema":      written("FolderShared", 99),
		"a type nobody knows": written("FolderLocked", 1),
	} {
		t.Run(name, func(t *testing.T) {
			driver := memory.New()
			log := events.NewLog(driver)
			t.Cleanup(func() { log.Close() })
			add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
			at, err := driver.Append(t.Context(), events.Folders, 0, []events.Record{later})
			if err != nil {
				t.Fatal(err)
			}
			r := started(t, log, readmodel.Vault{})
			if err := r.Wait(t.Context(), at.Position); !fault.Is(err, fault.Unavailable) || r.Position() >= at.Position {
				t.Errorf("Wait = %v at position %d, want an error of kind unavailable before %d", err, r.Position(), at.Position)
			}
		})
	}
}

func TestApplyingTheLogAgainChangesNothing(t *testing.T) {
	log := newLog(t)
	folder, doc, job := uuid.New(), uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"},
		events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: "group:g", Access: "read"}}})
	add(t, log, events.JobStream(job), events.FileAccepted{File: 0, Name: "a.md", Folder: "F", SHA256: "aa", Size: 1},
		events.FileAccepted{File: 1, Name: "b.xyz", Folder: "F", Refused: "not supported"},
		events.ImportRequested{Files: 2, User: "user:alice"}, events.FileStarted{File: 0})
	add(t, log, events.DocumentStream(doc), imported(folder, "a.md"), events.DocumentTagged{Version: 2, Tags: []string{"x", "y"}})
	add(t, log, events.JobStream(job), events.FileImported{File: 0, Document: doc, Title: "A"}, events.JobFinished{Successful: 1, Failed: 1})
	for _, p := range []readmodel.Projection{readmodel.Vault{}, readmodel.Jobs{}, readmodel.Work{}, readmodel.Summaries{}, readmodel.Audit{}, readmodel.Usage{}} {
		r, err := runnerOver(t.Context(), log, p, homeIn(t, t.TempDir()), "m", quiet)
		if err != nil {
			t.Fatal(err)
		}
		batch, through, err := log.Read(t.Context(), 0, 100, p.Types()...)
		if err != nil {
			t.Fatal(err)
		}
		var before string
		for range 2 {
			if err := r.serving.ApplyBatch(t.Context(), batch, through); err != nil {
				t.Fatal(err)
			}
			after := dump(t, r)
			if before != "" && after != before {
				t.Errorf("%s after a second time:\n%s\nbefore:\n%s", p.Name(), after, before)
			}
			before = after
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}

// dump writes all rows of all tables.
func dump(t *testing.T, r *Runner) string {
	t.Helper()
	var b strings.Builder
	names := `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`
	if postgrestest.Chosen() {
		names = `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename`
	}
	tables, err := Column(t.Context(), r.DB(), names)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		columns := []string{"CAST(one AS TEXT)"} // a whole row
		if !postgrestest.Chosen() {
			if columns, err = Column(t.Context(), r.DB(), `SELECT group_concat('quote(' || name || ')', '||'',''||') FROM pragma_table_info('`+table+`')`); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := Column(t.Context(), r.DB(), `SELECT `+columns[0]+` FROM `+table+` one ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(table + "\n" + strings.Join(rows, "\n") + "\n")
	}
	return b.String()
}

func TestAFullDiskParksNothing(t *testing.T) {
	ofFiles(t)
	log := newLog(t)
	r, err := runnerOver(t.Context(), log, readmodel.Vault{}, homeIn(t, t.TempDir()), "odd #%41 name", quiet)
	if err != nil {
		t.Fatal(err)
	}
	folder := uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	for range 40 {
		d := imported(folder, strings.Repeat("long", 1000)+".md")
		add(t, log, events.DocumentStream(uuid.New()), d)
	}
	write := r.serving.Store()
	var pages int
	if err := write.QueryRow(t.Context(), `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		if err := write.QueryRow(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(new(int)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 3)
	if _, err := r.step(t.Context()); err == nil {
		t.Fatal("a batch fitted into a disk that is full")
	}
	limit(1 << 20)
	if _, err := r.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := number(t, r, `SELECT count(*) FROM documents`); got != 40 {
		t.Errorf("once there is room again the vault holds %d documents, want 40", got)
	}
	if got := number(t, r, `SELECT count(*) FROM parked`); got != 0 {
		t.Errorf("%d events were parked because the disk was full", got)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}
