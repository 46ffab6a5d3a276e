package compact

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"annals/events"
	"annals/events/fault"
)

// Digest names what a log holds besides some streams.
type Digest struct {
	Events int64 `json:"events"`
	// SHA256, in hex, is over all events in their order: of each the position,
	// id and revision, and the stream, type, metadata and data with their lengths
	// before them.
	SHA256 string `json:"sha256"`
}

// digest reads a log up to a position, but for the streams of a plan.
func (c *Compaction) digest(ctx context.Context, from events.AllReader, step string, p *Plan) (d Digest, err error) {
	removed := make(map[string]bool, len(p.Texts))
	for _, t := range p.Texts {
		removed[t.Stream] = true
	}
	hash := sha256.New()
	var b []byte
	err = c.each(ctx, from, step, p.Head, func(r *events.Record) error {
		if removed[r.Stream] {
			return nil
		}
		b = binary.BigEndian.AppendUint64(b[:0], uint64(r.Position))
		b = append(b, r.ID[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(r.Revision))
		for _, text := range [...]string{r.Stream, r.Type} {
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
		}
		for _, text := range [...][]byte{r.Metadata, r.Data} {
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
		}
		hash.Write(b)
		d.Events++
		return nil
	})
	d.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return d, err
}

// Result is what Run read before it removed anything.
type Result struct {
	// Before and After are of all that stays, and equal: of the log as it was,
	// and of what it was to become.
	Before, After Digest
}

// Run removes what is planned. Before anything counts it reads all that stays,
// and compares that with what stood there before: where anything differs the
// log stays as it was, and the error is fault.Internal. An engine without
// transactions, EventStoreDB, cannot show beforehand what it will be: only Prove
// shows what came of it.
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
			err = fault.Errorf(fault.Internal, "what would be left is not what stood there: %d events with sha256 %s, before %d with %s; nothing was removed",
				r.After.Events, r.After.SHA256, r.Before.Events, r.Before.SHA256)
		}
		return err
	})
	return r, err
}

// Prove reads all that stays once more, after Run and what the engine did to tidy
// up. Where it is not what stood there before, the error is fault.Internal.
func (c *Compaction) Prove(ctx context.Context, p *Plan, r Result) (now Digest, err error) {
	now, err = c.digest(ctx, c.Log, Checking, p)
	if err == nil && now != r.Before {
		err = fault.Errorf(fault.Internal, "the log holds %d events with sha256 %s, and held %d with %s: restore it from a backup",
			now.Events, now.SHA256, r.Before.Events, r.Before.SHA256)
	}
	return now, err
}
