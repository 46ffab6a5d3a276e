package turns

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// simulation runs a schedule in simulated time.
type simulation struct {
	rapid.TB
	*schedule
	now   time.Time
	takes map[*File]time.Duration // time that reading each file takes
	open  []*ticket               // files that wait or have a slot

	waited map[*File]time.Duration // time that each file waited for its first slot
	ended  map[*File]time.Time
	lost   time.Duration // slot time lost by suspensions
}

func newSimulation(t rapid.TB, slots int) *simulation {
	return &simulation{
		TB: t, schedule: &New(slots).s, now: time.Unix(1e9, 0),
		takes: make(map[*File]time.Duration), waited: make(map[*File]time.Duration), ended: make(map[*File]time.Time),
	}
}

func (r *simulation) accept(owner string, takes time.Duration) *File {
	f := &File{Owner: owner, Order: int64(len(r.takes))}
	r.takes[f] = takes
	r.enter(f)
	return f
}

func (r *simulation) enter(f *File) {
	w := &ticket{File: f}
	r.add(w, r.now)
	r.open = append(r.open, w)
}

// step advances the time by d. Files whose reading time is over leave their slots, and other
// files get these slots.
func (r *simulation) step(d time.Duration) {
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
	assigned := r.next(r.now)
	r.check(assigned)
	for _, w := range assigned.begin {
		if _, before := r.waited[w.File]; !before {
			r.waited[w.File] = r.now.Sub(w.since)
		}
	}
}

// check fails the test if a file got a slot before a file that has precedence, if a slot is
// free while a file waits, or if a file was suspended too early or too late.
func (r *simulation) check(d decision) {
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
		r.Fatalf("%d files in %d normal slots and %d in extra ones; %d and %d are free", normal, r.normal, extra, r.freeNormal, r.freeExtra)
	}
	if r.freeNormal > 0 && r.hasWaiting() {
		r.Fatal("a file waits while a normal slot is free")
	}
	for _, w := range d.begin {
		used := w.owner.usedAt(r.now)
		for name, o := range r.owners {
			if len(o.waiting) == 0 {
				continue
			}
			if !w.extra && o.usedAt(r.now) < used {
				r.Fatalf("a file of %s, who used %v s, got a slot while one of %s, who used %v s, waits", w.Owner, used, name, o.usedAt(r.now))
			}
			if f := fresh(o, r.now); w.extra && f != nil && (len(w.owner.reading) > 1 || o.usedAt(r.now) < used) {
				r.Fatalf("a file of %s, who used %v s, got an extra slot while one of %s, who used %v s and has no slot, waits", w.Owner, used, name, o.usedAt(r.now))
			}
		}
		if !w.extra && len(w.owner.waiting) > 0 && w.owner.waiting[0].Order < w.Order && !slices.ContainsFunc(d.begin, func(b *ticket) bool { return b.owner == w.owner && b.extra }) {
			r.Fatalf("file %d of %s got a slot before file %d", w.Order, w.Owner, w.owner.waiting[0].Order)
		}
	}
	for _, w := range d.stop {
		if !w.extra || r.now.Sub(w.begun) < extraTime && len(w.owner.reading) == 1 {
			r.Fatalf("a file was suspended after %v; it had an extra slot: %t", r.now.Sub(w.begun), w.extra)
		}
	}
	if fresher > stopping {
		for _, w := range r.inExtra() {
			if r.now.Sub(w.begun) >= extraTime || len(w.owner.reading) > 1 {
				r.Fatalf("%d owners without slot wait, and one of %d files in extra slots has been there for %v", fresher, extra, r.now.Sub(w.begun))
			}
		}
	}
}

func TestOwnerWithLeastUsageGoesFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newSimulation(t, rapid.IntRange(1, 5).Draw(t, "slots"))
		owner, takes := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), rapid.SampledFrom([]time.Duration{
			0, 10 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond, 3 * time.Second, 20 * time.Second, 10 * time.Minute})
		pass := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 100 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second, 15 * time.Second})
		t.Repeat(map[string]func(*rapid.T){
			"accept": func(t *rapid.T) { r.accept(owner.Draw(t, "owner"), takes.Draw(t, "takes")) },
			"":       func(t *rapid.T) { r.step(pass.Draw(t, "pass")) },
		})
		// Every file accepted so far is read eventually, although new files of another owner
		// keep arriving.
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
				t.Fatalf("%d of %d files were not read after %d s", left, accepted, n)
			}
			if n%10 == 0 {
				r.accept("steady", 5*time.Second)
			}
			r.step(time.Second)
		}
	})
}

// simulate runs a simulation in ticks of 10 ms. At each tick it calls arrive, which may add
// files.
func simulate(t *testing.T, slots int, lasts time.Duration, arrive func(r *simulation, tick int)) *simulation {
	t.Helper()
	r := newSimulation(t, slots)
	for tick := range int(lasts / (10 * time.Millisecond)) {
		arrive(r, tick)
		r.step(10 * time.Millisecond)
	}
	return r
}

func (r *simulation) longestWait(of func(*File) bool) (longest time.Duration) {
	r.Helper()
	for f := range r.takes {
		if !of(f) {
			continue
		}
		waited, begun := r.waited[f]
		if !begun {
			r.Fatalf("a file of %s got no slot", f.Owner)
		}
		longest = max(longest, waited)
	}
	return longest
}

const second = 100 // ticks of simulate

func TestSmallFilesNeedNotWaitForLongOnes(t *testing.T) {
	small := func(f *File) bool { return f.Owner[0] == 'u' }
	for name, c := range map[string]struct {
		arrive  func(r *simulation, tick int)
		maxWait time.Duration
	}{
		"four long files of one owner": {func(r *simulation, tick int) {
			if tick < 4 {
				r.accept("long ", 10*time.Minute)
			}
			if tick%(3*second) == 2*second {
				for range 3 {
					r.accept("user", 50*time.Millisecond)
				}
			}
		}, 400 * time.Millisecond},
		"thousands of small and long files of one owner": {func(r *simulation, tick int) {
			if tick < 4000 {
				r.accept("long ", time.Duration(tick%20/19)*10*time.Minute)
			}
			if tick%(3*second) == 2*second {
				for range 3 {
					r.accept("user", 50*time.Millisecond)
				}
			}
		}, 400 * time.Millisecond},
		"one long file of each of twenty owners": {func(r *simulation, tick int) {
			if tick < 20 {
				r.accept(fmt.Sprint("long ", tick), 10*time.Minute)
			}
			if tick%(3*second) == 25*second%(3*second) && tick > 25*second {
				r.accept("user", 50*time.Millisecond)
			}
		}, 1100 * time.Millisecond},
		"many owners with one small file each": {func(r *simulation, tick int) {
			if tick < 40 {
				r.accept("long ", 10*time.Minute)
			}
			if tick == 5*second {
				for n := range 30 {
					r.accept(fmt.Sprint("user ", n), 20*time.Millisecond)
				}
			}
		}, 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			r := simulate(t, 2, 2*time.Minute+500*time.Millisecond, c.arrive)
			if got := r.longestWait(small); got > c.maxWait {
				t.Errorf("a small file waited for %v, want at most %v", got, c.maxWait)
			}
		})
	}
}

func TestSmallFilesPassOwnLongOnes(t *testing.T) {
	r := simulate(t, 2, 80*time.Second, func(r *simulation, tick int) {
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
		t.Errorf("%d small files were read besides five long ones, want 100", len(r.ended))
	}
}

// An owner gets nearly all of the capacity if no other owner has files.
func TestSingleOwnerUsesMostCapacity(t *testing.T) {
	for _, takes := range []time.Duration{20 * time.Millisecond, 3 * time.Second, 30 * time.Second} {
		r := simulate(t, 2, 5*time.Minute, func(r *simulation, tick int) {
			for len(r.open) < 10 {
				r.accept("one", takes)
			}
		})
		if want := int(2 * 4 * time.Minute / max(takes, 20*time.Millisecond)); len(r.ended) < want {
			t.Errorf("%d files that take %v were read in 5 minutes, want at least %d", len(r.ended), takes, want)
		}
		if r.lost > 30*time.Second {
			t.Errorf("suspensions of files that take %v lost %v, want at most 30s", takes, r.lost)
		}
	}
}

// If two owners both have more files than can be read, they get equal time, even if their
// files differ in size.
func TestTimeIsSharedEqually(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	read := map[string]time.Duration{}
	r := simulate(t, 4, 10*time.Minute, func(r *simulation, _ int) {
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
		t.Errorf("large files were read for %v and small ones for %v, want about the same", read["large"], read["small"])
	}
}
