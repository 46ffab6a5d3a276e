package turns

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// schedule decides which files are read. It has no clock: callers pass the time.
type schedule struct {
	normal                int // slots
	freeNormal, freeExtra int // slots not in use
	owners                map[string]*owner
	arrivals              int64
}

// owner is an owner of files that are here, or were recently.
type owner struct {
	used     float64   // seconds, without files being read
	at       time.Time // of used
	waiting  []*ticket // in their order
	reading  []*ticket
	ownAgain time.Time // when another file may be tried while its long ones are read
	came     time.Time // when the last file came
}

// ticket is a file that waits for a slot or has one.
type ticket struct {
	*File
	answer chan error
	stop   func()

	of       *owner
	arrived  int64
	since    time.Time // when the wait began
	begun    time.Time // zero while it waits
	extra    bool
	stopping bool
}

// decided has the files that begin and those that are suspended.
type decided struct{ begin, stop []*ticket }

func (s *schedule) add(w *ticket, now time.Time) {
	w.of = s.owners[w.Owner]
	if w.of == nil {
		s.sweep(now)
		w.of = &owner{at: now}
		s.owners[w.Owner] = w.of
	}
	s.arrivals++
	w.of.came = now
	w.arrived, w.since = s.arrivals, now
	i, _ := slices.BinarySearchFunc(w.of.waiting, w, func(a, b *ticket) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.arrived, b.arrived))
	})
	w.of.waiting = slices.Insert(w.of.waiting, i, w)
}

// remove ends a wait or a reading. It does nothing if that has ended already.
func (s *schedule) remove(w *ticket, now time.Time) {
	o := w.of
	if i := slices.Index(o.waiting, w); i >= 0 {
		o.waiting = slices.Delete(o.waiting, i, i+1)
		return
	}
	i := slices.Index(o.reading, w)
	if i < 0 {
		return
	}
	o.reading = slices.Delete(o.reading, i, i+1)
	o.used = decayed(o.used, now.Sub(o.at)) + weight(now.Sub(w.begun))
	o.at = now
	if w.extra {
		s.freeExtra++
	} else {
		s.freeNormal++
	}
}

// sweep forgets owners without files whose use has decayed.
func (s *schedule) sweep(now time.Time) {
	const nothing = 1e-3 // seconds
	for name, o := range s.owners {
		if len(o.waiting)+len(o.reading) == 0 && o.usedAt(now) < nothing && now.Sub(o.came) >= activeFor {
			delete(s.owners, name)
		}
	}
}

// decayed returns how much of a time that was used a while ago still counts.
func decayed(used float64, ago time.Duration) float64 {
	return used * math.Exp2(-ago.Seconds()/HalfLife.Seconds())
}

// weight returns how much a reading adds to the time used. Its earlier parts have decayed
// by its end.
func weight(took time.Duration) float64 {
	return HalfLife.Seconds() / math.Ln2 * (1 - decayed(1, took))
}

// usedAt returns the decayed time that an owner has used, in seconds.
func (o *owner) usedAt(now time.Time) float64 {
	used := decayed(o.used, now.Sub(o.at))
	for _, w := range o.reading {
		used += weight(now.Sub(w.begun))
	}
	return used
}

// next begins files while slots are free, each time one of the owner with the least use,
// and suspends files in extra slots if others need them.
func (s *schedule) next(now time.Time) (d decided) {
	for s.freeNormal > 0 {
		w, lent := s.least(now, first), s.leastLent(now)
		switch {
		case lent != nil && (w == nil || lent.of.usedAt(now) <= w.of.usedAt(now)):
			lent.extra = false
			s.freeNormal--
			s.freeExtra++
		case w != nil:
			d.begin = append(d.begin, s.begin(w, false, now))
		default:
			return d
		}
	}
	for s.freeExtra > 0 {
		w := s.least(now, fresh)
		if w == nil {
			w = s.least(now, again)
		}
		if w == nil {
			w = s.least(now, oneMore)
		}
		if w == nil {
			return d
		}
		d.begin = append(d.begin, s.begin(w, true, now))
	}
	d.stop = s.giveWay(now)
	return d
}

func (s *schedule) begin(w *ticket, extra bool, now time.Time) *ticket {
	o := w.of
	o.waiting = slices.DeleteFunc(o.waiting, func(other *ticket) bool { return other == w })
	o.reading = append(o.reading, w)
	w.begun, w.extra = now, extra
	if extra {
		s.freeExtra--
	} else {
		s.freeNormal--
	}
	return w
}

// least returns the file that choose selects from the owner with the least use, among the
// owners for which it selects one; nil if there are none.
func (s *schedule) least(now time.Time, choose func(*owner, time.Time) *ticket) (best *ticket) {
	var least float64
	for _, o := range s.owners {
		if len(o.waiting) == 0 {
			continue
		}
		w := choose(o, now)
		if w == nil {
			continue
		}
		used := o.usedAt(now)
		if best == nil || used < least || used == least && w.arrived < best.arrived {
			best, least = w, used
		}
	}
	return best
}

// first selects the owner's oldest file.
func first(o *owner, _ time.Time) *ticket { return o.waiting[0] }

// fresh selects the oldest file that was never suspended, if no file of the owner is being
// read.
func fresh(o *owner, _ time.Time) *ticket {
	if len(o.reading) > 0 {
		return nil
	}
	return o.untried()
}

// again selects the oldest file that may be tried in an extra slot, if no file of the owner
// is being read.
func again(o *owner, now time.Time) *ticket {
	if len(o.reading) > 0 {
		return nil
	}
	return find(o.waiting, func(w *ticket) bool { return !now.Before(w.until) })
}

// oneMore selects the oldest file that was never suspended, if all files of the owner that
// are being read take very long.
func oneMore(o *owner, now time.Time) *ticket {
	if now.Before(o.ownAgain) || find(o.reading, func(w *ticket) bool { return w.extra || now.Sub(w.begun) < ownExtraTime }) != nil {
		return nil
	}
	return o.untried()
}

func (o *owner) untried() *ticket {
	return find(o.waiting, func(w *ticket) bool { return w.suspensions == 0 })
}

func find(tickets []*ticket, is func(*ticket) bool) *ticket {
	if i := slices.IndexFunc(tickets, is); i >= 0 {
		return tickets[i]
	}
	return nil
}

// lent returns the files in extra slots that are not being suspended.
func (s *schedule) lent() (all []*ticket) {
	for _, o := range s.owners {
		for _, w := range o.reading {
			if w.extra && !w.stopping {
				all = append(all, w)
			}
		}
	}
	return all
}

// leastLent returns the file in an extra slot whose owner has the least use.
func (s *schedule) leastLent(now time.Time) *ticket {
	all := s.lent()
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *ticket) int {
		return cmp.Or(cmp.Compare(a.of.usedAt(now), b.of.usedAt(now)), cmp.Compare(a.arrived, b.arrived))
	})
}

// giveWay selects the files to suspend, for owners of whom no file is being read or for
// another file of the same owner.
func (s *schedule) giveWay(now time.Time) (stop []*ticket) {
	wanted := 0
	for _, o := range s.owners {
		if len(o.waiting) > 0 && fresh(o, now) != nil {
			wanted++
		}
		for _, w := range o.reading {
			if w.stopping {
				wanted--
			}
		}
	}
	lent := s.lent()
	slices.SortFunc(lent, func(a, b *ticket) int { // the most recent first, which loses the least work
		return cmp.Or(-cmp.Compare(len(a.of.reading), len(b.of.reading)), b.begun.Compare(a.begun), cmp.Compare(a.arrived, b.arrived))
	})
	for _, w := range lent {
		one, long := len(w.of.reading) > 1, now.Sub(w.begun) >= ExtraTime
		switch {
		case wanted > 0 && (one || long):
			wanted--
		case one && long && w.of.untried() != nil:
			w.of.ownAgain = now.Add(ownExtraTime)
		default:
			continue
		}
		w.stopping = true
		w.suspensions++
		w.until = now.Add(min(maxBackoff, ExtraTime<<min(w.suspensions, 10)))
		stop = append(stop, w)
	}
	return stop
}

// busy reports whether files that take long use all normal slots.
func (s *schedule) busy(now time.Time) bool {
	long := 0
	for _, o := range s.owners {
		for _, w := range o.reading {
			if !w.extra && now.Sub(w.begun) >= ExtraTime {
				long++
			}
		}
	}
	return long >= s.normal
}

func (s *schedule) room(name string, held, most int, now time.Time) int {
	active := 1
	for other, o := range s.owners {
		if other != name && now.Sub(o.came) < activeFor {
			active++
		}
	}
	room := max(leastHeld, most/active) - held
	if s.busy(now) {
		waiting := 0
		if o := s.owners[name]; o != nil {
			waiting = len(o.waiting)
		}
		room = min(room, 2*s.normal-waiting)
	}
	return max(0, room)
}

// overdue removes and returns the waiting files that another node should take.
func (s *schedule) overdue(now time.Time, after time.Duration) (all []*ticket) {
	if !s.busy(now) {
		return nil
	}
	for _, o := range s.owners {
		o.waiting = slices.DeleteFunc(o.waiting, func(w *ticket) bool {
			over := w.suspensions == 0 && now.Sub(w.since) >= after
			if over {
				all = append(all, w)
			}
			return over
		})
	}
	return all
}

func (s *schedule) waits() bool {
	for _, o := range s.owners {
		if len(o.waiting) > 0 {
			return true
		}
	}
	return false
}
