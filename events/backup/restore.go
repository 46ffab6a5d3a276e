package backup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
)

// Load writes events to an empty log, keeps their positions, and opens the log. If the
// sequence yields an error, Load returns that error.
type Load func(ctx context.Context, batches iter.Seq2[[]events.Record, error]) (*events.Log, error)

// Restore has the parameters of a restore.
type Restore struct {
	Location  Location // of the backup
	Load      Load
	Originals originals.Store
	Accounts  string // path of the account store to create
	// Progress is called with the progress of each step.
	Progress func(step string, done, total int64)
}

// Run restores the log, the originals that it needs, and the accounts. It verifies all
// files while reading, and the complete log at the end. After an error the restored data
// is unusable. Originals that were lost before the backup are skipped. Run returns the
// manifest, and the number and size of the originals that the log needs.
func (r *Restore) Run(ctx context.Context) (m *Manifest, needed Count, err error) {
	release, err := r.Location.RLock(ctx)
	if err != nil {
		return nil, needed, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if m, err = LoadManifest(ctx, r.Location); err != nil {
		return nil, needed, err
	}
	existing, err := count(ctx, r.Originals) // left by an interrupted restore
	if err != nil {
		return m, needed, err
	}
	c := &copier{from: r.Location.View(), to: r.Originals, unverified: existing != Count{}}
	defer func() { err = errors.Join(err, c.discard()) }()
	if err := m.load(ctx, r.Location, r.Load, r.Progress, func(n Named) error { return c.copy(ctx, n) }); err != nil {
		return m, needed, err
	}
	if err := c.flush(ctx); err != nil {
		return m, needed, err
	}
	if needed, err = count(ctx, r.Originals); err != nil {
		return m, needed, err
	}
	return m, needed, r.accounts(ctx, m)
}

func (r *Restore) accounts(ctx context.Context, m *Manifest) error {
	if m.Accounts == nil {
		return nil
	}
	f, err := os.OpenFile(r.Accounts, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("restore the accounts: %w", err)
	}
	return errors.Join(m.Accounts.copyTo(ctx, r.Location, f), f.Sync(), f.Close())
}

// load loads the events of a backup into a log, verifies the log, and calls each for
// every original that the log needs, except lost originals.
func (m *Manifest) load(ctx context.Context, p Location, into Load, progress func(string, int64, int64), each func(Named) error) (err error) {
	log, err := into(ctx, func(yield func([]events.Record, error) bool) {
		for records, err := range m.records(ctx, p) {
			if len(records) > 0 {
				progress("events", int64(records[0].Position), int64(m.Head))
			}
			if !yield(records, err) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	lost := make(map[string]bool)
	for _, n := range m.Lost {
		lost[n.SHA256] = true
	}
	var digest Digest
	var buf []byte
	names := newNames(log)
	for after := events.Position(0); after < m.Head; {
		records, through, err := log.Records(ctx, after, page)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			buf = appendRecord(buf[:0], r)
			digest.add(buf)
		}
		err = names.in(ctx, records, m.Head, func(n Named) error {
			if lost[n.SHA256] {
				return nil
			}
			return each(n)
		})
		if err != nil {
			return err
		}
		progress("originals", int64(through), int64(m.Head))
		after = through
	}
	if digest != m.Digest {
		return fault.Errorf(fault.Internal, "the restored events differ from those that were backed up")
	}
	return nil
}
