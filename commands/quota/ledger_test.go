package quota

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// store is a log with read models. The read models apply the log only when follow is called.
type store struct {
	mu            sync.Mutex
	log, applied  map[string]Limits // total by user and by space
	head, through events.Position
	peak          map[string]int64 // highest number of bytes that was ever in the log
}

func newStore() *store {
	return &store{log: map[string]Limits{}, applied: map[string]Limits{}, peak: map[string]int64{}}
}

func (s *store) append(takes Limits, keys ...string) events.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head++
	for _, k := range keys {
		s.log[k] = s.log[k].plus(takes)
		s.peak[k] = max(s.peak[k], s.log[k][Bytes])
	}
	return s.head
}

func (s *store) follow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range s.log {
		s.applied[k] = v
	}
	s.through = s.head
}

func (s *store) read(key string) (Limits, events.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.applied[key], s.through, nil
}

func (s *store) Used(_ context.Context, user events.Principal) (Limits, events.Position, error) {
	return s.read(string(user))
}

func (s *store) UsedIn(_ context.Context, in Space) (Limits, events.Position, error) {
	return s.read(in.Name)
}

func (s *store) UsedBelow(context.Context, uuid.UUID) (Limits, error) { panic("unexpected call") }

// Whatever the order of concurrent holds and updates of the read models, the ledger admits
// requests up to the limit and no request beyond it.
func TestConcurrentHoldsRespectLimit(t *testing.T) {
	s := newStore()
	l := &Ledger{Policy: &Policy{User: Limits{Bytes: 100}, Folder: Limits{Bytes: 150}}, Usage: s}
	following, stop := context.WithCancel(t.Context())
	var follower, all sync.WaitGroup
	follower.Go(func() {
		for following.Err() == nil {
			s.follow()
			time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		}
	})
	users := []string{"user:a", "user:b", "user:c"}
	for i := range 60 {
		all.Go(func() {
			user := users[i%3]
			for range 10 {
				h, err := l.Open(t.Context(), events.User{Principal: events.Principal(user)})
				if err != nil {
					t.Error(err)
					return
				}
				takes := Limits{Bytes: 7}
				if h.Take(Bytes, 7) == nil && h.Admit(t.Context(), takes, []Part{{Space{Name: "F"}, takes}}) == nil {
					h.Settle(s.append(takes, user, "F"))
				}
				h.Close()
			}
		})
	}
	all.Wait()
	stop()
	follower.Wait()
	for key, limit := range map[string]int64{"user:a": 100, "user:b": 100, "user:c": 100, "F": 150} {
		if s.peak[key] > limit {
			t.Errorf("%s got %d bytes, the limit is %d", key, s.peak[key], limit)
		}
	}
	if s.peak["F"] < 144 {
		t.Errorf("the folder got %d bytes, want nearly its limit of 150", s.peak["F"])
	}
	s.follow()
	for _, user := range users { // the next hold drops the settled holds
		h, err := l.Open(t.Context(), events.User{Principal: events.Principal(user)})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Admit(t.Context(), Limits{}, []Part{{Space: Space{Name: "F"}}}); err != nil {
			t.Error(err)
		}
		h.Close()
	}
	if len(l.settled)+len(l.users)+len(l.spaces) > 0 {
		t.Errorf("%d holds, %d users and %d folders are left, want none", len(l.settled), len(l.users), len(l.spaces))
	}
}

// An upload to many folders must not lock the ledger for long, because other requests wait
// for the lock.
func TestManyFoldersDoNotBlockOthers(t *testing.T) {
	l := &Ledger{Policy: &Policy{User: Limits{Bytes: 1 << 30}, Folder: Limits{Bytes: 1 << 30}}, Usage: newStore()}
	open := func(user events.Principal) *Hold {
		h, err := l.Open(t.Context(), events.User{Principal: user})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	parts := func(n int) (all []Part) {
		for i := range n {
			all = append(all, Part{Space{Folder: uuid.New(), Name: fmt.Sprint("F", i)}, Limits{Bytes: 1}})
		}
		return all
	}
	for range 20 { // settled holds whose events the read models have not applied
		h := open("user:b")
		if err := h.Admit(t.Context(), Limits{Bytes: 100}, parts(100)); err != nil {
			t.Fatal(err)
		}
		h.Settle(1000)
	}
	other := open("user:c")
	var longest time.Duration
	for range 5 { // try again, because a busy machine may delay a request
		many := open("user:a")
		admitted := make(chan error, 1)
		go func() { admitted <- many.Admit(t.Context(), Limits{Bytes: 10_000}, parts(10_000)) }()
		longest = 0
		for done := false; !done; {
			begun := time.Now()
			if err := other.Take(Bytes, 1); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, time.Since(begun))
			select {
			case err := <-admitted:
				if done = true; err != nil {
					t.Error(err)
				}
			default:
			}
		}
		many.Close()
		if longest < 50*time.Millisecond {
			return
		}
	}
	t.Errorf("Take waited %s for another user's upload", longest)
}

func TestEndedHoldTakesNothing(t *testing.T) {
	s := newStore()
	l := &Ledger{Policy: &Policy{User: Limits{Bytes: 100}}, Usage: s}
	for _, end := range []func(*Hold){func(h *Hold) { h.Close() }, func(h *Hold) { h.Settle(s.append(Limits{}, "user:a")) }} {
		h, err := l.Open(t.Context(), events.User{Principal: "user:a"})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Take(Bytes, 10); err != nil {
			t.Fatal(err)
		}
		end(h)
		if err := h.Take(Bytes, 1000); err != nil {
			t.Error(err)
		}
		end(h)
		h.Close()
	}
	if held := l.users["user:a"].held[Bytes]; held != 10 {
		t.Errorf("%d bytes are held, want the 10 of the settled hold", held)
	}
}

func TestOpenUploadsAreLimited(t *testing.T) {
	l := &Ledger{Policy: &Policy{User: Limits{Bytes: 100}}, Usage: newStore()}
	var first *Hold
	for i := range maxOpen {
		h, err := l.Open(t.Context(), events.User{Principal: "user:a"})
		if err != nil {
			t.Fatalf("upload %d: %v", i, err)
		}
		if first == nil {
			first = h
		}
	}
	if _, err := l.Open(t.Context(), events.User{Principal: "user:a"}); !fault.Is(err, fault.Exhausted) {
		t.Errorf("Open beyond the limit: %v, want exhausted", err)
	}
	if _, err := l.Open(t.Context(), events.User{Principal: "user:b"}); err != nil {
		t.Errorf("Open by another user: %v", err)
	}
	first.Close()
	if _, err := l.Open(t.Context(), events.User{Principal: "user:a"}); err != nil {
		t.Errorf("Open after a hold was closed: %v", err)
	}
}

// A hold for a folder that does not exist yet also counts after the folder is created under
// this name.
func TestHoldByNameCountsForFolder(t *testing.T) {
	s := newStore()
	l := &Ledger{Policy: &Policy{Folder: Limits{Documents: 1}}, Usage: s}
	var err error
	for i, space := range []Space{{Name: "F"}, {Folder: uuid.New(), Name: "F"}} {
		h, opened := l.Open(t.Context(), events.User{Principal: "user:a"})
		if opened != nil {
			t.Fatal(opened)
		}
		if err = h.Admit(t.Context(), Limits{}, []Part{{space, Limits{Documents: 1}}}); i == 0 && err != nil {
			t.Fatal(err)
		}
	}
	if !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), `"F"`) {
		t.Errorf("Admit of a second document: %v, want the refusal of folder F", err)
	}
}

func TestLimits(t *testing.T) {
	for _, test := range []struct {
		kind Kind
		text string
		want int64
		show string
	}{
		{Bytes, "50GiB", 50 << 30, "50 GiB"}, {Bytes, "1000", 1000, "1000 B"}, {Bytes, "0", 0, "unlimited"}, {Documents, "unlimited", 0, "unlimited"},
		{Search, "90s", int64(90 * time.Second), "1m30s"}, {Search, "0", 0, "unlimited"}, {Imports, "12", 12, "12"},
	} {
		got, err := Parse(test.kind, test.text)
		if err != nil || got != test.want || test.kind.ShowLimit(got) != test.show {
			t.Errorf("Parse(%s, %q) = %d (%v), shown as %q; want %d, %q", test.kind, test.text, got, err, test.kind.ShowLimit(got), test.want, test.show)
		}
	}
	for kind, texts := range map[Kind][]string{Bytes: {"-1", "x", "20EiB0", "99999999999GiB"}, Documents: {"1.5", "-1", "10k"}, Search: {"30", "-1s"}} {
		for _, text := range texts {
			if n, err := Parse(kind, text); !fault.Is(err, fault.Invalid) {
				t.Errorf("Parse(%s, %q) = %d (%v), want invalid", kind, text, n, err)
			}
		}
	}
	p, o, err := ParseOverride("user:corp/alice=bytes=1KiB,search=0")
	if err != nil || p != "user:corp/alice" || o[Bytes] != 1024 || len(o) != 2 {
		t.Errorf("ParseOverride = %s, %v, %v", p, o, err)
	}
	for _, text := range []string{"", "user:a", "group:g=bytes=1", "user:a=pages=1", "user:a=bytes=x"} {
		if _, _, err := ParseOverride(text); !fault.Is(err, fault.Invalid) {
			t.Errorf("ParseOverride(%q): %v, want invalid", text, err)
		}
	}
	policy := &Policy{User: Default, Principals: map[events.Principal]Override{p: o}}
	if l, err := policy.Of(t.Context(), events.User{Principal: p}); err != nil || l[Bytes] != 1024 || l[Search] != 0 || l[Documents] != Default[Documents] {
		t.Errorf("Of(%s) = %v, %v", p, l, err)
	}
	if l, _ := policy.Of(t.Context(), events.User{Principal: p, Admin: true}); l != (Limits{}) {
		t.Errorf("Of an administrator = %v, want no limits", l)
	}
}

func TestRefusedRequestCountsOnce(t *testing.T) {
	refused := 0
	l := &Ledger{Policy: &Policy{User: Limits{Bytes: 10}}, Usage: newStore(), Refuse: func(string) { refused++ }}
	for range 2 {
		h, err := l.Open(t.Context(), events.User{Principal: "user:a"})
		if err != nil {
			t.Fatal(err)
		}
		r := h.Reader(strings.NewReader(strings.Repeat("x", 100)))
		for range 3 { // the code that detects a file's type may read again after an error
			if _, err := r.Read(make([]byte, 20)); !fault.Is(err, fault.TooLarge) {
				t.Errorf("Read beyond the limit: %v, want too large", err)
			}
		}
		h.Close()
	}
	if refused != 2 {
		t.Errorf("two refused requests were counted as %d", refused)
	}
}
