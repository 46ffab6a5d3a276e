package projections_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
)

// states returns the numbers of the inactive generations of the passages by state.
func states(t *testing.T, o generation.Options, name string) map[string]int {
	t.Helper()
	all, err := o.ControlOf(name).Inactive(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	numbers := make(map[string]int)
	for _, g := range all {
		numbers[g.State] = g.Number
	}
	return numbers
}

// counts returns how many documents a generation has, and how many a search in its index finds.
func counts(t *testing.T, r *projections.Runner) (documents, found int) {
	t.Helper()
	hits, err := r.Index().Search(t.Context(), searchindex.Query{Text: "lighthouse", All: true, Limit: searchindex.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	return projectionstest.Number(t, r.DB(), `SELECT count(*) FROM documents`), len(hits)
}

func TestHeldGenerationIsReadBeside(t *testing.T) {
	s := serve(t, 3, "passages")
	o := s.options
	number, err := o.Hold(t.Context(), "passages", nil)
	if err != nil || number != 2 {
		t.Fatalf("Hold = %d, %v", number, err)
	}
	if again, err := o.Hold(t.Context(), "passages", nil); err != nil || again != 2 {
		t.Errorf("the second Hold = %d, %v, want the same generation", again, err)
	}

	r, release, err := s.Beside(t.Context(), "passages", 2)
	if err != nil {
		t.Fatal(err)
	}
	if r.Generation() != 2 || s.Runner("passages").Generation() != 1 {
		t.Errorf("generation %d is read beside %d", r.Generation(), s.Runner("passages").Generation())
	}
	s.importDocument(t, r) // it follows the log
	if documents, found := counts(t, r); documents != 4 || found != 4 {
		t.Errorf("generation 2 has %d documents and finds %d, want 4", documents, found)
	}
	again, releaseAgain, err := s.Beside(t.Context(), "passages", 2)
	if err != nil || again != r {
		t.Errorf("the second reader gets another runner (%v)", err)
	} else {
		releaseAgain()
	}
	if _, err := o.Hold(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Beside(t.Context(), "vault", 2); !fault.Is(err, fault.Unavailable) { // and only one is open
		t.Errorf("another generation beside: %v, want Unavailable", err)
	}

	// A cut-over waits for the reader. Meanwhile no other reader begins.
	ready, err := o.Rebuild(t.Context(), "passages", nil)
	if err != nil || ready != 2 {
		t.Fatalf("Rebuild = %d, %v, want the held generation", ready, err)
	}
	refused := func() bool {
		_, release, err := s.Beside(t.Context(), "passages", 2)
		if err == nil {
			release()
		}
		return fault.Is(err, fault.Unavailable)
	}
	for !refused() {
		time.Sleep(poll / 10)
	}
	if documents, _ := counts(t, r); documents != 4 || s.Runner("passages").Generation() != 1 {
		t.Errorf("a reader of generation 2 sees %d documents; generation %d is active before it ends", documents, s.Runner("passages").Generation())
	}
	release()
	projectionstest.UntilServes(t, s.Runner("passages"), 2)
	if documents, found := counts(t, s.Runner("passages")); documents != 4 || found != 4 {
		t.Errorf("the active generation has %d documents and finds %d, want 4", documents, found)
	}

	// The generation that was active before can be read as well.
	old, release := s.beside(t, "passages", 1)
	s.importDocument(t, old)
	if documents, found := counts(t, old); documents != 5 || found != 5 {
		t.Errorf("the kept generation has %d documents and finds %d, want 5", documents, found)
	}
	release()
}

func TestBesideRefuses(t *testing.T) {
	s := serve(t, 2, "passages")
	o := s.options
	filling := control.Generation{Projection: "passages", Number: 7, Version: s.Runner("passages").Version(), State: control.Filling}
	older := control.Generation{Projection: "passages", Number: 8, Version: s.Runner("passages").Oldest() - 1, State: control.Kept}
	for _, g := range []control.Generation{filling, older} {
		if err := o.Control.Save(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	for _, number := range []int{1, 2, 7, 8} { // active, missing, filling, unreadable
		if _, _, err := s.Beside(t.Context(), "passages", number); !fault.Is(err, fault.NotFound) {
			t.Errorf("generation %d: %v, want NotFound", number, err)
		}
	}
	s.stop()
	if _, _, err := s.Beside(t.Context(), "passages", 8); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the end: %v, want Unavailable", err)
	}
}

// openFiles returns the files below dir that this process has open or mapped, and whose paths
// contain a name.
func openFiles(t *testing.T, dir, name string) (open []string) {
	t.Helper()
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list the open files of a process")
	}
	for _, d := range descriptors {
		path, err := os.Readlink("/proc/self/fd/" + d.Name())
		if err == nil && strings.HasPrefix(path, dir) && strings.Contains(path, name) {
			open = append(open, path)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, dir) && strings.Contains(line, name) {
			open = append(open, strings.TrimSpace(line))
		}
	}
	return open
}

// A generation that was searched and is then removed must not keep its files open, since
// they would use disk space until the server ends.
func TestRemovedGenerationIsClosed(t *testing.T) {
	s := serve(t, 20, "passages")
	o := s.options
	ask := func(number int) {
		t.Helper()
		r, release := s.beside(t, "passages", number)
		projectionstest.Wait(t, r, projectionstest.Head(t, s.log))
		if documents, found := counts(t, r); documents != 20 || found != 20 {
			t.Errorf("generation %d has %d documents and finds %d, want 20", number, documents, found)
		}
		if len(openFiles(t, s.dir, fmt.Sprintf("passages-%d", number))) == 0 {
			t.Errorf("no file of generation %d is open, so the test would find none that stays open", number)
		}
		release()
	}
	gone := func(number int) {
		t.Helper()
		name := fmt.Sprintf("passages-%d", number)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(poll / 10) {
			open := openFiles(t, s.dir, name)
			left, err := filepath.Glob(filepath.Join(s.dir, name+"*"))
			if len(open) == 0 && len(left) == 0 && err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("of the removed generation %d, %v is left and %v is open (%v)", number, left, open, err)
			}
		}
	}
	hold := func() {
		t.Helper()
		if _, err := o.Hold(t.Context(), "passages", nil); err != nil {
			t.Fatal(err)
		}
	}
	hold() // 2, deleted by the operator
	ask(2)
	if _, err := o.Drop(t.Context(), "passages"); err != nil {
		t.Fatal(err)
	}
	for s.AgeBeside(0) { // the server notices it
		time.Sleep(poll / 10)
	}
	gone(2)
	for want := range 2 { // 1 is kept, and removed by the second cut-over
		hold()
		number, err := o.Rebuild(t.Context(), "passages", nil)
		if err != nil {
			t.Fatal(err)
		}
		projectionstest.UntilServes(t, s.Runner("passages"), number)
		if want == 0 {
			ask(1)
		}
	}
	gone(1)
}

func TestDroppedGenerationIsClosed(t *testing.T) {
	s := serve(t, 2, "vault")
	o := s.options
	if _, err := o.Drop(t.Context(), "vault"); !fault.Is(err, fault.NotFound) {
		t.Errorf("Drop without a held generation: %v, want NotFound", err)
	}
	if _, err := o.Hold(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	_, release, err := s.Beside(t.Context(), "vault", 2)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if number, err := o.Drop(t.Context(), "vault"); err != nil || number != 2 {
		t.Errorf("Drop = %d, %v", number, err)
	}
	for s.AgeBeside(0) {
		time.Sleep(poll / 10)
	}
	if _, _, err := s.Beside(t.Context(), "vault", 2); !fault.Is(err, fault.NotFound) {
		t.Errorf("the dropped generation: %v, want NotFound", err)
	}
	if left := projectionstest.Generations(t, o.Tables, readmodel.Vault{}); len(left) != 1 || left[0] != 1 {
		t.Errorf("the generations %v are left", left)
	}
}

func TestUnusedGenerationMakesRoom(t *testing.T) {
	s := serve(t, 2, "vault")
	o := s.options
	for _, name := range []string{"vault", "usage"} {
		if _, err := o.Hold(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	}
	beside := func(name string) error {
		_, release, err := s.Beside(t.Context(), name, 2)
		if err == nil {
			release()
		}
		return err
	}
	if err := beside("vault"); err != nil {
		t.Fatal(err)
	}
	if err := beside("usage"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("soon after the first: %v, want Unavailable", err)
	}
	s.AgeBeside(projections.BesidePause)
	if err := beside("usage"); err != nil {
		t.Errorf("later: %v", err)
	}
	s.AgeBeside(projections.BesideIdle)
	for s.AgeBeside(0) { // it is closed by itself
		time.Sleep(poll / 10)
	}
}

// An update with a held generation serves the old one until the operator decides.
func TestHeldGenerationIsNotActivatedAtStart(t *testing.T) {
	s := serve(t, 2, "passages")
	o := s.options
	s.stop()
	if _, err := o.Hold(t.Context(), "passages", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Rebuild(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	set, stop := projectionstest.Serve(t, o)
	projectionstest.UntilServes(t, set.Runner("vault"), 2) // so ready generations were activated
	if got := states(t, o, "passages"); set.Runner("passages").Generation() != 1 || got[control.Held] != 2 {
		t.Errorf("generation %d is active, and the others are %v", set.Runner("passages").Generation(), got)
	}
	if _, err := o.RebuildFromStart(t.Context(), "passages", nil); !fault.Is(err, fault.Conflict) {
		t.Errorf("RebuildFromStart = %v, want Conflict", err)
	}
	stop()

	// Without a server the next rebuild activates it.
	if _, err := o.Rebuild(t.Context(), "passages", nil); err != nil {
		t.Fatal(err)
	}
	if got := states(t, o, "passages"); got[control.Ready] != 2 {
		t.Errorf("the generations are %v, want 2 ready", got)
	}
	if _, err := o.Hold(t.Context(), "passages", nil); !fault.Is(err, fault.Conflict) {
		t.Errorf("Hold beside a ready generation = %v, want Conflict", err)
	}
}

func TestAgedModelStaysWhileOneIsHeld(t *testing.T) {
	s := serve(t, 2, "vault")
	o := s.options
	s.stop()
	// As if the active generation were of an older version that this program can read.
	version := readmodel.Vault{}.Version()
	if err := o.Control.Save(t.Context(), control.Generation{Projection: "vault", Number: 2, Version: version, State: control.Held}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	set, _ := projectionstest.Serve(t, o)
	set.RebuildAged(ctx, readmodel.Vault{})
	if got := states(t, o, "vault"); got[control.Held] != 2 || len(got) != 1 || ctx.Err() != nil {
		t.Errorf("the generations are %v, want 2 held", got)
	}
}

func TestNodesReadHeldGeneration(t *testing.T) {
	t.Parallel()
	log := projectionstest.NewLog(t)
	nodes, _, url := twoNodes(t, log)
	folder, last := projectionstest.ImportDocuments(t, log, 5)
	for _, s := range nodes {
		projectionstest.Wait(t, s.Runner("vault"), last)
	}
	o := projectionstest.NodeOptions(t, log, url)
	held, err := o.Hold(t.Context(), "vault", nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		_, last = projectionstest.ImportDocument(t, log, folder, "lighthouse")
		for i, s := range nodes {
			r, release, err := s.Beside(t.Context(), "vault", held)
			if err != nil {
				t.Fatal(err)
			}
			projectionstest.Wait(t, r, last)
			if got := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM documents`); got != 6+round || r.Err() != nil {
				t.Errorf("round %d: node %d has %d documents (%v), want %d", round, i, got, r.Err(), 6+round)
			}
			release()
		}
	}
	if _, err := o.Rebuild(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes {
		projectionstest.UntilServes(t, s.Runner("vault"), held)
		projectionstest.Wait(t, s.Runner("vault"), last)
	}
}
