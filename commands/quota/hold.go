package quota

import (
	"context"
	"io"

	"annals/events"
	"annals/events/fault"
)

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
	counted   bool            // the hold is included in the user's balance
	refusal   error           // the last refusal, or nil
}

// Part is what a request takes in one space.
type Part struct {
	Space
	Takes Limits // bytes and documents
}

// Take adds n to the hold. If the user's limit would be exceeded, it returns the refusal.
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

// AddUsage sets an amount that counts in addition to what the read models report for the
// user.
func (h *Hold) AddUsage(k Kind, n int64) {
	if h != nil {
		h.extra[k] = n
	}
}

// Room returns the refusal if no quota of one of the kinds is left.
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

// Admit sets the hold to the total that a request takes, and checks the limits of the user
// and of the spaces. The error is fault.TooLarge if the request exceeds a limit, or
// fault.Exhausted if it would not exceed it later.
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

// checkSpace checks the limits of one space against its usage at the position at. checked is
// false if another call has read the usage at a later position: that call may have dropped
// holds whose events are not in used.
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

// admitUser checks the limits of the user. If takes fits, it sets the hold to takes.
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

// Settle records the position of the last event that the request has appended. The hold
// counts until the read models have applied that event.
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

// countingReader adds the bytes that it reads to a hold. If they exceed a limit, Read
// returns the refusal.
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

type holdKey struct{}

// With returns a context whose commands use a hold.
func With(ctx context.Context, h *Hold) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// From returns the hold of a context, nil if there is none.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}
