// Package turns decides whose file is read next. A few places are shared by
// time used, not by files: a place that comes free goes to the owner who used
// the least of them lately. It imports nothing of ours.
//
// Reading cannot be interrupted and gone on with, so a place may be taken for
// many minutes. Places beside the normal ones keep others from waiting so long:
// an owner who has nothing in reading begins in one of those at once. Whoever
// stays there for longer than Patience gives way to the next such owner: his
// file is set aside, and read from the beginning when there is a place again.
// So the wait of an owner with a few small files depends neither on how many
// files others have nor on how long those take.
package turns

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// Patience is how long a file is left in an extra place that another owner
	// waits for.
	Patience = time.Second
	// HalfLife is the time after which half of what an owner used is forgotten.
	HalfLife = time.Minute
	// ownPatience is how long an owner's files have to be in reading until one
	// more of his own is tried in an extra place, and how long it takes until the
	// next is, after one was set aside. So he loses a tenth of his time at most.
	ownPatience = 10 * Patience
	// maxBackoff bounds how long a file that was set aside leaves extra places alone.
	maxBackoff = time.Minute
	// activeFor is how long an owner of whom a file came counts as one who needs
	// the service to answer quickly: what else is done for files, which is bounded
	// by no places, is shared with him.
	activeFor = 10 * time.Second
	leastHeld = 2 // files of an owner who shares with however many
	// lookEvery is how often waiting files are looked at for what comes with
	// time alone.
	lookEvery = 100 * time.Millisecond
)

var (
	// ErrSetAside is the cause with which the context of a reading ends that has
	// to give way to others.
	ErrSetAside = errors.New("the file was set aside, to be read later")
	// ErrGiveBack says that a file has waited so long that another node should
	// have it.
	ErrGiveBack = errors.New("the file waited too long for its turn here")
)

// extraPlaces returns how many places there are beside so many normal ones.
func extraPlaces(normal int) int { return max(1, normal/4) }

// Readers returns how many files may be in reading at once, where there are so
// many normal places.
func Readers(normal int) int { return normal + extraPlaces(normal) }

// File is a file that waits for its turn or is being read. Its owner keeps it
// between tries.
type File struct {
	Owner string
	Order int64 // among the owner's files: the least comes first

	asides int       // how often it was set aside
	until  time.Time // until then it leaves extra places to others
}

// Turns shares places. Make it by New.
type Turns struct {
	// GiveBackAfter is how long a file that was never in reading waits while all
	// places are taken by long ones; 0: for ever.
	GiveBackAfter time.Duration

	mu    sync.Mutex
	s     schedule
	timer *time.Timer // while files wait
}

// New returns the turns of so many normal places.
func New(places int) *Turns {
	return &Turns{s: schedule{
		normal: places, freeNormal: places, freeExtra: extraPlaces(places),
		owners: make(map[string]*owner),
	}}
}

// Begin waits for the file's turn. The context that it returns is for the
// reading, and ends with the cause ErrSetAside if others need the place; end
// gives the place back. It is ErrGiveBack, or the context's own error, if the
// turn did not come.
func (t *Turns) Begin(ctx context.Context, f *File) (reading context.Context, end func(), err error) {
	reading, cancel := context.WithCancelCause(ctx)
	w := &ticket{File: f, answer: make(chan error, 1), stop: func() { cancel(ErrSetAside) }}
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

// Room returns how many more files of an owner should be claimed: he has held of
// them here, and may have most if he is the only one. All who are active share
// these places. They are few while all that are read take long: another node may
// be free for the files.
func (t *Turns) Room(owner string, held, most int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s.room(owner, held, most, time.Now())
}

// do changes the schedule and lets begin what may then.
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
