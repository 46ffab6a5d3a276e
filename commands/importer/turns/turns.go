// Package turns schedules which file is read next. Owners share a few slots by the time
// they use, not by files: a free slot goes to the owner with the least recent use. It
// imports no other package of this module.
//
// Reading cannot be interrupted and resumed, so a slot may be in use for many minutes.
// Extra slots are reserved for owners of whom no file is being read. A file that is in an
// extra slot for longer than ExtraTime is suspended if another such owner waits, and read
// from the beginning later. So the wait of an owner with a few small files depends neither
// on the number nor on the size of other owners' files.
package turns

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// ExtraTime is how long a file keeps an extra slot that another owner waits for.
	ExtraTime = time.Second
	// HalfLife is the half-life of the time that an owner has used.
	HalfLife = time.Minute
	// ownExtraTime is how long all files of an owner must have been read until another
	// one is tried in an extra slot, and the pause after one was suspended. So
	// suspensions cost an owner at most a tenth of the time.
	ownExtraTime = 10 * ExtraTime
	// maxBackoff bounds the pause until a suspended file gets an extra slot again.
	maxBackoff = time.Minute
	// activeFor is how long after its last file an owner counts as active in Room.
	activeFor = 10 * time.Second
	leastHeld = 2 // files of one owner, however many owners are active
	// lookEvery is how often the schedule is checked while files wait, because some
	// decisions depend on time alone.
	lookEvery = 100 * time.Millisecond
)

var (
	// ErrSuspended is the cause when the context of a reading is cancelled because it
	// has to give way to others.
	ErrSuspended = errors.New("reading the file was suspended for files of others; it is read later")
	// ErrGiveBack means that a file has waited too long here, and another node should
	// take it.
	ErrGiveBack = errors.New("the file waited too long for its turn here")
)

// extraSlots returns the number of extra slots for a number of normal ones.
func extraSlots(normal int) int { return max(1, normal/4) }

// Readers returns how many files may be read at once with a number of normal slots.
func Readers(normal int) int { return normal + extraSlots(normal) }

// File is a file that waits for its turn or is being read. The caller keeps it
// between attempts.
type File struct {
	Owner string
	Order int64 // among the owner's files: the least comes first

	suspensions int       // so far
	until       time.Time // when it may get an extra slot again
}

// Turns shares slots between owners. Create it with New.
type Turns struct {
	// GiveBackAfter is how long a file that was never suspended waits while all
	// normal slots are used by files that take long; 0 means for ever.
	GiveBackAfter time.Duration

	mu    sync.Mutex
	s     schedule
	timer *time.Timer // while files wait
}

// New returns Turns with a number of normal slots.
func New(slots int) *Turns {
	return &Turns{s: schedule{
		normal: slots, freeNormal: slots, freeExtra: extraSlots(slots),
		owners: make(map[string]*owner),
	}}
}

// Begin waits for the file's turn. The context that it returns is for the reading, and is
// cancelled with the cause ErrSuspended if others need the slot. end frees the slot. The
// error is ErrGiveBack or that of ctx.
func (t *Turns) Begin(ctx context.Context, f *File) (reading context.Context, end func(), err error) {
	reading, cancel := context.WithCancelCause(ctx)
	w := &ticket{File: f, answer: make(chan error, 1), stop: func() { cancel(ErrSuspended) }}
	t.do(func(now time.Time) { t.s.add(w, now) })
	select {
	case err = <-w.answer:
	case <-ctx.Done():
		err = ctx.Err()
		t.do(func(now time.Time) { t.s.remove(w, now) })
	}
	if err != nil {
		cancel(err)
		return nil, nil, err
	}
	return reading, func() {
		t.do(func(now time.Time) { t.s.remove(w, now) })
		cancel(nil)
	}, nil
}

// Room returns how many more files of an owner should be claimed. held of them are here
// already. The owner may have most if no other owner is active; active owners share that
// number. While all files being read take long, Room is small, because another node may
// be free for the files.
func (t *Turns) Room(owner string, held, most int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s.room(owner, held, most, time.Now())
}

// do changes the schedule and then starts and suspends files.
func (t *Turns) do(change func(now time.Time)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	change(now)
	t.look(now)
}

func (t *Turns) look(now time.Time) {
	d := t.s.next(now)
	for _, w := range d.begin {
		w.answer <- nil
	}
	for _, w := range d.stop {
		w.stop()
	}
	if t.GiveBackAfter > 0 {
		for _, w := range t.s.overdue(now, t.GiveBackAfter) {
			w.answer <- ErrGiveBack
		}
	}
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if t.s.waits() {
		t.timer = time.AfterFunc(lookEvery, func() { t.do(func(time.Time) {}) })
	}
}
