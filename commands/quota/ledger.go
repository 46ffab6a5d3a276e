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

// Usage is what a Ledger asks of the read side. What it returns holds by the log
// up to the position that comes with it.
type Usage interface {
	// Used returns what a user has stored and in work; of Folders those alone
	// that are still to be made for files in work.
	Used(ctx context.Context, user events.Principal) (used Limits, at events.Position, err error)
	// UsedIn returns what lies in a space and is in work for it.
	UsedIn(ctx context.Context, s Space) (used Limits, at events.Position, err error)
	// UsedBelow returns what lies in a folder and below it.
	UsedBelow(ctx context.Context, folder uuid.UUID) (used Limits, err error)
}

// Space is a folder that has limits: one at the top level, or a user's own in
// the inbox. Folder is uuid.Nil while there is none of that name.
type Space struct {
	Folder uuid.UUID
	Name   string
}

// keys are what a space is found by: its folder may get another name, and what
// was held for a name may have been made meanwhile.
func (s Space) keys() []Space {
	if s.Folder == uuid.Nil {
		return []Space{{Name: s.Name}}
	}
	return []Space{{Name: s.Name}, {Folder: s.Folder}, s}
}

// Ledger judges what users ask for by what they have, and by what is being taken
// at the moment: from when something is asked for until the read side has seen
// it. So what comes at once does not pass together. Other processes on the same
// log have ledgers of their own: what is under way there counts once it is
// in the log.
//
// A nil Ledger lets everything through. It is safe for use by several goroutines.
type Ledger struct {
	Policy *Policy
	Usage  Usage
	Refuse func(kind string) // is called for each refusal. May be nil

	mu      sync.Mutex
	settled []*Hold // of which the read side may not have seen everything
	seen    events.Position
	users   map[events.Principal]*balance // of whom there are holds
	spaces  map[Space]*sum                // what is held for each of the keys of spaces
}

// balance is what a user is known to use, by the log up to a position, and the
// sum of what his holds take besides.
type balance struct {
	used  Limits
	at    events.Position
	held  Limits
	holds int
	open  int // of them, of requests under way
}

// sum is what is held for spaces.
type sum struct {
	held  Limits
	holds int
}

// Hold is what one request takes, until the read side has seen it. A nil Hold
// takes nothing. Its methods may not be called at the same time.
type Hold struct {
	ledger *Ledger
	user   events.User
	limits Limits
	have   Limits // that the read side is not asked for
	taken  Limits
	parts  []Part
	until  events.Position // of the append that made it count; 0 before
	counts bool            // in the user's balance
	over   error
}

// Part is what goes into one space.
type Part struct {
	Space
	Takes Limits // bytes and documents
}

// Open begins to hold for a request of a user, of which not too many may be under
// way.
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

// Place is Open of a request that is bounded by how many are under way alone.
func (l *Ledger) Place(ctx context.Context, user events.User) (*Hold, error) {
	return l.begin(ctx, user, maxOpen)
}

// Begin is Open of what the service does for a user by itself. Admit has to
// come first: until then it is not known what the user has.
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

// maxOpen is how many requests of one user take something at the same time: each
// costs a connection and a file until it is done, however little it sends.
const maxOpen = 64

// join has a hold count for its user, of whom not too many may be open.
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
		return fault.Later("uploads", time.Second, "%d of your uploads are under way, and more are not taken at once: send the next when one is answered", maxOpen)
	}
	b.holds++
	b.open++
	h.counts = true
	return nil
}

// leave undoes join. The ledger is locked, as in all below.
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

// enter has the hold count in the spaces that it goes to.
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

// refresh asks the read side what the user has.
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

// pass notes how far the read side has come, and lets go of what is counted
// there. A user's hold counts until the balance knows of it too; where nothing of
// his is under way, it is asked for before anything is judged by it.
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

// userNow returns what the hold's user has, with all that is held and not seen
// yet.
func (h *Hold) userNow() Limits {
	b := h.ledger.users[h.user.Principal]
	return b.used.plus(h.have).plus(b.held)
}

// heldFor returns what is held for a space, by its name or its folder.
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
	// What is held by both is in both.
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

// Take adds to what is held, and takes it back where that is more than the
// user may have.
func (h *Hold) Take(k Kind, n int64) error {
	if h == nil || h.limits[k] == 0 || n == 0 {
		return nil
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if !h.counts || h.until > 0 {
		return nil // it is in the log, or given back
	}
	if now := h.userNow(); n > 0 && now[k]+n > h.limits[k] {
		h.over = h.refuse(k, now[k]-h.taken[k], h.taken[k]+n)
		return h.over
	}
	h.taken[k] += n
	h.ledger.users[h.user.Principal].held[k] += n
	return nil
}

// Have says what the user has of a kind, besides what the read side tells.
func (h *Hold) Have(k Kind, n int64) {
	if h != nil {
		h.have[k] = n
	}
}

// Room returns an error where a user has no room for anything more of a kind.
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

// Over returns why something was refused, nil where nothing was.
func (h *Hold) Over() error {
	if h == nil {
		return nil
	}
	return h.over
}

// Admit makes the hold what a request takes in full, in place of what was taken
// so far, and judges it by what is known now of its user and of the spaces it
// goes to. What does not fit is fault.TooLarge, or fault.Exhausted where it
// will fit in a while.
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
	// The user's own limits come first: they are known already, and bound how
	// many spaces there are to ask about.
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

// admitSpace is Admit by the limits of one space, for which the hold counts
// already.
func (h *Hold) admitSpace(ctx context.Context, p Part) error {
	const tries = 100
	for range tries {
		used, at, err := h.ledger.Usage.UsedIn(ctx, p.Space)
		if err != nil {
			return err
		}
		if judged, err := h.judgeSpace(p, used, at); judged || err != nil {
			return err
		}
	}
	return fault.Errorf(fault.Unavailable, "what folder %q holds cannot be told at the moment", p.Name)
}

// judgeSpace is not judged where something was let go of that used does not have
// yet: others came to know more of the log meanwhile.
func (h *Hold) judgeSpace(p Part, used Limits, at events.Position) (judged bool, err error) {
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

// admitUser is Admit by the limits of the user alone.
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

// Settle says that what is held is in the log, at a position: it counts until
// the read side has passed that.
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

// Close gives back what is held and was not settled.
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

// Reader is a reader that takes the bytes as they come, and ends with the
// refusal where they are too many.
type Reader struct {
	hold *Hold
	from io.Reader
	n    int64
}

// Reader returns a reader of r that takes its bytes.
func (h *Hold) Reader(r io.Reader) *Reader { return &Reader{hold: h, from: r} }

// Read is that of io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if over := r.hold.Take(Bytes, int64(n)); over != nil {
		return 0, over
	}
	r.n += int64(n)
	return n, err
}

// Undo gives back what was taken.
func (r *Reader) Undo() {
	_ = r.hold.Take(Bytes, -r.n)
	r.n = 0
}

// Refused counts a refusal that was made elsewhere, by the limits that Of
// returns.
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

// From returns the hold of a context, nil where there is none.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}
