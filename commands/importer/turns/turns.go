// Package turns schedules which file is read next. Owners (users with files to import) share
// a few slots by time, not by number of files: a free slot goes to the owner who has
// recently used the least time. The package imports no other package of this module.
//
// A file cannot be paused while it is read, so it may occupy a slot for many minutes. Extra
// slots are therefore reserved for owners who have no file in a slot. If a file has an extra
// slot for longer than extraTime and another such owner waits, the file is suspended, and
// read from the beginning later. So an owner with a few small files does not wait longer if
// others have many or large files.
package turns

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// extraTime is how long a file may keep an extra slot that a file of another owner waits
	// for.
	extraTime = time.Second
	// halfLife is the time after which used slot time counts half.
	halfLife = time.Minute
	// If all files of an owner have been in their slots for ownExtraTime, the owner may get
	// an extra slot, too. After the file in that slot was suspended, the owner must wait for
	// ownExtraTime to get the next extra slot. So at most a tenth of the time is lost by
	// suspensions.
	ownExtraTime = 10 * extraTime
	// maxBackoff limits the pause until a suspended file may get an extra slot again.
	maxBackoff = time.Minute
	// activeFor is how long an owner counts as active in Room after their last file arrived.
	activeFor = 10 * time.Second
	minHeld   = 2 // Room allows each owner this many files, even if many owners are active
	// pollInterval is how often the schedule is checked while files wait. Some decisions
	// depend on time alone.
	pollInterval = 100 * time.Millisecond
)

var (
	// ErrSuspended is the cause of the reading context's end if the file's slot was given to
	// another file.
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
	retryAt     time.Time // the file may get an extra slot again at this time
}

// Turns shares slots between owners. Create it with New.
type Turns struct {
	// RequeueAfter is how long a file may wait while long files occupy all normal slots.
	// Then Begin returns ErrRequeue. 0 means no limit. The limit does not apply to files
	// that were suspended.
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

// Begin waits for a slot. The returned context is for reading the file. It is cancelled with
// the cause ErrSuspended if the slot is given to another file. end frees the slot. The error
// is ErrRequeue or that of ctx.
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

// Room returns how many more files of an owner this process should claim. held is the number
// of the owner's files that it has claimed already. All active owners share limit. While
// long files occupy all normal slots, Room returns less, because another node may have free
// slots.
func (t *Turns) Room(owner string, held, limit int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s.room(owner, held, limit, time.Now())
}

// do calls change, which changes the schedule, and then starts and suspends files as the
// schedule demands.
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
