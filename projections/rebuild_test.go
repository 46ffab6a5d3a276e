package projections

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb/postgrestest"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

	"github.com/google/uuid"
)

// optionsIn are those of one process: another call for the same folder is
// another process.
func optionsIn(t *testing.T, log *events.Log, dir string) generation.Options {
	t.Helper()
	control, err := control.Open(t.Context(), filepath.Join(dir, "control.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := control.Close(); err != nil {
			t.Error(err)
		}
	})
	return generation.Options{
		Log: log, Control: control, Tables: homeIn(t, dir), Logger: quiet,
		Search: bleve.Folder(dir),
	}
}

// serve runs all read models until the test or stop ends them.
func serve(t *testing.T, o generation.Options) (s *Set, stop func()) {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, run(t, s)
}

// run keeps read models in step until the test or stop ends it.
func run(t *testing.T, s *Set) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// untilServes waits until a generation serves.
func untilServes(t *testing.T, r *Runner, generation int) {
	t.Helper()
	for {
		_, moved := r.Moved()
		if r.Generation() == generation {
			return
		}
		<-moved // a switch moves it too
	}
}

// manyDocuments fills a log with documents of one folder.
func manyDocuments(t *testing.T, log *events.Log, n int) (folder uuid.UUID, last events.Position) {
	t.Helper()
	folder = uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"})
	for range n {
		_, last = fileInto(t, log, folder, "lighthouse")
	}
	return folder, last
}

func TestSwitchHasNoGap(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	folder, last := manyDocuments(t, log, 30)
	o := optionsIn(t, log, dir)
	s, end := serve(t, o)
	wait(t, s.Runner("vault"), last)
	wait(t, s.Runner("passages"), last)
	var want atomic.Int64 // documents that every read must find
	want.Store(30)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				least := want.Load()
				var n int64
				if err := s.Runner("vault").DB().QueryRowContext(t.Context(), `SELECT count(*) FROM documents`).Scan(&n); err != nil || n < least {
					t.Errorf("the vault lists %d documents (%v), want %d", n, err, least)
				}
				hits, err := s.Search.Search(t.Context(), searchindex.Query{Text: "lighthouse", Granted: []string{folder.String()}, Limit: searchindex.MaxLimit})
				if int64(len(hits)) < least || err != nil {
					t.Errorf("a search finds %d passages (%v), want %d", len(hits), err, least)
				}
			}
		})
	}
	other := optionsIn(t, log, dir)
	rebuilt := make(chan error, 1)
	go func() {
		for range 2 {
			for _, r := range []*Runner{s.Runner("vault"), s.Runner("passages")} {
				generation, err := other.Rebuild(t.Context(), r.Name(), nil)
				if err != nil {
					rebuilt <- err
					return
				}
				untilServes(t, r, generation)
			}
		}
		rebuilt <- nil
	}()
	for rebuilding := true; rebuilding; want.Add(1) {
		select {
		case err := <-rebuilt:
			if rebuilding = false; err != nil {
				t.Error(err)
			}
		default:
		}
		_, last = fileInto(t, log, folder, "lighthouse")
		wait(t, s.Runner("vault"), last)
		wait(t, s.Runner("passages"), last)
	}
	if vault, passages := s.Runner("vault").Generation(), s.Runner("passages").Generation(); vault != 3 || passages != 3 {
		t.Errorf("generations %d of the vault and %d of the passages serve, want 3", vault, passages)
	}
	stop()
	readers.Wait()
	end()
	o.RemoveGivenUp(t.Context(), readmodel.Vault{}) // what the end may have cut off
	if there := generations(t, o.Tables, readmodel.Vault{}); len(there) != 2 {
		t.Errorf("of the vault's generations there are %v, want the one that serves and the one before", there)
	}
}

func TestRebuildCreatesSameIndexes(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, 3)
	o := optionsIn(t, log, dir)
	s, _ := serve(t, o)
	for _, r := range s.All() {
		indexes := func() string {
			query := `SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql > '' ORDER BY name`
			if postgrestest.Chosen() {
				query = `SELECT replace(indexdef, schemaname, '') FROM pg_indexes WHERE schemaname = current_schema() ORDER BY indexname`
			}
			all, err := Column(t.Context(), r.DB(), query)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(all, "\n")
		}
		want := indexes()
		if want == "" {
			t.Errorf("%s has no index", r.Name())
		}
		wait(t, r, last)
		generation, err := o.Rebuild(t.Context(), r.Name(), nil)
		if err != nil {
			t.Fatal(err)
		}
		untilServes(t, r, generation)
		if got := indexes(); got != want {
			t.Errorf("the rebuilt %s has the indexes\n%s\nwant\n%s", r.Name(), got, want)
		}
	}
}

func TestARebuildThatWasInterruptedGoesOn(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, generation.BatchSize)
	o := optionsIn(t, log, dir)
	_, stop := serve(t, o)
	ctx, interrupt := context.WithCancel(t.Context())
	var reached events.Position
	if _, err := o.Rebuild(ctx, "vault", func(done, _ events.Position) {
		if reached = done; done > 0 {
			interrupt()
		}
	}); !errors.Is(err, context.Canceled) || reached == 0 || reached >= last {
		t.Fatalf("interrupted at %d of %d the rebuild ends with %v", reached, last, err)
	}
	stop()
	s, _ := serve(t, o) // a start must leave it alone
	first := events.Position(-1)
	made, err := o.Rebuild(t.Context(), "vault", func(done, _ events.Position) {
		if first < 0 {
			first = done
		}
	})
	if err != nil || made != 2 || first != reached {
		t.Errorf("the next rebuild made generation %d from position %d on (%v), want 2 from %d", made, first, err, reached)
	}
	untilServes(t, s.Runner("vault"), 2)
	wait(t, s.Runner("vault"), last)
	if got := number(t, s.Runner("vault"), `SELECT count(*) FROM documents`); got != generation.BatchSize {
		t.Errorf("the rebuilt vault holds %d documents, want %d", got, generation.BatchSize)
	}
}

func TestOneCanGoBackToWhatServedBefore(t *testing.T) {
	for _, name := range []string{"vault", "passages"} {
		t.Run(name, func(t *testing.T) {
			log, dir := newLog(t), t.TempDir()
			folder, _ := manyDocuments(t, log, 3)
			o := optionsIn(t, log, dir)
			if _, err := o.Back(t.Context(), name); !fault.Is(err, fault.NotFound) {
				t.Errorf("with nothing kept, going back ends with %v", err)
			}
			s, stop := serve(t, o)
			for _, r := range s.All() {
				if r.Name() != name {
					continue
				}
				for _, move := range []func() (int, error){
					func() (int, error) { return o.Rebuild(t.Context(), name, nil) },
					func() (int, error) { return o.Back(t.Context(), name) }, // to what has not seen the last document
					func() (int, error) { return o.Back(t.Context(), name) },
				} {
					generation, err := move()
					if err != nil {
						t.Fatal(err)
					}
					untilServes(t, r, generation)
					_, at := fileInto(t, log, folder, "windmill")
					wait(t, r, at)
				}
				if r.Generation() != 2 {
					t.Errorf("there and back again generation %d serves, want 2", r.Generation())
				}
			}
			stop()
			generation, err := o.Back(t.Context(), name)
			if err != nil || generation != 1 {
				t.Fatalf("back to generation %d: %v", generation, err)
			}
			if err := o.Switch(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			again, _ := serve(t, o)
			for _, r := range again.All() {
				if r.Name() == name && r.Generation() != 1 {
					t.Errorf("generation %d serves after a switch without a server, want 1", r.Generation())
				}
			}
		})
	}
}

func TestARebuildThatFailsLeavesWhatServes(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	folder, last := manyDocuments(t, log, 5)
	o := optionsIn(t, log, dir)
	s, _ := serve(t, o)
	wait(t, s.Runner("vault"), last)
	last = add(t, log, events.Folders, events.FolderRenamed{Folder: folder, Name: "torn"})
	wait(t, s.Runner("vault"), last)
	if _, err := o.Make(t.Context(), poisoned{name: "torn"}, nil); err == nil {
		t.Error("a rebuild ends well though an event of the folder tree cannot be applied")
	}
	if got := number(t, s.Runner("vault"), `SELECT count(*) FROM documents`); got != 5 || s.Runner("vault").Generation() != 1 {
		t.Errorf("after a rebuild that failed generation %d serves with %d documents, want 1 with 5", s.Runner("vault").Generation(), got)
	}

	// One that is damaged when it is to serve is given up.
	made, err := o.Control.NextNumber(t.Context(), "vault")
	if err != nil {
		t.Fatal(err)
	}
	spoil(t, o.Tables, generation.NameOf(readmodel.Vault{}, made))
	damaged := control.Generation{Projection: "vault", Number: made, Version: readmodel.Vault{}.Version(), State: control.Ready}
	if err := o.Control.Save(t.Context(), damaged); err != nil {
		t.Fatal(err)
	}
	activate(t.Context(), o, s.Runner("vault"), damaged)
	if serves, pending, err := o.Control.Pending(t.Context(), "vault", made); serves || pending || err != nil {
		t.Errorf("a damaged generation serves: %t, is still to be taken up: %t (%v)", serves, pending, err)
	}
	if there := generations(t, o.Tables, readmodel.Vault{}); slices.Contains(there, made) {
		t.Errorf("the damaged one is still among %v", there)
	}
	if got := number(t, s.Runner("vault"), `SELECT count(*) FROM documents`); got != 5 {
		t.Errorf("the vault holds %d documents, want 5", got)
	}
}

// What was replaced because it could not be opened is deleted, also where a
// crash came between.
func TestReplacedGenerationIsRemoved(t *testing.T) {
	o := optionsIn(t, newLog(t), t.TempDir())
	_, stop := serve(t, o)
	stop()
	if err := o.Control.Replace(t.Context(), "vault", readmodel.Vault{}.Version(), 2); err != nil {
		t.Fatal(err)
	}
	r, _, err := openRunner(t, o, readmodel.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if there := generations(t, o.Tables, readmodel.Vault{}); len(there) != 1 || r.Generation() != 3 {
		t.Errorf("generation %d serves, of the vault's there are %v", r.Generation(), there)
	}
}

func TestOneRebuildAtATime(t *testing.T) {
	dir := t.TempDir()
	var inside, most atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		o := optionsIn(t, newLog(t), dir)
		all.Go(func() {
			err := o.Control.WhileRebuilding(t.Context(), "vault", func(context.Context) error {
				n := inside.Add(1)
				most.Store(max(most.Load(), n))
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
		t.Errorf("%d were at it at once", most.Load())
	}
	o := optionsIn(t, newLog(t), dir)
	second, err := sql.Open("sqlite", filepath.Join(dir, "control.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	err = o.Control.WhileRebuilding(t.Context(), "vault", func(ctx context.Context) error {
		if _, err := second.ExecContext(ctx, `UPDATE leases SET holder = 'another'`); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || t.Context().Err() != nil {
		t.Errorf("who lost the lease ends with %v", err)
	}
}

// newer is the vault's projection of a later version, which can read older
// tables from one version on.
type newer struct {
	readmodel.Vault
	oldest int
}

func (newer) Version() int  { return readmodel.Vault{}.Version() + 1 }
func (n newer) Oldest() int { return n.oldest }

func TestReadableOlderVersionServesDuringRebuild(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, 5)
	o := optionsIn(t, log, dir)
	s, stop := serve(t, o)
	wait(t, s.Runner("vault"), last)
	stop()
	for _, c := range []struct {
		p          newer
		aged       bool
		generation int
		documents  int
	}{
		{newer{oldest: readmodel.Vault{}.Version()}, true, 1, 5},
		{newer{oldest: newer{}.Version()}, false, 2, 0},
	} {
		r, aged, err := openRunner(t, o, c.p)
		if err != nil {
			t.Fatal(err)
		}
		if got := number(t, r, `SELECT count(*) FROM documents`); aged != c.aged || r.Generation() != c.generation || got != c.documents {
			t.Errorf("read from version %d on: generation %d serves with %d documents, to be rebuilt: %t; want generation %d, %d, %t",
				c.p.oldest, r.Generation(), got, aged, c.generation, c.documents, c.aged)
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRebuiltVersionServesAtFirstStart(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, 5)
	o := optionsIn(t, log, dir)
	_, stop := serve(t, o)
	p := newer{oldest: newer{}.Version()}
	generation, err := o.Make(t.Context(), p, nil) // while a server of the previous version runs
	if err != nil {
		t.Fatal(err)
	}
	stop()
	r, aged, err := openRunner(t, o, p)
	if err != nil {
		t.Fatal(err)
	}
	if aged || r.Generation() != generation || r.Position() < last {
		t.Errorf("generation %d serves at position %d, want %d at %d", r.Generation(), r.Position(), generation, last)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

func TestOlderVersionIsRebuiltInBackground(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, 5)
	o := optionsIn(t, log, dir)
	_, stop := serve(t, o)
	stop()
	p := newer{oldest: readmodel.Vault{}.Version()}
	r, aged, err := openRunner(t, o, p)
	if err != nil || !aged {
		t.Fatalf("aged %t: %v", aged, err)
	}
	set := &Set{options: o}
	set.rebuild(t.Context(), p)
	found, err := o.Control.AllReady(t.Context())
	if err != nil || len(found) != 1 || found[0].Version != p.Version() {
		t.Fatalf("ready to serve are %+v (%v), want one of version %d", found, err, p.Version())
	}
	activate(t.Context(), o, r, found[0])
	if got := number(t, r, `SELECT count(*) FROM documents`); got != 5 || r.Generation() != 2 || r.Position() < last {
		t.Errorf("generation %d serves with %d documents at %d, want 2 with 5 at %d", r.Generation(), got, r.Position(), last)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if r, aged, err = openRunner(t, o, p); err != nil || aged || r.Generation() != 2 {
		t.Fatalf("the next start opens an old one: %t, %v", aged, err)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// openRunner opens the generation of a projection that is to serve.
func openRunner(t testing.TB, o generation.Options, p readmodel.Projection) (r *Runner, aged bool, err error) {
	g, aged, err := o.Open(t.Context(), p)
	if err != nil {
		return nil, false, err
	}
	return newRunner(g), aged, nil
}
