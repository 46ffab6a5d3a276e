// Package turns schedules which file is read next. Owners share a few slots by time, not by
// number of files: a free slot goes to the owner who has recently used the least time. It
// imports no other package of this module.
//
// A file cannot be paused while it is read, so it may occupy a slot for many minutes. Extra
// slots are therefore reserved for owners who have no file in a slot. A file in an extra
// slot is suspended after extraTime if another such owner waits, and read from the beginning
// later. So an owner with a few small files does not wait longer if others have many or
// large files.
package turns

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// extraTime is how long a file may keep an extra slot that another owner waits for.
	extraTime = time.Second
	// halfLife is the half-life of the time that an owner has used.
	halfLife = time.Minute
	// ownExtraTime is how long all files of an owner must have been in their slots before
	// the owner also gets an extra slot. After a file in such a slot was suspended, the
	// owner waits as long for the next one. This limits the time lost by suspensions to a
	// tenth.
	ownExtraTime = 10 * extraTime
	// maxBackoff limits the pause until a suspended file may get an extra slot again.
	maxBackoff = time.Minute
	// activeFor is how long an owner counts as active in Room after their last file came.
	activeFor = 10 * time.Second
	minHeld   = 2 // files of each owner that Room allows, however many owners are active
	// pollInterval is how often the schedule is checked while files wait. Some decisions
	// depend on time alone.
	pollInterval = 100 * time.Millisecond
)

var (
	// ErrSuspended is the cause of the context if a file lost its slot to another owner's.
	ErrSuspended = errors.New("reading the file was suspended for another user's file; it will be read again later")
	// ErrRequeue means that a file has waited too long, and another node should read it.
	ErrRequeue = errors.New("the file waited too long for a slot on this node; another node may read it")
)

// extraSlots returns the number of extra slots for a number of normal ones.
func extraSlots(normal int) int { return max(1, normal/4) }

// Readers returns the number of slots, including extra ones, for a number of normal slots.
func Readers(normal int) int { return normal + extraSlots(normal) }

// File is a file that waits for a slot or has one. Use the same File for every attempt.
type File struct {
	Owner string
	Order int64 // among the owner's files: the lowest is read first

	suspensions int
	retryAt     time.Time // when it may get an extra slot again
}

// Turns shares slots between owners. Create it with New.
type Turns struct {
	// RequeueAfter is how long a file that was never suspended waits, while long files
	// occupy all normal slots, until Begin returns ErrRequeue; 0 means no limit.
	RequeueAfter time.Duration

	mu    sync.Mutex
	s     schedule
	timer *time.Timer // set while files wait
}

// New returns Turns with a number of normal slots.
func New(slots int) *Turns {
	return &Turns{s: schedule{
		normal: slots, freeNormal: slots, freeExtra: extraSlots(slots),
		owners: make(map[string]*owner),
	}}
}

// Begin waits for a slot. The returned context is for reading the file; it is cancelled with
// the cause ErrSuspended if another owner needs the slot. end frees the slot. The error is
// ErrRequeue or that of ctx.
func (t *Turns) Begin(ctx context.Context, f *File) (reading context.Context, end func(), err error) {
	reading, cancel := context.WithCancelCause(ctx)
	w := &ticket{File: f, result: make(chan error, 1), stop: func() { cancel(ErrSuspended) }}
	t.do(func(now time.Time) { t.s.add(w, now) })
	select {
	case err = <-w.result:
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

// Room returns how many more files of an owner should be claimed, if held of them are
// claimed already. All active owners share limit. While long files occupy all slots, Room
// returns less, because another node may have free slots.
func (t *Turns) Room(owner string, held, limit int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s.room(owner, held, limit, time.Now())
}

// do changes the schedule, and then starts and suspends files accordingly.
func (t *Turns) do(change func(now time.Time)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	change(now)
	t.dispatch(now)
}

func (t *Turns) dispatch(now time.Time) {
	d := t.s.next(now)
	for _, w := range d.begin {
		w.result <- nil
	}
	for _, w := range d.stop {
		w.stop()
	}
	if t.RequeueAfter > 0 {
		for _, w := range t.s.overdue(now, t.RequeueAfter) {
			w.result <- ErrRequeue
		}
	}
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if t.s.hasWaiting() {
		t.timer = time.AfterFunc(pollInterval, func() { t.do(func(time.Time) {}) })
	}
}
