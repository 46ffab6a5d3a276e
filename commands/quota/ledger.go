package quota

import (
	"context"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Usage are the queries of a Ledger to the read side. A result covers the log up to the
// position that is returned with it.
type Usage interface {
	// Used returns what a user has stored and in progress. Its Folders counts only
	// folders that are yet to be created for files in progress.
	Used(ctx context.Context, user events.Principal) (used Limits, at events.Position, err error)
	// UsedIn returns what is stored in a space and in progress for it.
	UsedIn(ctx context.Context, s Space) (used Limits, at events.Position, err error)
	// UsedBelow returns what is stored in a folder and below it.
	UsedBelow(ctx context.Context, folder uuid.UUID) (used Limits, err error)
}

// Space is a folder that has limits: one at the top level, or a user's own in
// the inbox. Folder is uuid.Nil until a folder of that name exists.
type Space struct {
	Folder uuid.UUID
	Name   string
}

// keys returns the keys under which a hold for a space is counted. The name alone is
// not enough, because the folder may be renamed; nor is the folder, because it may be
// created after the hold.
func (s Space) keys() []Space {
	if s.Folder == uuid.Nil {
		return []Space{{Name: s.Name}}
	}
	return []Space{{Name: s.Name}, {Folder: s.Folder}, s}
}

// Ledger admits requests by what users have and what other requests hold. A request
// holds what it takes until the read side has seen its events, so concurrent requests
// cannot exceed a limit together. Other processes on the same log have their own
// ledgers: their requests count once they are in the log.
//
// A nil Ledger limits nothing. It is safe for use by several goroutines.
type Ledger struct {
	Policy *Policy
	Usage  Usage
	Refuse func(kind string) // is called for each refusal. May be nil

	mu      sync.Mutex
	settled []*Hold // holds whose events the read side may not have seen
	seen    events.Position
	users   map[events.Principal]*balance // only users with holds
	spaces  map[Space]*sum                // by each key of a space
}

// balance is what a user has in the log up to a position, and the sum of their holds.
type balance struct {
	used  Limits
	at    events.Position
	held  Limits
	holds int
	open  int // number of holds neither settled nor closed
}

// sum is what is held for spaces.
type sum struct {
	held  Limits
	holds int
}

// Hold reserves what one request takes until the read side has seen it. A nil Hold
// reserves nothing. It is for use by one goroutine at a time.
type Hold struct {
	ledger *Ledger
	user   events.User
	limits Limits
	have   Limits // set by Have
	taken  Limits
	parts  []Part
	until  events.Position // the position that Settle was called with; 0 before
	counts bool            // it is counted in the user's balance
	over   error
}

// Part is the share of a request that goes into one space.
type Part struct {
	Space
	Takes Limits // bytes and documents
}

// Open returns a hold for a request of a user, or an error if the user has too many
// open holds.
func (l *Ledger) Open(ctx context.Context, user events.User) (*Hold, error) {
	h, err := l.begin(ctx, user, maxOpen)
	if h == nil || err != nil {
		return nil, err
	}
	if err := h.refresh(ctx); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Place is like Open, but does not read what the user has: the hold only counts as an
// open request.
func (l *Ledger) Place(ctx context.Context, user events.User) (*Hold, error) {
	return l.begin(ctx, user, maxOpen)
}

// Begin returns a hold for work that the service itself does for a user. The number of
// such holds is not limited. Call Admit on it before anything else: Begin does not read
// what the user has.
func (l *Ledger) Begin(ctx context.Context, user events.User) (*Hold, error) {
	return l.begin(ctx, user, math.MaxInt)
}

func (l *Ledger) begin(ctx context.Context, user events.User, most int) (*Hold, error) {
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
	if err := l.join(h, most); err != nil {
		l.refused(Imports)
		return nil, err
	}
	return h, nil
}

// maxOpen is how many holds of one user may be open: each request costs a connection
// and a file until it is done, however slowly it sends.
const maxOpen = 64

// join counts a hold for its user, unless too many are open.
func (l *Ledger) join(h *Hold, most int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == nil {
		l.users, l.spaces = make(map[events.Principal]*balance), make(map[Space]*sum)
	}
	b := l.users[h.user.Principal]
	if b == nil {
		b = new(balance)
		l.users[h.user.Principal] = b
	}
	if b.open >= most {
		return fault.Later("uploads", time.Second, "start an upload: %d of your uploads are in progress, which is the most at once; send the next when one has ended", maxOpen)
	}
	b.holds++
	b.open++
	h.counts = true
	return nil
}

// leave undoes join. The ledger must be locked, as for enter, exit and pass.
func (h *Hold) leave() {
	if !h.counts {
		return
	}
	h.counts = false
	b := h.ledger.users[h.user.Principal]
	b.held = b.held.minus(h.taken)
	if b.holds--; b.holds == 0 {
		delete(h.ledger.users, h.user.Principal)
	}
}

// enter counts the hold in its spaces.
func (h *Hold) enter(parts []Part) {
	h.exit()
	h.parts = parts
	for _, p := range parts {
		for _, key := range p.keys() {
			s := h.ledger.spaces[key]
			if s == nil {
				s = new(sum)
				h.ledger.spaces[key] = s
			}
			s.held = s.held.plus(p.Takes)
			s.holds++
		}
	}
}

// exit undoes enter.
func (h *Hold) exit() {
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

// refresh reads what the user has from the read side.
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
	h.ledger.pass(at)
	return nil
}

// pass records the position of the read side, and drops the holds whose events it has
// seen. While the user has open holds, a hold stays until the user's balance includes it;
// otherwise the balance is read again before it is used.
func (l *Ledger) pass(at events.Position) {
	l.seen = max(l.seen, at)
	l.settled = slices.DeleteFunc(l.settled, func(h *Hold) bool {
		if h.until > l.seen {
			return false
		}
		h.exit()
		if b := l.users[h.user.Principal]; b.open > 0 && b.at < h.until {
			return false
		}
		h.leave()
		return true
	})
}

// userNow returns what the user has, including all holds that the read side has not
// seen.
func (h *Hold) userNow() Limits {
	b := h.ledger.users[h.user.Principal]
	return b.used.plus(h.have).plus(b.held)
}

// heldFor returns what is held for a space under its name or its folder.
func (l *Ledger) heldFor(s Space) Limits {
	held := func(key Space) (n Limits) {
		if sum := l.spaces[key]; sum != nil {
			n = sum.held
		}
		return n
	}
	if s.Folder == uuid.Nil {
		return held(s)
	}
	// A hold with both keys is counted in both sums.
	return held(Space{Name: s.Name}).plus(held(Space{Folder: s.Folder})).minus(held(s))
}

func (l Limits) minus(other Limits) Limits {
	for k := range l {
		l[k] -= other[k]
	}
	return l
}

func (l Limits) plus(other Limits) Limits {
	for k := range l {
		l[k] += other[k]
	}
	return l
}

// Take adds to the hold, unless that exceeds the user's limits.
func (h *Hold) Take(k Kind, n int64) error {
	if h == nil || h.limits[k] == 0 || n == 0 {
		return nil
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if !h.counts || h.until > 0 {
		return nil // settled or closed
	}
	if now := h.userNow(); n > 0 && now[k]+n > h.limits[k] {
		h.over = h.refuse(k, now[k]-h.taken[k], h.taken[k]+n)
		return h.over
	}
	h.taken[k] += n
	h.ledger.users[h.user.Principal].held[k] += n
	return nil
}

// Have adds n of a kind, which the read side does not count, to what the user has.
func (h *Hold) Have(k Kind, n int64) {
	if h != nil {
		h.have[k] = n
	}
}

// Room returns an error if the user has no quota left of one of the kinds.
func (h *Hold) Room(all ...Kind) error {
	if h == nil {
		return nil
	}
	for _, k := range all {
		if err := h.Take(k, 1); err != nil {
			return err
		}
		_ = h.Take(k, -1)
	}
	return nil
}

// Over returns the last refusal, nil if nothing was refused.
func (h *Hold) Over() error {
	if h == nil {
		return nil
	}
	return h.over
}

// Admit sets the hold to all that a request takes, and checks it against the current
// usage of its user and spaces. The error is fault.TooLarge if it does not fit, or
// fault.Exhausted if it will fit after a while.
func (h *Hold) Admit(ctx context.Context, takes Limits, parts []Part) error {
	if h == nil {
		return nil
	}
	if h.ledger.Policy.Folder == (Limits{}) {
		parts = nil
	}
	if err := h.refresh(ctx); err != nil {
		return err
	}
	// The user's own limits come first: they are in memory, and bound the number of
	// spaces to read.
	if err := h.admitUser(takes); err != nil {
		return err
	}
	h.ledger.mu.Lock()
	h.enter(parts)
	h.ledger.mu.Unlock()
	for _, p := range parts {
		if err := h.admitSpace(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// admitSpace checks the limits of one space, whose sum already includes the hold.
func (h *Hold) admitSpace(ctx context.Context, p Part) error {
	const tries = 100
	for range tries {
		used, at, err := h.ledger.Usage.UsedIn(ctx, p.Space)
		if err != nil {
			return err
		}
		if checked, err := h.checkSpace(p, used, at); checked || err != nil {
			return err
		}
	}
	return fault.Errorf(fault.Unavailable, "cannot read the usage of folder %q at the moment: try again later", p.Name)
}

// checkSpace checks the limits of one space against what it uses at a position. checked
// is false if another call read a later position: it may have dropped holds that used
// does not include yet.
func (h *Hold) checkSpace(p Part, used Limits, at events.Position) (checked bool, err error) {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if at < h.ledger.seen {
		return false, nil
	}
	h.ledger.pass(at)
	now := used.plus(h.ledger.heldFor(p.Space))
	for _, k := range Kinds() {
		if limit := h.ledger.Policy.Folder[k]; limit > 0 && p.Takes[k] > 0 && now[k] > limit {
			h.over = h.refuseSpace(k, p)
			return true, h.over
		}
	}
	return true, nil
}

// admitUser checks the limits of the user, and sets the hold to takes if it fits.
func (h *Hold) admitUser(takes Limits) error {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	others := h.userNow().minus(h.taken)
	for _, k := range Kinds() {
		if h.limits[k] > 0 && takes[k] > 0 && others[k]+takes[k] > h.limits[k] {
			h.over = h.refuse(k, others[k], takes[k])
			return h.over
		}
	}
	b := h.ledger.users[h.user.Principal]
	b.held = b.held.minus(h.taken).plus(takes)
	h.taken = takes
	return nil
}

// Settle records the position at which what is held is in the log. The hold counts until
// the read side has passed that position.
func (h *Hold) Settle(at events.Position) {
	if h == nil {
		return
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if !h.counts || h.until > 0 {
		return
	}
	h.until = max(at, 1)
	h.ledger.users[h.user.Principal].open--
	h.ledger.settled = append(h.ledger.settled, h)
}

// Close releases the hold unless it was settled.
func (h *Hold) Close() {
	if h == nil {
		return
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if !h.counts || h.until > 0 {
		return
	}
	h.ledger.users[h.user.Principal].open--
	h.exit()
	h.leave()
}

// Reader adds the bytes that it reads to a hold, and fails with the refusal if they
// exceed a limit.
type Reader struct {
	hold *Hold
	from io.Reader
	n    int64
}

// Reader returns a reader that adds the bytes read from r to the hold.
func (h *Hold) Reader(r io.Reader) *Reader { return &Reader{hold: h, from: r} }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if over := r.hold.Take(Bytes, int64(n)); over != nil {
		return 0, over
	}
	r.n += int64(n)
	return n, err
}

// Undo removes the bytes that were read from the hold.
func (r *Reader) Undo() {
	_ = r.hold.Take(Bytes, -r.n)
	r.n = 0
}

// Refused counts a refusal by a caller that checks the limits of Of itself.
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

type holdKey struct{}

// With returns a context whose commands take what they need from a hold.
func With(ctx context.Context, h *Hold) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// From returns the hold of a context, nil if there is none.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}
