package turns

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// schedule assigns slots to files. It does not read the clock: callers pass the time.
type schedule struct {
	normal                int // number of normal slots
	freeNormal, freeExtra int // slots without a file
	owners                map[string]*owner
	arrivals              int64 // files added so far
}

// owner is a user who has files, or recently had some.
type owner struct {
	used      float64   // slot time in seconds, decayed; excludes the files that are in slots now
	usedAsOf  time.Time // time of used
	waiting   []*ticket // in the order in which they are to be read
	reading   []*ticket // files in slots
	nextExtra time.Time // oneMore chooses no file of this owner before this time
	lastCame  time.Time // when the last file was added
}

// ticket is a file that waits for a slot, or has one.
type ticket struct {
	*File
	result chan error // receives nil when the file gets a slot, or else the error
	stop   func()     // suspends the file

	owner    *owner
	arrived  int64     // sequence number, in order of arrival
	since    time.Time // when the wait began
	begun    time.Time // when the file got its slot; zero before
	extra    bool      // the file has an extra slot
	stopping bool      // stop was called
}

// decision is which files get a slot and which are suspended.
type decision struct{ begin, stop []*ticket }

func (s *schedule) add(w *ticket, now time.Time) {
	w.owner = s.owners[w.Owner]
	if w.owner == nil {
		s.sweep(now)
		w.owner = &owner{usedAsOf: now}
		s.owners[w.Owner] = w.owner
	}
	s.arrivals++
	w.owner.lastCame = now
	w.arrived, w.since = s.arrivals, now
	i, _ := slices.BinarySearchFunc(w.owner.waiting, w, func(a, b *ticket) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.arrived, b.arrived))
	})
	w.owner.waiting = slices.Insert(w.owner.waiting, i, w)
}

// remove removes a waiting file, or frees the slot of a file that has one. It does nothing if
// the file was removed before.
func (s *schedule) remove(w *ticket, now time.Time) {
	o := w.owner
	if i := slices.Index(o.waiting, w); i >= 0 {
		o.waiting = slices.Delete(o.waiting, i, i+1)
		return
	}
	i := slices.Index(o.reading, w)
	if i < 0 {
		return
	}
	o.reading = slices.Delete(o.reading, i, i+1)
	o.used = decayed(o.used, now.Sub(o.usedAsOf)) + weight(now.Sub(w.begun))
	o.usedAsOf = now
	if w.extra {
		s.freeExtra++
	} else {
		s.freeNormal++
	}
}

// sweep drops owners that have no files and hardly any used time left.
func (s *schedule) sweep(now time.Time) {
	const negligible = 1e-3 // seconds
	for name, o := range s.owners {
		if len(o.waiting)+len(o.reading) == 0 && o.usedAt(now) < negligible && now.Sub(o.lastCame) >= activeFor {
			delete(s.owners, name)
		}
	}
}

// decayed returns what is left of a used time some time later.
func decayed(used float64, ago time.Duration) float64 {
	return used * math.Exp2(-ago.Seconds()/halfLife.Seconds())
}

// weight returns the decayed slot time of a file, in seconds, that has had its slot for the
// time took.
func weight(took time.Duration) float64 {
	return halfLife.Seconds() / math.Ln2 * (1 - decayed(1, took))
}

// usedAt returns the slot time that an owner has used, decayed, in seconds.
func (o *owner) usedAt(now time.Time) float64 {
	used := decayed(o.used, now.Sub(o.usedAsOf))
	for _, w := range o.reading {
		used += weight(now.Sub(w.begun))
	}
	return used
}

// next assigns free slots to files: each slot goes to the owner with the least used time. It
// also chooses the files in extra slots that must be suspended for other files. A file in an
// extra slot may move to a free normal slot.
func (s *schedule) next(now time.Time) (d decision) {
	for s.freeNormal > 0 {
		w, promoted := s.least(now, first), s.leastExtra(now)
		switch {
		case promoted != nil && (w == nil || promoted.owner.usedAt(now) <= w.owner.usedAt(now)):
			promoted.extra = false
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
	d.stop = s.suspend(now)
	return d
}

func (s *schedule) begin(w *ticket, extra bool, now time.Time) *ticket {
	o := w.owner
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

// least calls choose for each owner with waiting files. Of the chosen files it returns the
// one whose owner has the least used time, or nil if none was chosen.
func (s *schedule) least(now time.Time, choose func(*owner, time.Time) *ticket) (best *ticket) {
	var leastUsed float64
	for _, o := range s.owners {
		if len(o.waiting) == 0 {
			continue
		}
		w := choose(o, now)
		if w == nil {
			continue
		}
		used := o.usedAt(now)
		if best == nil || used < leastUsed || used == leastUsed && w.arrived < best.arrived {
			best, leastUsed = w, used
		}
	}
	return best
}

// first chooses the owner's first waiting file.
func first(o *owner, _ time.Time) *ticket { return o.waiting[0] }

// fresh chooses the owner's first waiting file that was never suspended. It chooses none if
// the owner has a file in a slot.
func fresh(o *owner, _ time.Time) *ticket {
	if len(o.reading) > 0 {
		return nil
	}
	return o.neverSuspended()
}

// again chooses the owner's first waiting file whose pause after a suspension is over. It
// chooses none if the owner has a file in a slot.
func again(o *owner, now time.Time) *ticket {
	if len(o.reading) > 0 {
		return nil
	}
	return find(o.waiting, func(w *ticket) bool { return !now.Before(w.retryAt) })
}

// oneMore chooses the owner's first waiting file that was never suspended. It chooses none
// unless all files of the owner that are in slots have been there longer than ownExtraTime.
func oneMore(o *owner, now time.Time) *ticket {
	if now.Before(o.nextExtra) || find(o.reading, func(w *ticket) bool { return w.extra || now.Sub(w.begun) < ownExtraTime }) != nil {
		return nil
	}
	return o.neverSuspended()
}

func (o *owner) neverSuspended() *ticket {
	return find(o.waiting, func(w *ticket) bool { return w.suspensions == 0 })
}

func find(tickets []*ticket, is func(*ticket) bool) *ticket {
	if i := slices.IndexFunc(tickets, is); i >= 0 {
		return tickets[i]
	}
	return nil
}

// inExtra returns the files in extra slots, except those that are being suspended.
func (s *schedule) inExtra() (all []*ticket) {
	for _, o := range s.owners {
		for _, w := range o.reading {
			if w.extra && !w.stopping {
				all = append(all, w)
			}
		}
	}
	return all
}

// leastExtra returns the file in an extra slot whose owner has the least used time.
func (s *schedule) leastExtra(now time.Time) *ticket {
	all := s.inExtra()
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *ticket) int {
		return cmp.Or(cmp.Compare(a.owner.usedAt(now), b.owner.usedAt(now)), cmp.Compare(a.arrived, b.arrived))
	})
}

// suspend chooses the files in extra slots to suspend. Their slots are needed for owners who
// have no file in a slot, or for another file of the same owner.
func (s *schedule) suspend(now time.Time) (stop []*ticket) {
	wanted := 0 // extra slots needed
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
	extra := s.inExtra()
	slices.SortFunc(extra, func(a, b *ticket) int { // prefer owners with several files in slots, and then the file that began last, because suspending it loses the least work
		return cmp.Or(-cmp.Compare(len(a.owner.reading), len(b.owner.reading)), b.begun.Compare(a.begun), cmp.Compare(a.arrived, b.arrived))
	})
	for _, w := range extra {
		hasMore, long := len(w.owner.reading) > 1, now.Sub(w.begun) >= extraTime
		switch {
		case wanted > 0 && (hasMore || long):
			wanted--
		case hasMore && long && w.owner.neverSuspended() != nil:
			w.owner.nextExtra = now.Add(ownExtraTime)
		default:
			continue
		}
		w.stopping = true
		w.suspensions++
		w.retryAt = now.Add(min(maxBackoff, extraTime<<min(w.suspensions, 10)))
		stop = append(stop, w)
	}
	return stop
}

// busy reports whether all normal slots are occupied by files that have been read for at
// least extraTime.
func (s *schedule) busy(now time.Time) bool {
	long := 0
	for _, o := range s.owners {
		for _, w := range o.reading {
			if !w.extra && now.Sub(w.begun) >= extraTime {
				long++
			}
		}
	}
	return long >= s.normal
}

func (s *schedule) room(name string, held, limit int, now time.Time) int {
	active := 1
	for other, o := range s.owners {
		if other != name && now.Sub(o.lastCame) < activeFor {
			active++
		}
	}
	room := max(minHeld, limit/active) - held
	if s.busy(now) {
		waiting := 0
		if o := s.owners[name]; o != nil {
			waiting = len(o.waiting)
		}
		room = min(room, 2*s.normal-waiting)
	}
	return max(0, room)
}

// overdue removes and returns the files that have waited so long that another node should
// read them.
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

func (s *schedule) hasWaiting() bool {
	for _, o := range s.owners {
		if len(o.waiting) > 0 {
			return true
		}
	}
	return false
}
