package turns

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// schedule decides, at times that it is given.
type schedule struct {
	normal                int // places
	freeNormal, freeExtra int // where nobody reads
	owners                map[string]*owner
	arrivals              int64
}

// owner is somebody who has files here, or had lately.
type owner struct {
	used     float64   // seconds, what is in reading left out
	at       time.Time // of used
	waiting  []*ticket // in their order
	reading  []*ticket
	ownAgain time.Time // one more of his own may be tried beside long ones
	came     time.Time // when a file of his came last
}

// ticket is one wait for a place, and then the place.
type ticket struct {
	*File
	answer chan error
	stop   func()

	of       *owner
	arrived  int64
	since    time.Time // of the wait
	begun    time.Time // zero as long as it waits
	extra    bool
	stopping bool
}

// decided are files that begin, and others that have to give way.
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

// remove ends a wait or a reading; it may have ended already.
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

// sweep forgets owners of whom there is nothing left.
func (s *schedule) sweep(now time.Time) {
	const nothing = 1e-3 // seconds
	for name, o := range s.owners {
		if len(o.waiting)+len(o.reading) == 0 && o.usedAt(now) < nothing && now.Sub(o.came) >= activeFor {
			delete(s.owners, name)
		}
	}
}

// decayed is what is left of a time that was used so long ago.
func decayed(used float64, ago time.Duration) float64 {
	return used * math.Exp2(-ago.Seconds()/HalfLife.Seconds())
}

// weight is what a reading adds to the time used, which it does bit by bit: the
// earlier ones have decayed when it ends.
func weight(took time.Duration) float64 {
	return HalfLife.Seconds() / math.Ln2 * (1 - decayed(1, took))
}

// usedAt returns the time that an owner used lately, in seconds.
func (o *owner) usedAt(now time.Time) float64 {
	used := decayed(o.used, now.Sub(o.at))
	for _, w := range o.reading {
		used += weight(now.Sub(w.begun))
	}
	return used
}

// next lets files begin while there are places, each time of the owner who used
// the least.
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

// least returns the file that is chosen of the owner who used the least among
// those of whom one is; nil if there is none.
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

// first is the owner's oldest file.
func first(o *owner, _ time.Time) *ticket { return o.waiting[0] }

// fresh is the oldest file that was never set aside, of an owner who has nothing
// in reading.
func fresh(o *owner, _ time.Time) *ticket {
	if len(o.reading) > 0 {
		return nil
	}
	return o.untried()
}

// again is the oldest file that may be tried again, of such an owner.
func again(o *owner, now time.Time) *ticket {
	if len(o.reading) > 0 {
		return nil
	}
	return find(o.waiting, func(w *ticket) bool { return !now.Before(w.until) })
}

// oneMore is the oldest file that was never set aside, of an owner whose others
// take very long: small ones do not have to wait for those.
func oneMore(o *owner, now time.Time) *ticket {
	if now.Before(o.ownAgain) || find(o.reading, func(w *ticket) bool { return w.extra || now.Sub(w.begun) < ownPatience }) != nil {
		return nil
	}
	return o.untried()
}

func (o *owner) untried() *ticket {
	return find(o.waiting, func(w *ticket) bool { return w.asides == 0 })
}

func find(tickets []*ticket, is func(*ticket) bool) *ticket {
	if i := slices.IndexFunc(tickets, is); i >= 0 {
		return tickets[i]
	}
	return nil
}

// lent returns the files in extra places that were not asked to give way.
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

// leastLent returns that of the owner who used the least.
func (s *schedule) leastLent(now time.Time) *ticket {
	all := s.lent()
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *ticket) int {
		return cmp.Or(cmp.Compare(a.of.usedAt(now), b.of.usedAt(now)), cmp.Compare(a.arrived, b.arrived))
	})
}

// giveWay chooses the files that have to leave extra places, since owners wait
// who have nothing in reading, or the same owner has another to try.
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
	slices.SortFunc(lent, func(a, b *ticket) int { // those first who lose the least
		return cmp.Or(-cmp.Compare(len(a.of.reading), len(b.of.reading)), b.begun.Compare(a.begun), cmp.Compare(a.arrived, b.arrived))
	})
	for _, w := range lent {
		one, long := len(w.of.reading) > 1, now.Sub(w.begun) >= Patience
		switch {
		case wanted > 0 && (one || long):
			wanted--
		case one && long && w.of.untried() != nil:
			w.of.ownAgain = now.Add(ownPatience)
		default:
			continue
		}
		w.stopping = true
		w.asides++
		w.until = now.Add(min(maxBackoff, Patience<<min(w.asides, 10)))
		stop = append(stop, w)
	}
	return stop
}

// busy reports whether all normal places are taken by files that take long.
func (s *schedule) busy(now time.Time) bool {
	long := 0
	for _, o := range s.owners {
		for _, w := range o.reading {
			if !w.extra && now.Sub(w.begun) >= Patience {
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

// overdue ends the waits of files that another node should have.
func (s *schedule) overdue(now time.Time, after time.Duration) (all []*ticket) {
	if !s.busy(now) {
		return nil
	}
	for _, o := range s.owners {
		o.waiting = slices.DeleteFunc(o.waiting, func(w *ticket) bool {
			over := w.asides == 0 && now.Sub(w.since) >= after
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
