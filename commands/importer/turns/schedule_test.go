package turns

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func newSchedule(places int) *schedule { return &New(places).s }

// reading is a schedule whose files take so long as they say.
type reading struct {
	rapid.TB
	*schedule
	now   time.Time
	takes map[*File]time.Duration
	open  []*ticket // that wait or are read

	waited map[*File]time.Duration // until it began for the first time
	ended  map[*File]time.Time
	lost   time.Duration // by files that were suspended
}

func newReading(t rapid.TB, places int) *reading {
	return &reading{
		TB: t, schedule: newSchedule(places), now: time.Unix(1e9, 0),
		takes: make(map[*File]time.Duration), waited: make(map[*File]time.Duration), ended: make(map[*File]time.Time),
	}
}

func (r *reading) accept(owner string, takes time.Duration) *File {
	f := &File{Owner: owner, Order: int64(len(r.takes))}
	r.takes[f] = takes
	r.enter(f)
	return f
}

func (r *reading) enter(f *File) {
	w := &ticket{File: f}
	r.add(w, r.now)
	r.open = append(r.open, w)
}

// step lets a time pass: what was read ends, what is to begin does.
func (r *reading) step(d time.Duration) {
	r.now = r.now.Add(d)
	for _, w := range slices.Clone(r.open) {
		if w.begun.IsZero() || r.now.Sub(w.begun) < r.takes[w.File] && !w.stopping {
			continue
		}
		r.remove(w, r.now)
		r.open = slices.DeleteFunc(r.open, func(other *ticket) bool { return other == w })
		if r.now.Sub(w.begun) >= r.takes[w.File] {
			r.ended[w.File] = r.now
		} else {
			r.lost += r.now.Sub(w.begun)
			r.enter(w.File)
		}
	}
	d0 := r.next(r.now)
	r.check(d0)
	for _, w := range d0.begin {
		if _, before := r.waited[w.File]; !before {
			r.waited[w.File] = r.now.Sub(w.since)
		}
	}
}

// check holds what began against what waits.
func (r *reading) check(d decided) {
	r.Helper()
	extra, normal, stopping, fresher := 0, 0, 0, 0
	for _, o := range r.owners {
		for _, w := range o.reading {
			if w.extra {
				extra++
			} else {
				normal++
			}
			if w.stopping {
				stopping++
			}
		}
		if len(o.waiting) > 0 && fresh(o, r.now) != nil {
			fresher++
		}
	}
	if extra+r.freeExtra != extraSlots(r.normal) || normal+r.freeNormal != r.normal || r.freeExtra < 0 || r.freeNormal < 0 {
		r.Fatalf("%d files in %d normal places, %d in extra ones; %d and %d are free", normal, r.normal, extra, r.freeNormal, r.freeExtra)
	}
	if r.freeNormal > 0 && r.waits() {
		r.Fatal("a file waits while a place is free")
	}
	for _, w := range d.begin {
		used := w.of.usedAt(r.now)
		for name, o := range r.owners {
			if len(o.waiting) == 0 {
				continue
			}
			if !w.extra && o.usedAt(r.now) < used {
				r.Fatalf("a file of %s began, who used %v s, while one of %s waits, who used %v s", w.Owner, used, name, o.usedAt(r.now))
			}
			if f := fresh(o, r.now); w.extra && f != nil && (len(w.of.reading) > 1 || o.usedAt(r.now) < used) {
				r.Fatalf("a file of %s began in an extra place, who used %v s, while one of %s waits, who used %v s and has nothing in reading", w.Owner, used, name, o.usedAt(r.now))
			}
		}
		if !w.extra && len(w.of.waiting) > 0 && w.of.waiting[0].Order < w.Order && !slices.ContainsFunc(d.begin, func(b *ticket) bool { return b.of == w.of && b.extra }) {
			r.Fatalf("file %d of %s began before %d", w.Order, w.Owner, w.of.waiting[0].Order)
		}
	}
	for _, w := range d.stop {
		if !w.extra || r.now.Sub(w.begun) < ExtraTime && len(w.of.reading) == 1 {
			r.Fatalf("a file had to give way after %v, in an extra place: %t", r.now.Sub(w.begun), w.extra)
		}
	}
	if fresher > stopping {
		for _, w := range r.lent() {
			if r.now.Sub(w.begun) >= ExtraTime || len(w.of.reading) > 1 {
				r.Fatalf("%d owners wait who have nothing in reading, and one of %d in extra places stays for %v", fresher, extra, r.now.Sub(w.begun))
			}
		}
	}
}

func TestOwnerWithLeastUsageGoesFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newReading(t, rapid.IntRange(1, 5).Draw(t, "places"))
		owner, takes := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), rapid.SampledFrom([]time.Duration{
			0, 10 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond, 3 * time.Second, 20 * time.Second, 10 * time.Minute})
		pass := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 100 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second, 15 * time.Second})
		t.Repeat(map[string]func(*rapid.T){
			"accept": func(t *rapid.T) { r.accept(owner.Draw(t, "owner"), takes.Draw(t, "takes")) },
			"":       func(t *rapid.T) { r.step(pass.Draw(t, "pass")) },
		})
		// Each file comes to its end, while more of others keep coming.
		accepted := len(r.takes)
		for n := 0; ; n++ {
			left := 0
			for f := range r.takes {
				if _, ended := r.ended[f]; !ended && f.Order < int64(accepted) {
					left++
				}
			}
			if left == 0 {
				break
			}
			if n > 40*(accepted+10)*60 {
				t.Fatalf("%d of %d files have not ended after %d s", left, accepted, n)
			}
			if n%10 == 0 {
				r.accept("steady", 5*time.Second)
			}
			r.step(time.Second)
		}
	})
}

// simulate lets owners bring files for a time, in ticks of 10 ms.
func simulate(t *testing.T, places int, lasts time.Duration, bring func(r *reading, tick int)) *reading {
	t.Helper()
	r := newReading(t, places)
	for tick := range int(lasts / (10 * time.Millisecond)) {
		bring(r, tick)
		r.step(10 * time.Millisecond)
	}
	return r
}

func (r *reading) longestWait(of func(*File) bool) (longest time.Duration) {
	r.Helper()
	for f := range r.takes {
		if !of(f) {
			continue
		}
		waited, begun := r.waited[f]
		if !begun {
			r.Fatalf("a file of %s has not begun", f.Owner)
		}
		longest = max(longest, waited)
	}
	return longest
}

const second = 100 // ticks of simulate

func TestSmallFilesBeginBesideHeavyOnes(t *testing.T) {
	few := func(f *File) bool { return f.Owner[0] == 'u' }
	for name, c := range map[string]struct {
		bring func(r *reading, tick int)
		most  time.Duration
	}{
		"four heavy files of one owner": {func(r *reading, tick int) {
			if tick < 4 {
				r.accept("heavy", 10*time.Minute)
			}
			if tick%(3*second) == 2*second {
				for range 3 {
					r.accept("user", 50*time.Millisecond)
				}
			}
		}, 400 * time.Millisecond},
		"thousands of small files and heavy ones of one owner": {func(r *reading, tick int) {
			if tick < 4000 {
				r.accept("heavy", time.Duration(tick%20/19)*10*time.Minute)
			}
			if tick%(3*second) == 2*second {
				for range 3 {
					r.accept("user", 50*time.Millisecond)
				}
			}
		}, 400 * time.Millisecond},
		"one heavy file of each of twenty": {func(r *reading, tick int) {
			if tick < 20 {
				r.accept(fmt.Sprint("heavy ", tick), 10*time.Minute)
			}
			if tick%(3*second) == 25*second%(3*second) && tick > 25*second {
				r.accept("user", 50*time.Millisecond)
			}
		}, 1100 * time.Millisecond},
		"many with a few": {func(r *reading, tick int) {
			if tick < 40 {
				r.accept("heavy", 10*time.Minute)
			}
			if tick == 5*second {
				for n := range 30 {
					r.accept(fmt.Sprint("user ", n), 20*time.Millisecond)
				}
			}
		}, 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			r := simulate(t, 2, 2*time.Minute+500*time.Millisecond, c.bring)
			if got := r.longestWait(few); got > c.most {
				t.Errorf("a small file waited for %v, want at most %v", got, c.most)
			}
		})
	}
}

func TestSmallFilesPassOwnHeavyOnes(t *testing.T) {
	r := simulate(t, 2, 80*time.Second, func(r *reading, tick int) {
		if tick == 0 {
			for range 5 {
				r.accept("one", 10*time.Minute)
			}
			for range 100 {
				r.accept("one", 50*time.Millisecond)
			}
		}
	})
	if len(r.ended) != 100 {
		t.Errorf("%d small files were read beside five heavy ones, want 100", len(r.ended))
	}
}

// A single owner gets nearly all of the capacity.
func TestSingleOwnerUsesMostCapacity(t *testing.T) {
	for _, takes := range []time.Duration{20 * time.Millisecond, 3 * time.Second, 30 * time.Second} {
		r := simulate(t, 2, 5*time.Minute, func(r *reading, tick int) {
			for len(r.open) < 10 {
				r.accept("one", takes)
			}
		})
		if least := int(2 * 4 * time.Minute / max(takes, 20*time.Millisecond)); len(r.ended) < least {
			t.Errorf("of files of %v %d were read in 5 minutes, want %d at least", takes, len(r.ended), least)
		}
		if r.lost > 30*time.Second {
			t.Errorf("of files of %v %v were read in vain", takes, r.lost)
		}
	}
}

// Two who bring more than can be read get equal times, whatever their files are
// like.
func TestTimeIsSharedEqually(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	read := map[string]time.Duration{}
	r := simulate(t, 4, 10*time.Minute, func(r *reading, _ int) {
		count := map[string]int{}
		for _, w := range r.open {
			count[w.Owner]++
		}
		for count["large"] < 10 {
			r.accept("large", time.Duration(random.IntN(5000))*time.Millisecond)
			count["large"]++
		}
		for count["small"] < 100 {
			r.accept("small", time.Duration(random.IntN(100))*time.Millisecond)
			count["small"]++
		}
	})
	for f := range r.ended {
		read[f.Owner] += r.takes[f]
	}
	if ratio := read["large"].Seconds() / read["small"].Seconds(); ratio < 0.8 || ratio > 1.6 {
		t.Errorf("in the same time were read %v of large files and %v of small ones", read["large"], read["small"])
	}
}
