package projections_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
)

func TestSwitchHasNoGap(t *testing.T) {
	s := serve(t, 30, "vault", "passages")
	var want atomic.Int64 // number of documents that every read has to find
	want.Store(30)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				least := want.Load()
				var n int64
				if err := s.Runner("vault").DB().QueryRowContext(t.Context(), `SELECT count(*) FROM documents`).Scan(&n); err != nil || n < least {
					t.Errorf("the vault has %d documents (%v), want %d at least", n, err, least)
				}
				hits, err := s.Search.Search(t.Context(), searchindex.Query{Text: "lighthouse", Granted: []string{s.folder.String()}, Limit: searchindex.MaxLimit})
				if int64(len(hits)) < least || err != nil {
					t.Errorf("a search finds %d passages (%v), want %d at least", len(hits), err, least)
				}
			}
		})
	}
	other := projectionstest.Options(t, s.log, s.dir)
	rebuilt := make(chan error, 1)
	go func() {
		for range 2 {
			for _, r := range []*projections.Runner{s.Runner("vault"), s.Runner("passages")} {
				generation, err := other.Rebuild(t.Context(), r.Name(), nil)
				if err != nil {
					rebuilt <- err
					return
				}
				projectionstest.UntilServes(t, r, generation)
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
		s.importDocument(t, s.Runner("vault"), s.Runner("passages"))
	}
	if vault, passages := s.Runner("vault").Generation(), s.Runner("passages").Generation(); vault != 3 || passages != 3 {
		t.Errorf("generations %d of the vault and %d of the passages are active, want 3", vault, passages)
	}
	stop()
	readers.Wait()
	s.stop()
	s.options.RemoveGivenUp(t.Context(), readmodel.Vault{}) // if the server ended before it removed them
	if left := projectionstest.Generations(t, s.options.Tables, readmodel.Vault{}); len(left) != 2 {
		t.Errorf("generations %v of the vault have tables, want only the active one and the one before", left)
	}
}

func TestBackReactivatesKeptGeneration(t *testing.T) {
	for _, name := range []string{"vault", "passages"} {
		t.Run(name, func(t *testing.T) {
			log, dir := projectionstest.NewLog(t), t.TempDir()
			folder, _ := projectionstest.ImportDocuments(t, log, 3)
			o := projectionstest.Options(t, log, dir)
			if _, err := o.Back(t.Context(), name); !fault.Is(err, fault.NotFound) {
				t.Errorf("Back without a kept generation = %v, want not found", err)
			}
			s, stop := projectionstest.Serve(t, o)
			for _, r := range s.All() {
				if r.Name() != name {
					continue
				}
				for _, move := range []func() (int, error){
					func() (int, error) { return o.Rebuild(t.Context(), name, nil) },
					func() (int, error) { return o.Back(t.Context(), name) }, // roll back to a generation that lacks the last document
					func() (int, error) { return o.Back(t.Context(), name) },
				} {
					generation, err := move()
					if err != nil {
						t.Fatal(err)
					}
					projectionstest.UntilServes(t, r, generation)
					_, at := projectionstest.ImportDocument(t, log, folder, "windmill")
					projectionstest.Wait(t, r, at)
				}
				if r.Generation() != 2 {
					t.Errorf("after going back twice generation %d is active, want 2", r.Generation())
				}
			}
			stop()
			generation, err := o.Back(t.Context(), name)
			if err != nil || generation != 1 {
				t.Fatalf("Back = %d, %v, want 1", generation, err)
			}
			if err := o.Switch(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			again, _ := projectionstest.Serve(t, o)
			for _, r := range again.All() {
				if r.Name() == name && r.Generation() != 1 {
					t.Errorf("after Switch without a server generation %d is active, want 1", r.Generation())
				}
			}
		})
	}
}

func TestFailedRebuildKeepsActiveGeneration(t *testing.T) {
	s := serve(t, 5, "vault")
	o := s.options
	last := projectionstest.Append(t, s.log, events.Folders, events.FolderRenamed{Folder: s.folder, Name: "bad"})
	projectionstest.Wait(t, s.Runner("vault"), last)
	if _, err := o.Make(t.Context(), projectionstest.FailingVault{Fails: "bad"}, nil); err == nil {
		t.Error("a rebuild succeeded although an event of the folder tree cannot be applied")
	}
	if got := projectionstest.Number(t, s.Runner("vault").DB(), `SELECT count(*) FROM documents`); got != 5 || s.Runner("vault").Generation() != 1 {
		t.Errorf("after a failed rebuild generation %d is active with %d documents, want 1 with 5", s.Runner("vault").Generation(), got)
	}

	// A corrupt generation must be given up instead of becoming active.
	made, err := o.Control.NextNumber(t.Context(), "vault")
	if err != nil {
		t.Fatal(err)
	}
	projectionstest.Corrupt(t, o.Tables, generation.NameOf(readmodel.Vault{}, made))
	corrupt := control.Generation{Projection: "vault", Number: made, Version: readmodel.Vault{}.Version(), State: control.Ready}
	if err := o.Control.Save(t.Context(), corrupt); err != nil {
		t.Fatal(err)
	}
	projections.Activate(t.Context(), o, s.Runner("vault"), corrupt)
	if serves, pending, err := o.Control.Pending(t.Context(), "vault", made); serves || pending || err != nil {
		t.Errorf("a corrupt generation is active: %t, or ready: %t (%v), want neither", serves, pending, err)
	}
	if left := projectionstest.Generations(t, o.Tables, readmodel.Vault{}); slices.Contains(left, made) {
		t.Errorf("generations %v have tables, want the corrupt generation %d removed", left, made)
	}
	if got := projectionstest.Number(t, s.Runner("vault").DB(), `SELECT count(*) FROM documents`); got != 5 {
		t.Errorf("the vault has %d documents, want 5", got)
	}
}

func TestOlderVersionIsRebuiltInBackground(t *testing.T) {
	log, dir := projectionstest.NewLog(t), t.TempDir()
	_, last := projectionstest.ImportDocuments(t, log, 5)
	o := projectionstest.Options(t, log, dir)
	_, stop := projectionstest.Serve(t, o)
	stop()
	p := projectionstest.NewerVault{OldestReadable: readmodel.Vault{}.Version()}
	r, aged, err := openRunner(t, o, p)
	if err != nil || !aged {
		t.Fatalf("Open = aged %t, %v, want true", aged, err)
	}
	projections.RebuildOnce(t.Context(), o, r)
	found, err := o.Control.AllReady(t.Context())
	if err != nil || len(found) != 1 || found[0].Version != p.Version() {
		t.Fatalf("the ready generations are %+v (%v), want one of version %d", found, err, p.Version())
	}
	projections.Activate(t.Context(), o, r, found[0])
	if got := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM documents`); got != 5 || r.Generation() != 2 || r.Position() < last {
		t.Errorf("generation %d is active with %d documents at position %d, want 2 with 5 at %d", r.Generation(), got, r.Position(), last)
	}
	closeRunner(t, r)
	if r, aged, err = openRunner(t, o, p); err != nil || aged || r.Generation() != 2 {
		t.Fatalf("after a restart Open = generation %d, aged %t, %v, want 2, not aged", r.Generation(), aged, err)
	}
	closeRunner(t, r)
}
