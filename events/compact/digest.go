package compact

import (
	"context"

	"annals/events"
	"annals/events/fault"
)

// digest returns the digest of the log up to p.Head, without the streams that p removes.
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

// Result contains the digests that Run has compared.
type Result struct {
	// Before and After are the digests of all events that stay, before and after the
	// removal. They are equal if Run succeeded.
	Before, After events.Digest
}

// Run removes the texts of the plan. Before the removal is committed, it compares the
// digest of the remaining events with the digest of the same events before the removal.
// If they differ, nothing is removed, and the error is fault.Internal. EventStoreDB has
// no transactions and cannot be read as it will be after the removal, so call Prove
// afterwards.
func (c *Compaction) Run(ctx context.Context, p *Plan) (r Result, err error) {
	if r.Before, err = c.digest(ctx, c.Log, stepDigest, p); err != nil {
		return r, err
	}
	streams := make([]string, len(p.Texts))
	for i, t := range p.Texts {
		streams[i] = t.Stream
	}
	err = c.Log.Remove(ctx, streams, func(left events.AllReader) (err error) {
		if r.After, err = c.digest(ctx, left, stepCheck, p); err == nil && r.After != r.Before {
			err = fault.Errorf(fault.Internal, "the removal would change other events: %d events with sha256 %s instead of %d with %s; nothing was removed",
				r.After.Events, r.After.SHA256, r.Before.Events, r.Before.SHA256)
		}
		return err
	})
	return r, err
}

// Prove reads the log and compares its digest with r.Before. Call it after Run, and
// after the engine has reclaimed the space. If the digests differ, the error is
// fault.Internal.
func (c *Compaction) Prove(ctx context.Context, p *Plan, r Result) (now events.Digest, err error) {
	now, err = c.digest(ctx, c.Log, stepCheck, p)
	if err == nil && now != r.Before {
		err = fault.Errorf(fault.Internal, "the log has %d events with sha256 %s, and had %d with %s before: restore it from a backup",
			now.Events, now.SHA256, r.Before.Events, r.Before.SHA256)
	}
	return now, err
}
