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

// Usage reads from the read models what is used. A result covers the log up to the position
// that is returned with it.
type Usage interface {
	// Used returns what a user has stored and in progress. Its Folders is only the
	// number of folders to be created for files in progress.
	Used(ctx context.Context, user events.Principal) (used Limits, at events.Position, err error)
	// UsedIn returns what is stored in a space, and in progress for it.
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

// keys returns the keys under which a hold for a space is counted. The name alone is not
// enough, because the folder may be renamed. The id alone is not enough, because the
// folder may be created after the hold.
func (s Space) keys() []Space {
	if s.Folder == uuid.Nil {
		return []Space{{Name: s.Name}}
	}
	return []Space{{Name: s.Name}, {Folder: s.Folder}, s}
}

// Ledger checks requests against what users have and what other requests have reserved. A
// request's reservation, its Hold, counts until the read models have applied its events.
// Otherwise concurrent requests could exceed a limit together. Other processes on the same
// log have their own ledgers: their requests count when they are in the log.
//
// A nil Ledger limits nothing. It is safe for concurrent use.
type Ledger struct {
	Policy *Policy
	Usage  Usage
	Refuse func(kind string) // called for each refusal; may be nil

	mu      sync.Mutex
	settled []*Hold                       // settled holds whose events the read models may not have applied
	applied events.Position               // by the read models
	users   map[events.Principal]*balance // only users with holds
	spaces  map[Space]*reserved           // by each key of a space
}

// balance is what a user has in the log up to a position, and the total of their holds.
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

// Hold reserves what one request takes until the read models have applied its events. A nil
// Hold reserves nothing. It is not safe for concurrent use.
type Hold struct {
	ledger    *Ledger
	user      events.User
	limits    Limits
	extra     Limits // set by AddUsage
	taken     Limits
	parts     []Part
	settledAt events.Position // 0 until Settle
	counted   bool            // counted in the user's balance
	refusal   error           // the last refusal, or nil
}

// Part is what a request takes in one space.
type Part struct {
	Space
	Takes Limits // bytes and documents
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

// OpenInternal returns a hold for work of the service itself on behalf of a user. The number
// of such holds is not limited. Call Admit on it first: OpenInternal does not read the
// user's usage.
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

// count counts a hold in the balance of its user, unless too many are open.
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

// uncount undoes count. It, countSpaces, uncountSpaces and advance need the ledger locked.
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

// countSpaces counts the hold in its spaces.
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

// advance records the position of the read models, and drops the holds whose events they
// have applied. If the user has open holds, the user's balance may be older than a hold
// that is to be dropped: that hold then stays until the balance has been read again.
// Without open holds the next request reads the balance anyway.
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

// heldIn returns what is held for a space, by its name or its folder.
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
	// A hold with both keys is counted twice.
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

// Take adds n to the hold. If that exceeds the user's limit, it returns the refusal.
func (h *Hold) Take(k Kind, n int64) error {
	if h == nil || h.limits[k] == 0 || n == 0 {
		return nil
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if !h.counted || h.settledAt > 0 {
		return nil // the hold was settled or closed
	}
	if total := h.userTotal(); n > 0 && total[k]+n > h.limits[k] {
		h.refusal = h.refuse(k, total[k]-h.taken[k], h.taken[k]+n)
		return h.refusal
	}
	h.taken[k] += n
	h.ledger.users[h.user.Principal].held[k] += n
	return nil
}

// AddUsage sets how much is added to the user's usage because the read models do not
// count it.
func (h *Hold) AddUsage(k Kind, n int64) {
	if h != nil {
		h.extra[k] = n
	}
}

// Room returns the refusal if the user has no quota left of one of the kinds.
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

// Over returns the last refusal, or nil.
func (h *Hold) Over() error {
	if h == nil {
		return nil
	}
	return h.refusal
}

// Admit sets the hold to the total that a request takes, and checks it against the current
// usage of the user and the spaces. The error is fault.TooLarge if it does not fit, or
// fault.Exhausted if it will fit later.
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
	// Check the user's own limits first: they are in memory, and limit how many spaces
	// have to be read.
	if err := h.admitUser(takes); err != nil {
		return err
	}
	h.ledger.mu.Lock()
	h.countSpaces(parts)
	h.ledger.mu.Unlock()
	for _, p := range parts {
		if err := h.admitSpace(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// admitSpace checks the limits of one space, in which the hold is counted already.
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
	return fault.Errorf(fault.Unavailable, "read the usage of folder %q: it changes too often at the moment: try again later", p.Name)
}

// checkSpace checks the limits of one space against its usage at a position. checked is
// false if another call has read a later position, and may have dropped holds that used
// does not include.
func (h *Hold) checkSpace(p Part, used Limits, at events.Position) (checked bool, err error) {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if at < h.ledger.applied {
		return false, nil
	}
	h.ledger.advance(at)
	total := used.plus(h.ledger.heldIn(p.Space))
	for _, k := range Kinds() {
		if limit := h.ledger.Policy.Folder[k]; limit > 0 && p.Takes[k] > 0 && total[k] > limit {
			h.refusal = h.refuseSpace(k, p)
			return true, h.refusal
		}
	}
	return true, nil
}

// admitUser checks the limits of the user, and sets the hold to takes if that fits.
func (h *Hold) admitUser(takes Limits) error {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	others := h.userTotal().minus(h.taken)
	for _, k := range Kinds() {
		if h.limits[k] > 0 && takes[k] > 0 && others[k]+takes[k] > h.limits[k] {
			h.refusal = h.refuse(k, others[k], takes[k])
			return h.refusal
		}
	}
	b := h.ledger.users[h.user.Principal]
	b.held = b.held.minus(h.taken).plus(takes)
	h.taken = takes
	return nil
}

// Settle records the position of the request's last event in the log. The hold counts until
// the read models have applied it.
func (h *Hold) Settle(at events.Position) {
	if h == nil {
		return
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if !h.counted || h.settledAt > 0 {
		return
	}
	h.settledAt = max(at, 1)
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
	if !h.counted || h.settledAt > 0 {
		return
	}
	h.ledger.users[h.user.Principal].open--
	h.uncountSpaces()
	h.uncount()
}

// countingReader adds the bytes that it reads to a hold, and fails with the refusal if they
// exceed a limit.
type countingReader struct {
	hold *Hold
	from io.Reader
	n    int64
}

// Reader returns a reader that adds the bytes read from r to the hold. Undo removes them
// from the hold again.
func (h *Hold) Reader(r io.Reader) interface {
	io.Reader
	Undo()
} {
	return &countingReader{hold: h, from: r}
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if over := r.hold.Take(Bytes, int64(n)); over != nil {
		return 0, over
	}
	r.n += int64(n)
	return n, err
}

func (r *countingReader) Undo() {
	_ = r.hold.Take(Bytes, -r.n)
	r.n = 0
}

// Refused counts a refusal by a caller that checks limits itself.
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

// With returns a context whose commands use a hold.
func With(ctx context.Context, h *Hold) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// From returns the hold of a context, nil if there is none.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}
