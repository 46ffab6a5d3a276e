package compact

import (
	"context"

	"annals/events"
	"annals/events/fault"
)

// digest reads a log up to a position, but for the streams of a plan.
func (c *Compaction) digest(ctx context.Context, from events.AllReader, step string, p *Plan) (_ events.Digest, err error) {
	removed := make(map[string]bool, len(p.Texts))
	for _, t := range p.Texts {
		removed[t.Stream] = true
	}
	digest := events.Digester{Positions: true}
	err = c.each(ctx, from, step, p.Head, func(r *events.Record) error {
		if !removed[r.Stream] {
			digest.Add(r)
		}
		return nil
	})
	return digest.Sum(), err
}

// Result is what Run read before it removed anything.
type Result struct {
	// Before and After are of everything that stays, and equal: of the log
	// before the removal, and of what it would be after it.
	Before, After events.Digest
}

// Run removes what is planned. Before the removal takes effect it reads everything
// that stays and compares it with the log before: if anything differs, nothing is
// removed and the error is fault.Internal. EventStoreDB has no transactions and
// cannot show the result beforehand: there only Prove does.
func (c *Compaction) Run(ctx context.Context, p *Plan) (r Result, err error) {
	if r.Before, err = c.digest(ctx, c.Log, Digests, p); err != nil {
		return r, err
	}
	streams := make([]string, len(p.Texts))
	for i, t := range p.Texts {
		streams[i] = t.Stream
	}
	err = c.Log.Remove(ctx, streams, func(left events.AllReader) (err error) {
		if r.After, err = c.digest(ctx, left, Checking, p); err == nil && r.After != r.Before {
			err = fault.Errorf(fault.Internal, "the log without the texts would not be what it was: %d events with sha256 %s instead of %d with %s; nothing was removed",
				r.After.Events, r.After.SHA256, r.Before.Events, r.Before.SHA256)
		}
		return err
	})
	return r, err
}

// Prove reads everything once more, after Run and after the engine has reclaimed
// the space. If it is not what it was before, the error is fault.Internal.
func (c *Compaction) Prove(ctx context.Context, p *Plan, r Result) (now events.Digest, err error) {
	now, err = c.digest(ctx, c.Log, Checking, p)
	if err == nil && now != r.Before {
		err = fault.Errorf(fault.Internal, "the log holds %d events with sha256 %s, and held %d with %s: restore it from a backup",
			now.Events, now.SHA256, r.Before.Events, r.Before.SHA256)
	}
	return now, err
}
