package generation_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb/postgrestest"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// importFile appends the events of a job with one file that waits to be imported.
func importFile(t *testing.T, log *events.Log) {
	t.Helper()
	projectionstest.Append(t, log, events.JobStream(uuid.New()), events.FileAccepted{Name: "a.md"}, events.ImportRequested{Files: 1, User: "user:alice"})
}

// waitingFiles returns how many files the active generation of the work read model
// contains.
func waitingFiles(t *testing.T, o generation.Options) (n int) {
	t.Helper()
	err := o.Served(t.Context(), "work", func(db generation.Reader) error {
		n = projectionstest.Number(t, db, `SELECT count(*) FROM files`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A rebuild does not change the active generation. Switch makes the new one active and
// keeps the old one, and Back makes the kept one ready again.
func TestRebuildSwitchAndBack(t *testing.T) {
	log := projectionstest.NewLog(t)
	o := projectionstest.Options(t, log, t.TempDir())
	importFile(t, log)
	g, aged, err := o.Open(t.Context(), readmodel.Work{})
	if err != nil || aged {
		t.Fatalf("Open = aged %t, %v, want a new generation", aged, err)
	}
	if err := errors.Join(g.CatchUp(t.Context(), projectionstest.Head(t, log), nil), g.Close()); err != nil {
		t.Fatal(err)
	}
	importFile(t, log)
	head := projectionstest.Head(t, log)

	wantState := func(active int, inactive ...control.Generation) {
		t.Helper()
		_, number, err := o.Control.Active(t.Context(), "work")
		if err != nil || number != active {
			t.Errorf("generation %d is active (%v), want %d", number, err, active)
		}
		if got, err := o.Control.Inactive(t.Context(), "work"); err != nil || !slices.Equal(got, inactive) {
			t.Errorf("the inactive generations are %+v (%v), want %+v", got, err, inactive)
		}
	}
	state := func(number int, state string) control.Generation {
		return control.Generation{Projection: "work", Number: number, Version: readmodel.Work{}.Version(), State: state}
	}
	wantState(1)
	if got := waitingFiles(t, o); got != 1 {
		t.Errorf("generation 1 contains %d files, want 1", got)
	}

	var progress []events.Position
	number, err := o.Rebuild(t.Context(), "work", func(done, to events.Position) {
		if progress = append(progress, done); to != head {
			t.Errorf("the rebuild reports the head %d, want %d", to, head)
		}
	})
	if err != nil || number != 2 || len(progress) < 2 || progress[0] != 0 || progress[len(progress)-1] != head || !slices.IsSorted(progress) {
		t.Errorf("Rebuild = %d, %v after the progress %v, want 2 after a progress from 0 to %d", number, err, progress, head)
	}
	wantState(1, state(2, control.Ready))
	if again, err := o.Rebuild(t.Context(), "work", nil); again != 2 || err != nil {
		t.Errorf("Rebuild with a ready generation = %d, %v, want 2", again, err)
	}
	if _, err := o.Back(t.Context(), "work"); !fault.Is(err, fault.Conflict) {
		t.Errorf("Back with a ready generation = %v, want a conflict", err)
	}

	switchTo := func(number int) {
		t.Helper()
		if err := o.Switch(t.Context(), "work"); err != nil {
			t.Fatal(err)
		}
		wantState(number, state(3-number, control.Kept))
		if got := waitingFiles(t, o); got != number {
			t.Errorf("generation %d contains %d files, want %[1]d", number, got)
		}
	}
	switchTo(2)
	if number, err := o.Back(t.Context(), "work"); number != 1 || err != nil {
		t.Fatalf("Back = %d, %v, want 1", number, err)
	}
	wantState(2, state(1, control.Ready))
	switchTo(1)

	if err := o.Discard(t.Context(), "work"); err != nil {
		t.Fatal(err)
	}
	wantState(0)
	if left := projectionstest.Generations(t, o.Tables, readmodel.Work{}); len(left) > 0 {
		t.Errorf("after Discard the generations %v have tables, want none", left)
	}
	if _, err := o.Back(t.Context(), "work"); !fault.Is(err, fault.NotFound) {
		t.Errorf("Back without a kept generation = %v, want not found", err)
	}
}

func TestCatchUpBeyondLogIsTransient(t *testing.T) {
	log := projectionstest.NewLog(t)
	_, last := projectionstest.ImportDocuments(t, log, 1)
	g, err := projectionstest.Options(t, log, t.TempDir()).OpenTables(t.Context(), readmodel.Vault{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.CatchUp(t.Context(), last+1, nil); err == nil || !generation.IsTransient(err) {
		t.Errorf("CatchUp beyond the end of the log = %v, want a transient error", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// A suspended process has lost the lease of the rebuild, but still has the generation
// open. A rebuild by another process fails until the generation is closed, and then
// continues it.
func TestRebuildContinuesAfterOtherProcess(t *testing.T) {
	log := projectionstest.NewLog(t)
	projectionstest.ImportDocuments(t, log, 5)
	o := projectionstest.Options(t, log, t.TempDir())
	begun, err := o.Begin(t.Context(), new(passages.Projection))
	if err != nil {
		t.Fatal(err)
	}
	g, err := o.OpenTables(t.Context(), new(passages.Projection), begun.Number)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Rebuild(t.Context(), "passages", nil); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Rebuild while another process has the generation open = %v, want an error of kind unavailable", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if number, err := o.Rebuild(t.Context(), "passages", nil); err != nil || number != begun.Number {
		t.Errorf("the next Rebuild = %d, %v, want to continue generation %d", number, err, begun.Number)
	}
}

func TestRebuildCreatesSameIndexes(t *testing.T) {
	log := projectionstest.NewLog(t)
	projectionstest.ImportDocuments(t, log, 3)
	o := projectionstest.Options(t, log, t.TempDir())
	indexes := func(g *generation.Generation, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		query := `SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql > '' ORDER BY name`
		if postgrestest.Chosen() {
			query = `SELECT replace(indexdef, schemaname, '') FROM pg_indexes WHERE schemaname = current_schema() ORDER BY indexname`
		}
		all := projectionstest.Rows(t, g.Store().Reads(), query)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		return all
	}
	for _, m := range readmodel.All() {
		p := m.Projection
		g, _, err := o.Open(t.Context(), p)
		want := indexes(g, err)
		if want == "" {
			t.Errorf("%s has no index", p.Name())
		}
		number, err := o.Rebuild(t.Context(), p.Name(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := indexes(o.OpenTables(t.Context(), p, number)); got != want {
			t.Errorf("the rebuilt %s has the indexes\n%s\nwant\n%s", p.Name(), got, want)
		}
	}
}

func TestInterruptedRebuildContinues(t *testing.T) {
	log, dir := projectionstest.NewLog(t), t.TempDir()
	_, last := projectionstest.ImportDocuments(t, log, generation.BatchSize)
	o := projectionstest.Options(t, log, dir)
	projectionstest.FoldAll(t, o, last)
	ctx, interrupt := context.WithCancel(t.Context())
	var reached events.Position
	if _, err := o.Rebuild(ctx, "vault", func(done, _ events.Position) {
		if reached = done; done > 0 {
			interrupt()
		}
	}); !errors.Is(err, context.Canceled) || reached == 0 || reached >= last {
		t.Fatalf("interrupted at position %d of %d, Rebuild = %v, want canceled", reached, last, err)
	}
	projectionstest.FoldAll(t, o, last) // a start does not remove the unfinished generation
	first := events.Position(-1)
	number, err := o.Rebuild(t.Context(), "vault", func(done, _ events.Position) {
		if first < 0 {
			first = done
		}
	})
	if err != nil || number != 2 || first != reached {
		t.Errorf("the next Rebuild = %d, %v from position %d on, want 2 from %d on", number, err, first, reached)
	}
	if err := o.Switch(t.Context(), "vault"); err != nil {
		t.Fatal(err)
	}
	err = o.Served(t.Context(), "vault", func(db generation.Reader) error {
		if got := projectionstest.Number(t, db, `SELECT count(*) FROM documents`); got != generation.BatchSize {
			t.Errorf("the rebuilt vault contains %d documents, want %d", got, generation.BatchSize)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The program crashed after it had replaced a generation that cannot be opened, and
// before it had removed its tables. The next Open must remove them.
func TestOpenRemovesReplacedGeneration(t *testing.T) {
	o := projectionstest.Options(t, projectionstest.NewLog(t), t.TempDir())
	projectionstest.FoldAll(t, o, 0)
	if err := o.Control.Replace(t.Context(), "vault", readmodel.Vault{}.Version(), 2); err != nil {
		t.Fatal(err)
	}
	g, _, err := o.Open(t.Context(), readmodel.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if left := projectionstest.Generations(t, o.Tables, readmodel.Vault{}); !slices.Equal(left, []int{3}) || g.Number() != 3 {
		t.Errorf("Open opened generation %d, and %v have tables, want only 3", g.Number(), left)
	}
}

func TestOpenServesReadableOlderVersion(t *testing.T) {
	log := projectionstest.NewLog(t)
	_, last := projectionstest.ImportDocuments(t, log, 5)
	o := projectionstest.Options(t, log, t.TempDir())
	projectionstest.FoldAll(t, o, last)
	for _, c := range []struct {
		p          projectionstest.NewerVault
		aged       bool
		generation int
		documents  int
	}{
		{projectionstest.NewerVault{OldestReadable: readmodel.Vault{}.Version()}, true, 1, 5},
		{projectionstest.NewerVault{OldestReadable: projectionstest.NewerVault{}.Version()}, false, 2, 0},
	} {
		g, aged, err := o.Open(t.Context(), c.p)
		if err != nil {
			t.Fatal(err)
		}
		if got := projectionstest.Number(t, g.Store().Reads(), `SELECT count(*) FROM documents`); aged != c.aged || g.Number() != c.generation || got != c.documents {
			t.Errorf("readable from version %d on: generation %d with %d documents, aged %t; want generation %d with %d, %t",
				c.p.OldestReadable, g.Number(), got, aged, c.generation, c.documents, c.aged)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A newer program has rebuilt a read model while a server of the older version ran. Open
// of the newer program must activate the rebuilt generation.
func TestOpenActivatesRebuiltVersion(t *testing.T) {
	log := projectionstest.NewLog(t)
	_, last := projectionstest.ImportDocuments(t, log, 5)
	o := projectionstest.Options(t, log, t.TempDir())
	projectionstest.FoldAll(t, o, last)
	p := projectionstest.NewerVault{OldestReadable: projectionstest.NewerVault{}.Version()}
	number, err := o.Make(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, aged, err := o.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if aged || g.Number() != number || g.Position() < last {
		t.Errorf("Open opened generation %d at position %d, aged %t; want %d at %d", g.Number(), g.Position(), aged, number, last)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// A held generation stays held at the start of a program that can read the active one.
// Otherwise it becomes active, because an empty one would have to take its place.
func TestOpenActivatesHeldVersionOnlyIfItMust(t *testing.T) {
	log := projectionstest.NewLog(t)
	_, last := projectionstest.ImportDocuments(t, log, 5)
	o := projectionstest.Options(t, log, t.TempDir())
	projectionstest.FoldAll(t, o, last)
	p := projectionstest.NewerVault{OldestReadable: readmodel.Vault{}.Version()}
	number, err := o.Make(t.Context(), p, nil)
	if err == nil {
		err = o.Control.Save(t.Context(), control.Generation{Projection: "vault", Number: number, Version: p.Version(), State: control.Held})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		oldest, want int
	}{{readmodel.Vault{}.Version(), 1}, {p.Version(), number}} {
		p.OldestReadable = c.oldest
		g, aged, err := o.Open(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if got := projectionstest.Number(t, g.Store().Reads(), `SELECT count(*) FROM documents`); g.Number() != c.want || aged != (c.want == 1) || got != 5 {
			t.Errorf("readable from version %d on: generation %d with %d documents, aged %t, want generation %d", c.oldest, g.Number(), got, aged, c.want)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A rebuild that finds its tables corrupt must give them up. Otherwise every later
// rebuild would continue with them and fail.
func TestRebuildGivesUpCorruptTables(t *testing.T) {
	projectionstest.OfFiles(t)
	log, dir := projectionstest.NewLog(t), t.TempDir()
	folder, _ := projectionstest.ImportDocuments(t, log, 5)
	o := projectionstest.Options(t, log, dir)
	begun, err := o.Begin(t.Context(), readmodel.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Fill(t.Context(), readmodel.Vault{}, begun, nil); err != nil {
		t.Fatal(err)
	}
	// A file of this size is not checked when it is opened.
	projectionstest.Edit(t, o.Tables, "vault-1", `CREATE TABLE large (bytes)`)
	projectionstest.Edit(t, o.Tables, "vault-1", `INSERT INTO large VALUES (zeroblob($1))`, tables.CheckedAtOpen)
	db, err := o.Tables.View(t.Context(), "vault-1")
	if err != nil {
		t.Fatal(err)
	}
	root := projectionstest.Number(t, db, `SELECT rootpage FROM sqlite_schema WHERE name = 'documents'`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "vault-1.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	_, err = f.WriteAt([]byte(strings.Repeat("x", page)), int64(root-1)*page)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	projectionstest.ImportDocument(t, log, folder, "lighthouse")
	if _, err := o.Rebuild(t.Context(), "vault", nil); !generation.IsCorrupt(err) {
		t.Errorf("Rebuild with corrupt tables = %v, want an error that IsCorrupt reports", err)
	}
	if number, err := o.Rebuild(t.Context(), "vault", nil); err != nil {
		t.Errorf("the next Rebuild = %d, %v, want no error", number, err)
	}
}
