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

// boundaryTest kills the program at each failpoint, one after another on the same data
// folder.
type boundaryTest struct {
	*crashTest
	*rand.Rand
	load    *crashLoad // nil until the clients are started
	renewed int        // number of calls of model, which returns each read model in turn
}

// boundary is a failpoint, and how to make a process reach it.
type boundary struct {
	point failpoint.Point
	// reach makes a process reach the failpoint, and returns after the process was
	// killed there. setting is the environment variable VARIABLE=POINT:N, which kills a
	// process when it passes the failpoint for the Nth time.
	reach func(b *boundaryTest, setting string)
	most  int  // maximum N of setting, chosen at random; 0 means 1
	slow  bool // true if reach takes more than ten seconds
}

// boundaries are tried in this order. Steps that a data folder passes only one time
// come after the steps that they need.
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
	{point: failpoint.FileStarted, reach: (*boundaryTest).importingLong}, // must be last, because the server gives up a file after reading it was interrupted three times
}

// sampledBoundaries is the number of boundaries that are tried unless
// ANNALS_CRASH_ROUNDS is set.
const sampledBoundaries = 20

// TestCrashAtEveryBoundary checks the same as TestCrashWhileImporting, but kills the
// program at failpoints, the boundaries between two durable steps: at all of them if
// ANNALS_CRASH_ROUNDS is set, else at a random sample. ANNALS_CRASH_SEED repeats the
// choices of an earlier run.
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
	const killsEach = 10 // all boundaries are tried one time for this many rounds of TestCrashWhileImporting
	for range max(1, crashRounds(t)/killsEach) {
		b := &boundaryTest{crashTest: newCrashTest(t), Rand: random}
		b.through(b.choose(crashRounds(t) > 0))
	}
}

func TestEveryFailpointIsABoundary(t *testing.T) {
	for _, p := range failpoint.All {
		if !slices.ContainsFunc(boundaries, func(b boundary) bool { return b.point == p }) {
			t.Errorf("no boundary reaches the failpoint %s", p)
		}
	}
}

// choose returns all boundaries, or a random sample of those that are not slow, in the
// order of boundaries.
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

// through kills the program at each of the boundaries, and then checks that nothing was
// lost.
func (b *boundaryTest) through(chosen []boundary) {
	b.Helper()
	b.down.Lock() // between two boundaries no server runs, and clients wait for this lock
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
	if len(chosen) == len(boundaries) { // not for a sample, because this takes long
		if out, err := b.program("rebuild", "--all").CombinedOutput(); err != nil {
			b.Errorf("rebuild after an interruption: %v\n%s", err, out)
		}
	}
	b.wantJobsEnded(b.wantSoundLog())
	for id, times := range b.wantSoundLog().jobs {
		if times != 1 {
			b.Errorf("JobFinished of job %s: got %d events, want 1", id, times)
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

// wantNothingLeft checks that the crashes left no generation files that the control
// store does not list, because no process would ever delete them, and no temporary
// files.
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
			b.Errorf("%s is left after a crash, want only the generations %v", path, known)
		}
	}
	if left, err := filepath.Glob(filepath.Join(b.data, "urls.json?*")); err != nil || len(left) > 0 {
		b.Errorf("files left after a crash: got %v (%v), want none", left, err)
	}
}

// abandon kills the server and stops the clients. It cleans up after a failed test.
func (b *boundaryTest) abandon() {
	if b.server != nil {
		_ = b.server.end(os.Kill)
	}
	b.down.TryLock()
	b.down.Unlock()
	if b.load != nil {
		b.load.cancel()
		_ = b.load.clients.Wait() // the error was already reported
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

// serve starts the server and lets the waiting clients call it. If setting is not "",
// it is the environment variable that makes the server kill itself at a failpoint (see
// boundary.reach). serve returns false if that happened before the server was ready.
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

// dead waits until the server has been killed at the failpoint in setting.
func (b *boundaryTest) dead(setting string) {
	b.Helper()
	b.wantKilled(b.ends(setting), setting)
}

// ends waits until the server process has ended, and returns the error of its exit
// status.
func (b *boundaryTest) ends(setting string) error {
	b.Helper()
	var failed <-chan struct{}
	if b.load != nil {
		failed = b.load.ctx.Done()
	}
	select {
	case <-b.server.drained:
	case <-failed:
		b.Fatalf("a client failed while waiting for %s: %v", setting, b.load.clients.Wait())
	case <-time.After(3 * time.Minute): // unused originals are swept only after a minute, which only make crash waits for
		b.Fatalf("the server did not come to %s", setting)
	}
	b.down.Lock()
	return b.server.command.Wait()
}
