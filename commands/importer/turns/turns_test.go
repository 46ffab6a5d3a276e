package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// read reads a file for a time, again when it was suspended, and returns how
// long it waited at first.
func read(t *testing.T, turns *Turns, f *File, takes time.Duration) (waited time.Duration) {
	came := time.Now()
	for tries := 0; ; tries++ {
		reading, end, err := turns.Begin(t.Context(), f)
		if err != nil {
			t.Errorf("a file of %s: %v", f.Owner, err)
			return 0
		}
		if tries == 0 {
			waited = time.Since(came)
		}
		select {
		case <-time.After(takes):
			end()
			return waited
		case <-reading.Done():
			if cause := context.Cause(reading); cause != ErrSuspended {
				t.Errorf("a reading ended with %v", cause)
			}
			end()
		}
	}
}

func TestPreemptedReadingIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(2)
		var all sync.WaitGroup
		for n := range 2 {
			all.Go(func() { read(t, turns, &File{Owner: "heavy", Order: int64(n)}, 10*time.Minute) })
		}
		synctest.Wait()
		for _, owner := range []string{"one", "other", "third"} {
			all.Go(func() {
				if waited := read(t, turns, &File{Owner: owner}, 5*time.Second); waited > 2*ExtraTime+2*lookEvery {
					t.Errorf("%s waited for %v", owner, waited)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if turns.s.freeNormal != 2 || turns.s.freeExtra != 1 || turns.timer != nil {
			t.Errorf("%d places and %d extra ones are free in the end", turns.s.freeNormal, turns.s.freeExtra)
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		_, end, err := turns.Begin(t.Context(), &File{Owner: "one"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := turns.Begin(ctx, &File{Owner: "one"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Begin = %v", err)
		}
		end()
		if turns.s.waits() || turns.s.freeNormal != 1 {
			t.Error("a wait that ended goes on")
		}
	})
}

func TestGiveBackBehindLongFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(2)
		turns.GiveBackAfter = 5 * time.Second
		for range 2 {
			_, end, err := turns.Begin(t.Context(), &File{Owner: "one"})
			if err != nil {
				t.Fatal(err)
			}
			defer end()
		}
		if room := turns.Room("one", 0, 16); room != 16 {
			t.Errorf("there is room for %d while nothing is known to take long, want 16", room)
		}
		begun := time.Now()
		if _, _, err := turns.Begin(t.Context(), &File{Owner: "one"}); !errors.Is(err, ErrGiveBack) {
			t.Errorf("Begin = %v", err)
		}
		if waited := time.Since(begun); waited < 5*time.Second || waited > 6*time.Second {
			t.Errorf("a file was given back after %v", waited)
		}
		if one, other := turns.Room("one", 0, 16), turns.Room("other", 0, 16); one != 4 || other != 4 {
			t.Errorf("there is room for %d and %d behind files that take long, want 4", one, other)
		}
	})
}

func TestActiveOwnersShareFilesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(2)
		for _, owner := range []string{"one", "other", "third", "fourth"} {
			_, end, err := turns.Begin(t.Context(), &File{Owner: owner})
			if err != nil {
				t.Fatal(err)
			}
			end()
		}
		if none, some, all := turns.Room("one", 0, 16), turns.Room("one", 3, 16), turns.Room("one", 9, 16); none != 4 || some != 1 || all != 0 {
			t.Errorf("of four owners one has room for %d files, %d beside three and %d beside nine, want 4, 1, 0", none, some, all)
		}
		time.Sleep(activeFor)
		if room := turns.Room("one", 0, 16); room != 16 {
			t.Errorf("after %v without files of others there is room for %d, want 16", activeFor, room)
		}
	})
}
