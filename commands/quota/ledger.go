package quota

import (
	"cmp"
	"context"
	"fmt"
	"io"
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

// same reports whether two spaces are one, which may have been made between.
func (s Space) same(other Space) bool {
	return s.Folder != uuid.Nil && s.Folder == other.Folder || s.Name == other.Name
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

	mu     sync.Mutex
	holds  []*Hold                       // of which the read side may not have seen everything
	users  map[events.Principal]*balance // of whom there are holds
	spaces map[Space]*balance
}

// balance is what is known to be used, by the log up to a position.
type balance struct {
	used  Limits
	at    events.Position
	holds []*Hold // that count in it
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
	ended  bool
	over   error
}

// Part is what goes into one space.
type Part struct {
	Space
	Takes Limits // bytes and documents
}

// Open begins to hold for a user, who must not have used up what he may upload.
func (l *Ledger) Open(ctx context.Context, user events.User) (*Hold, error) {
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
	l.mu.Lock()
	if l.users == nil {
		l.users, l.spaces = make(map[events.Principal]*balance), make(map[Space]*balance)
	}
	if l.users[user.Principal].open() >= maxOpen {
		l.mu.Unlock()
		l.refused(Imports)
		return nil, fault.Later(time.Second, "%d of your uploads are under way, and more are not taken at once: send the next when one is answered", maxOpen)
	}
	join(l.users, user.Principal, h)
	l.holds = append(l.holds, h)
	l.mu.Unlock()
	if err := h.refresh(ctx); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// maxOpen is how many requests of one user take something at the same time: each
// costs a connection and a file until it is done, however little it sends.
const maxOpen = 64

// open returns how many holds are of requests under way.
func (b *balance) open() (n int) {
	if b == nil {
		return 0
	}
	for _, h := range b.holds {
		if h.until == 0 {
			n++
		}
	}
	return n
}

// join has a hold count in a balance.
func join[K comparable](all map[K]*balance, key K, h *Hold) {
	if all[key] == nil {
		all[key] = new(balance)
	}
	all[key].holds = append(all[key].holds, h)
}

// leave undoes join.
func leave[K comparable](all map[K]*balance, key K, h *Hold) {
	b := all[key]
	if b == nil {
		return
	}
	b.holds = slices.DeleteFunc(b.holds, func(other *Hold) bool { return other == h })
	if len(b.holds) == 0 {
		delete(all, key)
	}
}

// refresh asks the read side what the user has.
func (h *Hold) refresh(ctx context.Context) error {
	used, at, err := h.ledger.Usage.Used(ctx, h.user.Principal)
	if err != nil {
		return err
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	h.ledger.learn(h.ledger.users[h.user.Principal], used, at)
	return nil
}

// learn takes over what the read side said, unless something later is known, and
// lets go of holds that nobody needs any more.
func (l *Ledger) learn(b *balance, used Limits, at events.Position) {
	if at >= b.at {
		b.used, b.at = used, at
	}
	l.holds = slices.DeleteFunc(l.holds, func(h *Hold) bool {
		if !h.passed(l) {
			return false
		}
		h.end()
		return true
	})
}

// passed reports whether every balance that the hold counts in has seen it.
func (h *Hold) passed(l *Ledger) bool {
	if h.until == 0 {
		return false
	}
	if b := l.users[h.user.Principal]; b.at < h.until {
		return false
	}
	return !slices.ContainsFunc(h.parts, func(p Part) bool { return l.spaces[p.Space].at < h.until })
}

// end leaves the balances. The ledger is locked.
func (h *Hold) end() {
	if h.ended {
		return
	}
	h.ended = true
	leave(h.ledger.users, h.user.Principal, h)
	for _, p := range h.parts {
		leave(h.ledger.spaces, p.Space, h)
	}
}

// userNow returns what the hold's user has, with all that is held and not seen
// yet.
func (h *Hold) userNow() Limits {
	b := h.ledger.users[h.user.Principal]
	now := b.used.plus(h.have)
	for _, other := range b.holds {
		if other.until == 0 || other.until > b.at {
			now = now.plus(other.taken)
		}
	}
	return now
}

// spaceNow is userNow of a space.
func (l *Ledger) spaceNow(s Space) Limits {
	b := l.spaces[s]
	now := b.used
	for _, h := range l.holds {
		for _, p := range h.parts {
			if p.same(s) && (h.until == 0 || h.until > b.at) {
				now = now.plus(p.Takes)
			}
		}
	}
	return now
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
	h.taken[k] += n
	if now := h.userNow(); n > 0 && now[k] > h.limits[k] {
		h.taken[k] -= n
		h.over = h.refuse(k, now[k]-n-h.taken[k], h.taken[k]+n)
		return h.over
	}
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
	h.join(parts)
	for _, p := range parts {
		used, at, err := h.ledger.Usage.UsedIn(ctx, p.Space)
		if err != nil {
			return err
		}
		h.ledger.mu.Lock()
		h.ledger.learn(h.ledger.spaces[p.Space], used, at)
		h.ledger.mu.Unlock()
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	for _, p := range h.parts {
		now := h.ledger.spaceNow(p.Space)
		for _, k := range Kinds() {
			if limit := h.ledger.Policy.Folder[k]; limit > 0 && p.Takes[k] > 0 && now[k] > limit {
				h.over = h.refuseSpace(k, p)
				return h.over
			}
		}
	}
	return nil
}

// admitUser is Admit by the limits of the user alone.
func (h *Hold) admitUser(takes Limits) error {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	before := h.taken
	h.taken = takes
	now := h.userNow()
	for _, k := range Kinds() {
		if h.limits[k] > 0 && takes[k] > 0 && now[k] > h.limits[k] {
			h.taken = before
			h.over = h.refuse(k, now[k]-takes[k], takes[k])
			return h.over
		}
	}
	return nil
}

// join has the hold count in the spaces that it goes to.
func (h *Hold) join(parts []Part) {
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	for _, p := range h.parts {
		leave(h.ledger.spaces, p.Space, h)
	}
	h.parts = parts
	for _, p := range parts {
		join(h.ledger.spaces, p.Space, h)
	}
}

// Settle says that what is held is in the log, at a position: it counts until
// the read side has passed that.
func (h *Hold) Settle(at events.Position) {
	if h == nil {
		return
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	h.until = max(at, 1)
}

// Close gives back what is held and was not settled.
func (h *Hold) Close() {
	if h == nil {
		return
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if h.until > 0 {
		return
	}
	h.ledger.holds = slices.DeleteFunc(h.ledger.holds, func(other *Hold) bool { return other == h })
	h.end()
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

// things are what is counted, in the words of a refusal.
var things = [kinds]string{
	Bytes: "stored and in work", Documents: "documents, with files in work", Folders: "folders, with those that files in work are to make",
	Shares: "entries in permission lists of folders", Imports: "files in work",
}

// ways are what to do about it.
var ways = [kinds]string{
	Bytes:     "Delete documents, or ask whoever operates the service for more (annals user quota). Files that failed count for up to 30 hours",
	Documents: "Delete documents, or ask whoever operates the service for more (annals user quota)",
	Folders:   "Delete folders, or ask whoever operates the service for more (annals user quota)",
	Shares:    "Take entries out of lists, or share with a group; or ask whoever operates the service for more (annals user quota)",
	Imports:   "Send the rest when some are done; whoever operates the service can raise the limit (annals user quota)",
}

// busy is when to try again while too many files are in work.
const busy = 15 * time.Second

func (h *Hold) refuse(k Kind, has, wants int64) error {
	h.ledger.refused(k)
	return Refusal(k, has, wants, h.limits[k])
}

// Refusal is the error that a user is told who has some of a kind, and wants
// more than the limit.
func Refusal(k Kind, has, wants, limit int64) error {
	more := "there is no room for more"
	if left := limit - has; left > 0 {
		more = "there is room for " + k.Show(left) + " more, and this takes more than that"
	}
	text := fmt.Sprintf("you have %s %s, and the limit is %s: %s. %s", k.Show(has), things[k], k.Show(limit), more, ways[k])
	if k == Imports && wants <= limit {
		return fault.Later(busy, "%s", text)
	}
	return fault.Errorf(fault.TooLarge, "%s", text)
}

// refuseSpace tells only what is in a folder's limits: its user may not see all
// that lies there.
func (h *Hold) refuseSpace(k Kind, p Part) error {
	h.ledger.refused(k)
	return fault.Errorf(fault.TooLarge, "there is no room for %s more in folder %q, which may have %s with all below it: "+
		"delete some of what is there, file it elsewhere, or ask whoever operates the service (--quota-folder-%s)",
		amount(k, p.Takes[k]), cmp.Or(p.Name, "there"), amount(k, h.ledger.Policy.Folder[k]), k)
}

func amount(k Kind, n int64) string {
	if k == Bytes {
		return k.Show(n)
	}
	return fmt.Sprintf("%s %s", k.Show(n), k)
}

func (l *Ledger) refused(k Kind) {
	if l.Refuse != nil {
		l.Refuse(k.String())
	}
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
