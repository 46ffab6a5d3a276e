package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
)

const (
	// segmentBytes is how much a segment holds, give or take one read, before
	// it is compressed. A backup that is cut off has to take up again at most
	// one segment.
	segmentBytes = 32 << 20
	// maxLost bounds the originals that are missing. More cannot be an accident:
	// the store is another log's.
	maxLost = 1000
)

// Backup is what Run copies, and where to.
type Backup struct {
	Dir       string
	Program   string // version of this program
	Log       *events.Log
	Originals originals.Store
	// Accounts writes a copy of the account store to a new file; nil where
	// there is none.
	Accounts func(ctx context.Context, path string) error
	// Prune also removes originals from the folder that nothing in the log
	// needs any more.
	Prune bool
	// Progress is told how far each step is.
	Progress func(step string, done, total int64)

	was    *Manifest // of the last backup that was whole
	now    *Manifest // of this one, as far as it is
	upTo   events.Position
	names  *names
	copier *copier
	kept   *originals.Dir // in Dir
}

// Result is what a backup did.
type Result struct {
	Manifest *Manifest
	Events   int64 // that are new
	Copied   Count // originals that are new
	Written  int64 // bytes
	Pruned   int   // originals that were removed
	Unread   int   // events that may name originals, but cannot be read
}

// Run takes a backup: the log up to where it ends when Run begins, at least,
// the originals that it needs by then, and the accounts. Of a folder that holds
// a backup it adds what is new, and goes on with one that was cut off. All that
// is written is read back before the manifest tells of it.
//
// A folder that holds anything else, the backup of another log, or one into
// which another backup is under way is fault.Conflict. Originals that are
// needed but lost are no error: the manifest lists them.
func (b *Backup) Run(ctx context.Context) (r Result, err error) {
	unlock, err := lockForWriting(b.Dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := b.begin(ctx); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.copier.discard()) }()
	if err := b.copyAll(ctx); err != nil {
		return r, err
	}
	if err := b.finish(ctx); err != nil {
		return r, err
	}
	if b.Prune {
		r.Pruned, err = b.prune(ctx)
	}
	b.tell(&r)
	return r, err
}

// tell says what was done since the last backup that was whole.
func (b *Backup) tell(r *Result) {
	r.Manifest, r.Events, r.Copied, r.Unread = b.now, b.now.Events-b.was.Events, b.copier.copied, b.names.unread
	r.Written = r.Copied.Bytes
	for _, s := range b.now.Segments[len(b.was.Segments):] {
		r.Written += s.Bytes
	}
	if b.now.Accounts != nil {
		r.Written += b.now.Accounts.Bytes
	}
}

// begin reads what the folder holds, and holds it against the log.
func (b *Backup) begin(ctx context.Context) (err error) {
	if b.was, err = readManifest(b.path(manifestFile)); fault.Is(err, fault.NotFound) {
		b.was, err = &Manifest{Format: format}, nil
	}
	if err != nil {
		return err
	}
	if b.now, err = readManifest(b.path(progressFile)); fault.Is(err, fault.NotFound) {
		copied := *b.was
		b.now, err = &copied, nil
	}
	if err != nil {
		return err
	}
	if err := b.now.fits(func(p events.Position) (Mark, error) { return markAt(ctx, b.Log, p) }); err != nil {
		return fmt.Errorf("back up into %s: %w", b.Dir, err)
	}
	if err := os.MkdirAll(b.path(logDir), 0o700); err != nil {
		return fmt.Errorf("make the folder of segments: %w", err)
	}
	if b.kept, err = originals.OpenDir(b.path(originalsDir)); err != nil {
		return err
	}
	b.names = newNames(b.Log)
	b.copier = &copier{from: b.Originals, to: b.kept}
	return syncPath(b.Dir)
}

func (b *Backup) path(name string) string { return within(b.Dir, name) }

// markAt returns the event at a position; an empty mark where there is none.
func markAt(ctx context.Context, log *events.Log, p events.Position) (Mark, error) {
	records, _, err := log.Records(ctx, p-1, 1)
	if err != nil || len(records) == 0 {
		return Mark{}, err
	}
	return Mark{records[0].Position, records[0].ID}, nil
}

// copyAll copies events and their originals, a segment of them at a time,
// until nothing is missing up to where the log ended at the start. An original
// may be gone because its document was deleted meanwhile: the backup then goes
// on until it holds that too.
func (b *Backup) copyAll(ctx context.Context) (err error) {
	if b.upTo, err = b.Log.Head(ctx); err != nil {
		return err
	}
	lost := b.now.Lost
	b.now.Lost = nil
	for _, n := range lost { // it may be back
		needed, err := b.names.needs(ctx, n.Stream, b.upTo)
		if err == nil && needed {
			err = b.copyOriginal(ctx, n)
		}
		if err != nil {
			return err
		}
	}
	for b.now.Head < b.upTo {
		if err := b.copySegment(ctx); err != nil {
			return err
		}
	}
	return b.copier.flush(ctx)
}

// copySegment copies the next events with the originals that they name, and
// writes down that they are there.
func (b *Backup) copySegment(ctx context.Context) error {
	number := len(b.now.Segments) + 1
	name := fmt.Sprintf("%s/%06d.gz", logDir, number)
	before := b.now.Digest
	made, err := b.writeSegment(ctx, name)
	if err != nil {
		return fmt.Errorf("copy the log after %d: %w", b.now.Head, err)
	}
	err = made.read(ctx, b.path(name), before, func(records []events.Record) error {
		b.Progress("originals", int64(records[0].Position), int64(b.upTo))
		if b.now.First == (Mark{}) {
			b.now.First = Mark{records[0].Position, records[0].ID}
		}
		last := records[len(records)-1]
		b.now.Last = Mark{last.Position, last.ID}
		return b.names.in(ctx, records, b.upTo, func(n Named) error { return b.copyOriginal(ctx, n) })
	})
	if err != nil {
		return err
	}
	if err := b.copier.flush(ctx); err != nil {
		return err
	}
	b.now.Segments = append(b.now.Segments, made)
	b.now.Events += made.Events
	b.now.Head, b.now.Digest = made.Through, made.Digest
	return b.now.write(b.path(progressFile))
}

// writeSegment writes the events that come next into a file of that name.
func (b *Backup) writeSegment(ctx context.Context, name string) (Segment, error) {
	partial := b.path(name) + ".partial"
	w, err := newSegmentWriter(partial, name, b.now.Digest)
	if err != nil {
		return Segment{}, err
	}
	after, err := b.now.Head, error(nil)
	for after < b.upTo && w.raw < segmentBytes && err == nil {
		after, err = b.copyEvents(ctx, w, after)
	}
	made, errFinish := w.finish()
	if err := errors.Join(err, errFinish); err != nil {
		return made, errors.Join(err, os.Remove(partial))
	}
	return made, rename(partial, b.path(name))
}

// copyEvents writes a page of events and returns how far it is.
func (b *Backup) copyEvents(ctx context.Context, w *segmentWriter, after events.Position) (events.Position, error) {
	records, through, err := b.Log.Records(ctx, after, page)
	if err != nil {
		return after, err
	}
	if len(records) == 0 {
		return after, fault.Errorf(fault.Internal, "the log ended at position %d, and holds nothing after %d now", b.upTo, after)
	}
	for _, r := range records {
		if r.Position > b.upTo {
			break
		}
		if err := w.add(r); err != nil {
			return after, err
		}
	}
	b.Progress("events", int64(min(through, b.upTo)), int64(b.upTo))
	return min(through, b.upTo), nil
}

// copyOriginal copies an original that the log needs up to where it is copied.
func (b *Backup) copyOriginal(ctx context.Context, n Named) error {
	err := b.copier.copy(ctx, n)
	var lost *lostError
	if !errors.As(err, &lost) {
		return err
	}
	head, err := b.Log.Head(ctx)
	if err != nil {
		return err
	}
	needed, err := b.names.needs(ctx, n.Stream, head)
	switch {
	case err != nil:
		return err
	case !needed:
		b.upTo = head
		return nil
	case len(b.now.Lost) == maxLost:
		return fault.Errorf(fault.Invalid, "more than %d originals are missing or damaged: is this the store that belongs to the log? The last: %w", maxLost, lost)
	}
	b.now.Lost = append(b.now.Lost, n)
	return nil
}

// finish copies the accounts, and makes the backup count.
func (b *Backup) finish(ctx context.Context) error {
	if err := b.copyAccounts(ctx); err != nil {
		return err
	}
	b.now.Program, b.now.Time = b.Program, time.Now().UTC().Truncate(time.Second)
	if err := b.writeManifest(ctx); err != nil {
		return err
	}
	if err := os.Remove(b.path(progressFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return b.removeOldAccounts()
}

// writeManifest counts the originals and replaces the manifest.
func (b *Backup) writeManifest(ctx context.Context) (err error) {
	if b.now.Originals, err = count(ctx, b.kept); err != nil {
		return err
	}
	return b.now.write(b.path(manifestFile))
}
