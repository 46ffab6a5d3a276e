package quota

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Usage reads from the read models what users and spaces use. The returned position is that
// up to which the read models had applied the log.
type Usage interface {
	// Used returns what a user has stored, and what the user's files in progress take. Of
	// folders it counts only those that will be created for files in progress.
	Used(ctx context.Context, user events.Principal) (used Limits, at events.Position, err error)
	// UsedIn returns what is stored in a space, and what files in progress for it take.
	UsedIn(ctx context.Context, s Space) (used Limits, at events.Position, err error)
	// UsedBelow returns what is stored in a folder and in those below it.
	UsedBelow(ctx context.Context, folder uuid.UUID) (used Limits, err error)
}

// Space is a folder that has limits: a top-level folder, or a user's own folder in the
// inbox. Folder is uuid.Nil until the folder exists.
type Space struct {
	Folder uuid.UUID
	Name   string
}

// keys returns the keys under which the ledger counts a hold for a space: its name, its id,
// and both. The name alone is not enough, because the folder may be renamed. The id alone is
// not enough, because the folder may be created after the hold.
func (s Space) keys() []Space {
	if s.Folder == uuid.Nil {
		return []Space{{Name: s.Name}}
	}
	return []Space{{Name: s.Name}, {Folder: s.Folder}, s}
}

// Ledger checks requests against what users have stored and what other requests have
// reserved. A request's reservation, its Hold, counts until the read models have applied the
// request's events. Otherwise concurrent requests could exceed a limit together. Each
// process has its own ledger: requests to other processes count only when their events are
// in the read models.
//
// A nil Ledger limits nothing. It is safe for concurrent use.
type Ledger struct {
	Policy *Policy
	Usage  Usage
	Refuse func(kind string) // called for each refusal; may be nil

	mu      sync.Mutex
	settled []*Hold                       // holds that are settled, and whose events the read models may not have applied yet
	applied events.Position               // highest position that the read models are known to have applied
	users   map[events.Principal]*balance // only users with holds
	spaces  map[Space]*reserved           // each space is under each of its keys
}

// balance is what the read models report for a user at a position, and the total of the
// user's holds.
type balance struct {
	used  Limits
	at    events.Position
	held  Limits
	holds int
	open  int // number of holds that are neither settled nor closed
}

// reserved is the total of holds for a space.
type reserved struct {
	held  Limits
	holds int
}

// Open returns a hold for a user's request. The error is fault.Exhausted if the user has
// too many open holds.
func (l *Ledger) Open(ctx context.Context, user events.User) (*Hold, error) {
	h, err := l.OpenSlot(ctx, user)
	if h == nil || err != nil {
		return nil, err
	}
	if err := h.refresh(ctx); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// OpenSlot is like Open, but does not read the user's usage: the hold only counts as an
// open request.
func (l *Ledger) OpenSlot(ctx context.Context, user events.User) (*Hold, error) {
	return l.open(ctx, user, maxOpen)
}

// OpenInternal returns a hold for something that the service itself does on behalf of a
// user. The number of such holds is not limited. OpenInternal does not read the user's
// usage, so call Admit first.
func (l *Ledger) OpenInternal(ctx context.Context, user events.User) (*Hold, error) {
	return l.open(ctx, user, math.MaxInt)
}

func (l *Ledger) open(ctx context.Context, user events.User, limit int) (*Hold, error) {
	if l == nil {
		return nil, nil
	}
	limits, err := l.Policy.Of(ctx, user)
	if err != nil {
		return nil, err
	}
	if user.Admin || limits == (Limits{}) && l.Policy.Folder == (Limits{}) {
		return nil, nil
	}
	h := &Hold{ledger: l, user: user, limits: limits}
	if err := l.count(h, limit); err != nil {
		l.refused(Imports)
		return nil, err
	}
	return h, nil
}

// maxOpen limits the open holds of a user. Each upload takes a connection and a file until
// it ends, and may be slow.
const maxOpen = 64

// count adds a hold to the balance of its user, unless limit holds of the user are open
// already.
func (l *Ledger) count(h *Hold, limit int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == nil {
		l.users, l.spaces = make(map[events.Principal]*balance), make(map[Space]*reserved)
	}
	b := l.users[h.user.Principal]
	if b == nil {
		b = new(balance)
		l.users[h.user.Principal] = b
	}
	if b.open >= limit {
		return fault.Later("uploads", time.Second, "start an upload: %d of your uploads are in progress, which is the limit: send this one when another has ended", maxOpen)
	}
	b.holds++
	b.open++
	h.counted = true
	return nil
}

// uncount undoes count. The caller must have locked the ledger; so must callers of
// countSpaces, uncountSpaces and advance.
func (h *Hold) uncount() {
	if !h.counted {
		return
	}
	h.counted = false
	b := h.ledger.users[h.user.Principal]
	b.held = b.held.minus(h.taken)
	if b.holds--; b.holds == 0 {
		delete(h.ledger.users, h.user.Principal)
	}
}

// countSpaces adds the hold to its spaces.
func (h *Hold) countSpaces(parts []Part) {
	h.uncountSpaces()
	h.parts = parts
	for _, p := range parts {
		for _, key := range p.keys() {
			s := h.ledger.spaces[key]
			if s == nil {
				s = new(reserved)
				h.ledger.spaces[key] = s
			}
			s.held = s.held.plus(p.Takes)
			s.holds++
		}
	}
}

// uncountSpaces undoes countSpaces.
func (h *Hold) uncountSpaces() {
	for _, p := range h.parts {
		for _, key := range p.keys() {
			s := h.ledger.spaces[key]
			s.held = s.held.minus(p.Takes)
			if s.holds--; s.holds == 0 {
				delete(h.ledger.spaces, key)
			}
		}
	}
	h.parts = nil
}

// refresh reads what the user has from the read models.
func (h *Hold) refresh(ctx context.Context) error {
	used, at, err := h.ledger.Usage.Used(ctx, h.user.Principal)
	if err != nil {
		return err
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if b := h.ledger.users[h.user.Principal]; at >= b.at {
		b.used, b.at = used, at
	}
	h.ledger.advance(at)
	return nil
}

// advance records the position of the read models, and drops the settled holds whose events
// they have applied. A hold must not be dropped while its user has open holds and the user's
// balance was read before the hold's events: the balance does not include them. Without open
// holds the next request reads the balance anyway.
func (l *Ledger) advance(at events.Position) {
	l.applied = max(l.applied, at)
	l.settled = slices.DeleteFunc(l.settled, func(h *Hold) bool {
		if h.settledAt > l.applied {
			return false
		}
		h.uncountSpaces()
		if b := l.users[h.user.Principal]; b.open > 0 && b.at < h.settledAt {
			return false
		}
		h.uncount()
		return true
	})
}

// userTotal returns what the user has, including all holds.
func (h *Hold) userTotal() Limits {
	b := h.ledger.users[h.user.Principal]
	return b.used.plus(h.extra).plus(b.held)
}

// heldIn returns the total of the holds for a space, under its name or its id.
func (l *Ledger) heldIn(s Space) Limits {
	held := func(key Space) (n Limits) {
		if r := l.spaces[key]; r != nil {
			n = r.held
		}
		return n
	}
	if s.Folder == uuid.Nil {
		return held(s)
	}
	// A hold under both keys was counted twice: subtract it.
	return held(Space{Name: s.Name}).plus(held(Space{Folder: s.Folder})).minus(held(s))
}

// Refused counts a refusal by a caller that has checked a limit without a hold.
func (l *Ledger) Refused(k Kind) {
	if l != nil {
		l.refused(k)
	}
}

// Of returns the limits of a user.
func (l *Ledger) Of(ctx context.Context, user events.User) (Limits, error) {
	if l == nil {
		return Limits{}, nil
	}
	return l.Policy.Of(ctx, user)
}
