package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// read reads a file, which takes the time takes and starts from the beginning after each
// suspension. It returns how long the file waited for its first slot.
func read(t *testing.T, turns *Turns, f *File, takes time.Duration) (waited time.Duration) {
	came := time.Now()
	for tries := 0; ; tries++ {
		reading, end, err := turns.Begin(t.Context(), f)
		if err != nil {
			t.Errorf("Begin of a file of %s: %v", f.Owner, err)
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
				t.Errorf("the context ended with cause %v, want ErrSuspended", cause)
			}
			end()
		}
	}
}

func TestSuspendedFileIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(2)
		var all sync.WaitGroup
		for n := range 2 {
			all.Go(func() { read(t, turns, &File{Owner: "long", Order: int64(n)}, 10*time.Minute) })
		}
		synctest.Wait()
		for _, owner := range []string{"one", "other", "third"} {
			all.Go(func() {
				if waited := read(t, turns, &File{Owner: owner}, 5*time.Second); waited > 2*extraTime+2*pollInterval {
					t.Errorf("the file of %s waited for %v", owner, waited)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if turns.s.freeNormal != 2 || turns.s.freeExtra != 1 || turns.timer != nil {
			t.Errorf("%d normal slots and %d extra ones are free in the end, want 2 and 1, and no timer", turns.s.freeNormal, turns.s.freeExtra)
		}
	})
}

func TestBeginHonoursContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		_, end, err := turns.Begin(t.Context(), &File{Owner: "one"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := turns.Begin(ctx, &File{Owner: "one"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Begin: %v, want deadline exceeded", err)
		}
		end()
		if turns.s.hasWaiting() || turns.s.freeNormal != 1 {
			t.Error("the cancelled file still waits")
		}
	})
}

func TestRequeueBehindLongFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(2)
		turns.RequeueAfter = 5 * time.Second
		for range 2 {
			_, end, err := turns.Begin(t.Context(), &File{Owner: "one"})
			if err != nil {
				t.Fatal(err)
			}
			defer end()
		}
		if room := turns.Room("one", 0, 16); room != 16 {
			t.Errorf("Room before any file takes long = %d, want 16", room)
		}
		begun := time.Now()
		if _, _, err := turns.Begin(t.Context(), &File{Owner: "one"}); !errors.Is(err, ErrRequeue) {
			t.Errorf("Begin: %v, want ErrRequeue", err)
		}
		if waited := time.Since(begun); waited < 5*time.Second || waited > 6*time.Second {
			t.Errorf("Begin failed after %v, want 5s", waited)
		}
		if one, other := turns.Room("one", 0, 16), turns.Room("other", 0, 16); one != 4 || other != 4 {
			t.Errorf("Room behind long files = %d and %d, want 4", one, other)
		}
	})
}

func TestActiveOwnersShareRoom(t *testing.T) {
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
			t.Errorf("Room for one of four owners = %d, %d with three files and %d with nine; want 4, 1 and 0", none, some, all)
		}
		time.Sleep(activeFor)
		if room := turns.Room("one", 0, 16); room != 16 {
			t.Errorf("Room after %v without files of others = %d, want 16", activeFor, room)
		}
	})
}
