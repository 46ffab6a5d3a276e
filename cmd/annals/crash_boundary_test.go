package main

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/events/failpoint"
	"annals/projections"
)

// boundaryTest lets the program die at boundaries between what it makes
// durable, one after the other on one data folder.
type boundaryTest struct {
	*crashTest
	*rand.Rand
	load    *crashLoad // nil before there is any
	renewed int        // read models chosen so far, in turns
}

// boundary is how a process is brought to a point.
type boundary struct {
	point failpoint.Point
	// reach returns when a process that dies at the point, by this setting, has died.
	reach func(b *boundaryTest, setting string)
	most  int  // times that it is reached before it counts; 0 and 1: once
	slow  bool // it takes more than ten seconds
}

// boundaries are in an order in which each can be reached: what is made once
// is made when everything before it was.
var boundaries = []boundary{
	{point: failpoint.LogPrepared, reach: (*boundaryTest).starting},
	{point: failpoint.LogCreated, reach: (*boundaryTest).starting},
	{point: failpoint.OriginalsFolder, reach: (*boundaryTest).starting, most: 256},
	{point: failpoint.ControlOpened, reach: (*boundaryTest).starting},
	{point: failpoint.LeasesReleased, reach: (*boundaryTest).starting},
	{point: failpoint.TablesCreated, reach: (*boundaryTest).starting},
	{point: failpoint.IndexOpened, reach: (*boundaryTest).starting},
	{point: failpoint.GenerationCreated, reach: (*boundaryTest).starting},
	{point: failpoint.GenerationRecorded, reach: (*boundaryTest).starting},
	{point: failpoint.AccountsFileCreated, reach: (*boundaryTest).starting},
	{point: failpoint.AccountsCreated, reach: (*boundaryTest).starting},
	{point: failpoint.UserCreated, reach: (*boundaryTest).starting},
	{point: failpoint.KeyCreated, reach: (*boundaryTest).signingIn},
	{point: failpoint.AddressesWritten, reach: (*boundaryTest).starting},
	{point: failpoint.LeasesForgotten, reach: (*boundaryTest).starting},
	{point: failpoint.StagingSwept, reach: (*boundaryTest).sweepingStaged},
	{point: failpoint.OriginalStaged, reach: (*boundaryTest).serving, most: 5},
	{point: failpoint.OriginalsSynced, reach: (*boundaryTest).serving, most: 5},
	{point: failpoint.OriginalPlaced, reach: (*boundaryTest).serving, most: 10},
	{point: failpoint.OriginalsDurable, reach: (*boundaryTest).serving, most: 5},
	{point: failpoint.EventsInserted, reach: (*boundaryTest).serving, most: 20},
	{point: failpoint.EventsCommitted, reach: (*boundaryTest).serving, most: 20},
	{point: failpoint.JobStarted, reach: (*boundaryTest).importingMany, most: 2},
	{point: failpoint.FileClaimed, reach: (*boundaryTest).serving, most: 10},
	{point: failpoint.TextExtracted, reach: (*boundaryTest).serving, most: 10},
	{point: failpoint.TextAppended, reach: (*boundaryTest).serving, most: 10},
	{point: failpoint.FolderReady, reach: (*boundaryTest).serving},
	{point: failpoint.TextEnded, reach: (*boundaryTest).serving, most: 10},
	{point: failpoint.DocumentFiled, reach: (*boundaryTest).serving, most: 10},
	{point: failpoint.DocumentRevised, reach: (*boundaryTest).serving},
	{point: failpoint.DocumentReplaced, reach: (*boundaryTest).serving},
	{point: failpoint.FileFinished, reach: (*boundaryTest).serving, most: 10},
	{point: failpoint.FileFailed, reach: (*boundaryTest).serving},
	{point: failpoint.EventsApplied, reach: (*boundaryTest).serving, most: 20},
	{point: failpoint.BatchCommitted, reach: (*boundaryTest).serving, most: 20},
	{point: failpoint.IndexBehind, reach: (*boundaryTest).serving, most: 3},
	{point: failpoint.IndexAhead, reach: (*boundaryTest).serving, most: 3},
	{point: failpoint.PassagesDeleted, reach: (*boundaryTest).serving},
	{point: failpoint.IndexRecorded, reach: (*boundaryTest).serving, most: 3},
	{point: failpoint.LabelsBehind, reach: (*boundaryTest).serving},
	{point: failpoint.LabelsRecorded, reach: (*boundaryTest).serving},
	{point: failpoint.FileReleased, reach: (*boundaryTest).ending},
	{point: failpoint.RebuildClaimed, reach: (*boundaryTest).rebuilding},
	{point: failpoint.RebuildStarted, reach: (*boundaryTest).rebuilding},
	{point: failpoint.BatchCommitted, reach: (*boundaryTest).rebuilding},
	{point: failpoint.RebuildFilled, reach: (*boundaryTest).rebuilding},
	{point: failpoint.RebuildReady, reach: (*boundaryTest).rebuilding},
	{point: failpoint.RebuildReleased, reach: (*boundaryTest).rebuilding},
	{point: failpoint.CutOverReady, reach: (*boundaryTest).takingOver},
	{point: failpoint.CutOver, reach: (*boundaryTest).takingOver},
	{point: failpoint.CutOver, reach: (*boundaryTest).rebuildingAlone},
	{point: failpoint.GenerationRemoved, reach: (*boundaryTest).takingOver, most: 4},
	{point: failpoint.GenerationForgotten, reach: (*boundaryTest).takingOver},
	{point: failpoint.RollbackReady, reach: (*boundaryTest).goingBack},
	{point: failpoint.GenerationRecorded, reach: (*boundaryTest).replacingDamaged},
	{point: failpoint.GenerationAbandoned, reach: (*boundaryTest).refusingDamaged},
	{point: failpoint.ModelDiscarded, reach: (*boundaryTest).discarding},
	{point: failpoint.StreamsRemoved, reach: (*boundaryTest).compacting},
	{point: failpoint.RemovalCommitted, reach: (*boundaryTest).compacting},
	{point: failpoint.LogShrunk, reach: (*boundaryTest).compacting},
	{point: failpoint.LeaseRenewed, reach: (*boundaryTest).serving, slow: true},
	{point: failpoint.OriginalRemoved, reach: (*boundaryTest).sweepingOriginals, slow: true},
	{point: failpoint.FileStarted, reach: (*boundaryTest).importingLong}, // at last: a file whose reading is ended thrice is given up
}

// sampledBoundaries is how many boundaries are tried if ANNALS_CRASH_ROUNDS does not
// ask for all.
const sampledBoundaries = 20

// TestCrashAtEveryBoundary holds what TestCrashWhileImporting does, with a
// program that dies at every boundary between two things that it makes
// durable. ANNALS_CRASH_SEED repeats the choices of an earlier run.
func TestCrashAtEveryBoundary(t *testing.T) {
	if !failpoint.Enabled {
		t.Skip("needs a build with -tags failpoint, as by make test and make crash")
	}
	seed := rand.Uint64()
	if text := os.Getenv("ANNALS_CRASH_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("ANNALS_CRASH_SEED is %q, want a number", text)
		}
	}
	t.Logf("ANNALS_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const killsEach = 10 // of TestCrashWhileImporting, for once through all boundaries
	for range max(1, crashRounds(t)/killsEach) {
		b := &boundaryTest{crashTest: newCrashTest(t), Rand: random}
		b.through(b.choose(crashRounds(t) > 0))
	}
}

func TestEveryFailpointIsABoundary(t *testing.T) {
	for _, p := range failpoint.All {
		if !slices.ContainsFunc(boundaries, func(b boundary) bool { return b.point == p }) {
			t.Errorf("nothing brings the program to die at %s", p)
		}
	}
}

// choose returns boundaries, in their order.
func (b *boundaryTest) choose(all bool) (chosen []boundary) {
	if all {
		return boundaries
	}
	places := slices.DeleteFunc(b.Perm(len(boundaries)), func(i int) bool { return boundaries[i].slow })
	places = places[:sampledBoundaries]
	slices.Sort(places)
	for _, i := range places {
		chosen = append(chosen, boundaries[i])
	}
	return chosen
}

// through lets the program die at boundaries, and then looks for losses.
func (b *boundaryTest) through(chosen []boundary) {
	b.Helper()
	b.down.Lock() // there is no server between two boundaries
	b.Cleanup(b.abandon)
	for _, at := range chosen {
		setting := fmt.Sprintf("%s:%d", at.point, 1+b.IntN(max(1, at.most)))
		begun := time.Now()
		at.reach(b, failpoint.Variable+"="+setting)
		b.Logf("died at %s after %s", setting, time.Since(begun).Round(time.Millisecond))
	}
	b.loaded()
	b.serve("")
	b.load.end()
	if len(chosen) == len(boundaries) { // it takes a while
		if out, err := b.program("rebuild", "--all").CombinedOutput(); err != nil {
			b.Errorf("rebuild, going on with what was begun: %v\n%s", err, out)
		}
	}
	b.wantJobsEnded(b.wantSoundLog())
	for id, times := range b.wantSoundLog().jobs {
		if times != 1 {
			b.Errorf("job %s is finished %d times in the log, want once", id, times)
		}
	}
	b.load.want()
	if err := b.server.end(os.Interrupt); err != nil {
		b.Error(err)
	}
	if out, err := verified(b.T, b.data); err != nil || strings.Contains(out, "not compared") {
		b.Errorf("verify: %v\n%s", err, out)
	}
	b.down.Lock()
	b.wantNothingLeft()
}

// wantNothingLeft checks that no crash has left a generation that nobody knows
// of, and so nobody would delete.
func (b *boundaryTest) wantNothingLeft() {
	b.Helper()
	db, err := sql.Open("sqlite", filepath.Join(b.data, "control.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	known, err := projections.Column(b.Context(), db, `SELECT projection || '-' || generation FROM generations
		UNION ALL SELECT projection || '-' || generation FROM spares`)
	if err != nil {
		b.Fatal(err)
	}
	tables, errTables := filepath.Glob(filepath.Join(b.data, "read-models", "*.db"))
	indexes, errIndexes := filepath.Glob(filepath.Join(b.data, "search", "passages-*"))
	if err := errors.Join(errTables, errIndexes); err != nil {
		b.Fatal(err)
	}
	for _, path := range append(tables, indexes...) {
		if name := strings.TrimSuffix(filepath.Base(path), ".db"); !slices.Contains(known, name) {
			b.Errorf("%s is left of a crash; known are %v", path, known)
		}
	}
	if left, err := filepath.Glob(filepath.Join(b.data, "urls.json?*")); err != nil || len(left) > 0 {
		b.Errorf("%v are left of a crash (%v)", left, err)
	}
}

// abandon ends what a test that failed leaves.
func (b *boundaryTest) abandon() {
	if b.server != nil {
		_ = b.server.end(os.Kill)
	}
	b.down.TryLock()
	b.down.Unlock()
	if b.load != nil {
		b.load.cancel()
		_ = b.load.clients.Wait() // it has reported the error
	}
}

// wantKilled fails the test unless a process was killed.
func (b *boundaryTest) wantKilled(err error, setting string) {
	b.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() >= 0 {
		b.Fatalf("with %s the process ends with %v, want it killed", setting, err)
	}
}

// serve starts the server and lets the clients at it. With a setting it may
// die before.
func (b *boundaryTest) serve(setting string) (serves bool) {
	b.Helper()
	var env []string
	if setting != "" {
		env = []string{setting}
	}
	if err := b.tryStart(env...); err != nil {
		b.wantKilled(err, setting)
		return false
	}
	b.down.Unlock()
	return true
}

// dead waits until the server has died as it was to.
func (b *boundaryTest) dead(setting string) {
	b.Helper()
	b.wantKilled(b.ends(setting), setting)
}

// ends waits for the server's end and returns its exit status's error.
func (b *boundaryTest) ends(setting string) error {
	b.Helper()
	var failed <-chan struct{}
	if b.load != nil {
		failed = b.load.ctx.Done()
	}
	select {
	case <-b.server.drained:
	case <-failed:
		b.Fatalf("while %s was waited for a client failed: %v", setting, b.load.clients.Wait())
	case <-time.After(3 * time.Minute): // originals are swept after one, which make crash alone waits for
		b.Fatalf("the server did not come to %s", setting)
	}
	b.down.Lock()
	return b.server.command.Wait()
}
