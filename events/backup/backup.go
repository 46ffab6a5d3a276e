// Package backup copies a log, its originals and the accounts to a Location while the
// service runs, and restores them. A Location is a folder, or a prefix in an S3 bucket.
// It contains:
//
//   - manifest.json, written last
//   - log/, the events in immutable segments: gzip of length-prefixed records
//   - originals/, named by the SHA-256 of their bytes
//   - a copy of the account store
//
// A backup to a Location that already has one only adds what is new. Memory use does
// not depend on the number of events or documents.
//
// The package imports events, events/fault, events/originals and events/s3, and no
// other package of this module.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
)

// segmentBytes is the approximate size of a segment before compression. A backup that
// continues after an interruption repeats at most one segment. Tests set a lower size.
var segmentBytes int64 = 16 << 20

// maxLost is the maximum number of originals that may be missing from the store of the
// service. If more are missing, the store probably belongs to another log.
const maxLost = 1000

// Backup has the parameters of a backup.
type Backup struct {
	Location  Location
	Program   string // version of Annals
	Log       *events.Log
	Originals originals.Store
	// Accounts writes a copy of the account store to a new file at path. It is nil if the
	// service has no accounts.
	Accounts func(ctx context.Context, path string) error
	// Prune also removes originals that the log no longer needs from the backup.
	Prune bool
	// Progress is called with the progress of each step.
	Progress func(step string, done, total int64)
}

// run is one call of Run.
type run struct {
	*Backup
	previous *Manifest       // manifest of the last complete backup
	manifest *Manifest       // manifest of this backup so far
	before   Count           // originals in the backup at the start
	upTo     events.Position // position up to which this backup copies the log
	names    *names
	copier   *copier
	store    originals.Store // originals in the backup
}

// Result describes what a backup has added and removed.
type Result struct {
	Manifest *Manifest
	Events   int64 // number of new events
	Copied   Count // new originals
	Written  int64 // bytes written to the backup
	Pruned   int   // number of removed originals
	Unread   int   // number of events that cannot be decoded and may name originals
}

// Run backs up the log, at least up to its head when Run begins, the originals that
// the log needs at that position, and the accounts. It adds to an existing backup and
// continues an interrupted one. All files are read back before the manifest lists them.
//
// The error is fault.Conflict if another backup is using the location, or if the
// location contains other files, the backup of another log, or accounts although the
// service has no accounts now. Missing originals are not an error: the manifest lists
// them.
func (b *Backup) Run(ctx context.Context) (r Result, err error) {
	ctx, release, err := b.Location.Lock(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, release()) }()
	t, err := b.begin(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, t.copier.discard()) }()
	if err := t.copyAll(ctx); err != nil {
		return r, err
	}
	if err := t.finish(ctx); err != nil {
		return r, err
	}
	if b.Prune {
		r.Pruned, err = t.prune(ctx)
	}
	t.summary(&r)
	return r, err
}

// begin reads the manifest and checks it against the log.
func (b *Backup) begin(ctx context.Context) (t *run, err error) {
	t = &run{Backup: b, names: newNames(b.Log)}
	if t.previous, err = readManifest(ctx, b.Location, manifestFile); fault.Is(err, fault.NotFound) {
		t.previous, err = &Manifest{Format: format}, nil
	}
	if err != nil {
		return nil, err
	}
	if t.manifest, err = readManifest(ctx, b.Location, progressFile); fault.Is(err, fault.NotFound) {
		now := *t.previous
		t.manifest, err = &now, nil
	}
	if err != nil {
		return nil, err
	}
	if err := t.manifest.matches(func(p events.Position) (Mark, error) { return markAt(ctx, b.Log, p) }); err != nil {
		return nil, fmt.Errorf("back up to %s: %w", b.Location, err)
	}
	if b.Accounts == nil && t.previous.Accounts != nil {
		return nil, fault.Errorf(fault.Conflict, "the backup in %s holds accounts, but this data folder has none, so that a new backup would remove them: use the data folder that has accounts, or back up to another folder or prefix", b.Location)
	}
	if t.store, err = b.Location.Originals(ctx); err != nil {
		return nil, err
	}
	held, err := t.present(ctx)
	if err != nil {
		return nil, err
	}
	t.before = t.manifest.Originals
	t.copier = &copier{from: b.Originals, to: t.store, unverified: held != t.before}
	return t, nil
}

// present returns the number and size of the originals in the backup. The error is
// fault.Conflict if files of the backup are missing or truncated, because adding to a
// corrupt backup is useless. File contents are not read.
func (t *run) present(ctx context.Context) (held Count, err error) {
	sizes, err := t.Location.Files(ctx, logDir)
	if err != nil {
		return held, err
	}
	for _, s := range t.manifest.Segments {
		if size, exists := sizes[s.Name]; !exists || size != s.Bytes {
			return held, t.corrupt("the segment " + s.Name + " is missing or truncated")
		}
	}
	if held, err = count(ctx, t.store); err != nil {
		return held, err
	}
	if want := t.manifest.Originals; held.Files < want.Files || held.Bytes < want.Bytes {
		return held, t.corrupt(fmt.Sprintf("it has %d originals with %d bytes instead of %d with %d", held.Files, held.Bytes, want.Files, want.Bytes))
	}
	return held, nil
}

func (t *run) corrupt(reason string) error {
	return fault.Errorf(fault.Conflict, "the backup in %s is corrupt: %s; list all problems with annals backup --verify, or back up to another folder or prefix", t.Location, reason)
}

// summary fills in r: what was added since the last complete backup.
func (t *run) summary(r *Result) {
	r.Manifest, r.Events, r.Copied, r.Unread = t.manifest, t.manifest.Events-t.previous.Events, t.copier.copied, t.names.unread
	r.Written = r.Copied.Bytes
	for _, s := range t.manifest.Segments[len(t.previous.Segments):] {
		r.Written += s.Bytes
	}
	if t.manifest.Accounts != nil {
		r.Written += t.manifest.Accounts.Bytes
	}
}

// markAt returns the mark of the event at a position, or of the next event if no event
// has that position. If there is no later event either, the mark is empty.
func markAt(ctx context.Context, log *events.Log, p events.Position) (Mark, error) {
	records, _, err := log.Records(ctx, p-1, 1)
	if err != nil || len(records) == 0 {
		return Mark{}, err
	}
	return Mark{records[0].Position, records[0].ID}, nil
}

// copyAll copies all events up to the current head, segment by segment, and their
// originals. If an original is missing because its document has just been deleted,
// copyAll raises upTo to the current head, so that the backup includes the deletion.
func (t *run) copyAll(ctx context.Context) (err error) {
	if t.upTo, err = t.Log.Head(ctx); err != nil {
		return err
	}
	lost := t.manifest.Lost
	t.manifest.Lost = nil
	for _, n := range lost { // the original may have been uploaded again
		needed, err := t.names.needs(ctx, n.Stream, t.upTo)
		if err == nil && needed {
			err = t.copyOriginal(ctx, n)
		}
		if err != nil {
			return err
		}
	}
	for t.manifest.Head < t.upTo {
		if err := t.copySegment(ctx); err != nil {
			return err
		}
	}
	if err := t.copier.flush(ctx); err != nil {
		return err
	}
	return t.updateLost(ctx)
}

// updateLost removes originals from the list of lost originals if the backup has them
// now, because they were uploaded again with another document.
func (t *run) updateLost(ctx context.Context) error {
	var lost []Named
	for _, n := range t.manifest.Lost {
		switch err := has(ctx, t.store, n.SHA256); {
		case fault.Is(err, fault.NotFound), fault.Is(err, fault.Invalid):
			lost = append(lost, n)
		case err != nil:
			return err
		}
	}
	t.manifest.Lost = lost
	return nil
}

// copySegment copies the next events with their originals, and saves the progress.
func (t *run) copySegment(ctx context.Context) error {
	number := len(t.manifest.Segments) + 1
	name := fmt.Sprintf("%s/%06d.gz", logDir, number)
	before := t.manifest.Digest
	made, err := t.writeSegment(ctx, name)
	if err != nil {
		return fmt.Errorf("copy the log after %d: %w", t.manifest.Head, err)
	}
	err = made.read(ctx, t.Location, before, func(records []events.Record) error {
		t.Progress("originals", int64(records[0].Position), int64(t.upTo))
		if t.manifest.First == (Mark{}) {
			if at := slices.IndexFunc(records, func(r events.Record) bool { return !events.IsText(r.Stream) }); at >= 0 {
				t.manifest.First = Mark{records[at].Position, records[at].ID}
			}
		}
		for _, r := range slices.Backward(records) {
			if !events.IsText(r.Stream) { // marks must not be text events, because compaction may remove them
				t.manifest.Last = Mark{r.Position, r.ID}
				break
			}
		}
		return t.names.in(ctx, records, t.upTo, func(n Named) error { return t.copyOriginal(ctx, n) })
	})
	if err != nil {
		return err
	}
	if err := t.copier.flush(ctx); err != nil {
		return err
	}
	t.manifest.Segments = append(t.manifest.Segments, made)
	t.manifest.Events += made.Events
	t.manifest.Head, t.manifest.Digest = made.Through, made.Digest
	copied := t.copier.copied
	t.manifest.Originals = Count{t.before.Files + copied.Files, t.before.Bytes + copied.Bytes}
	return t.manifest.write(ctx, t.Location, progressFile)
}

// writeSegment writes the next events to a file.
func (t *run) writeSegment(ctx context.Context, name string) (made Segment, err error) {
	err = t.Location.Write(ctx, name, func(to io.Writer) error {
		w, err := newSegmentWriter(to, name, t.manifest.Digest)
		if err != nil {
			return err
		}
		for after := t.manifest.Head; after < t.upTo && w.raw < segmentBytes; {
			if after, err = t.copyEvents(ctx, w, after); err != nil {
				return err
			}
		}
		made, err = w.finish()
		return err
	})
	return made, err
}

// copyEvents writes a page of events and returns the last position.
func (t *run) copyEvents(ctx context.Context, w *segmentWriter, after events.Position) (events.Position, error) {
	records, through, err := t.Log.Records(ctx, after, page)
	if err != nil {
		return after, err
	}
	if len(records) == 0 {
		return after, fault.Errorf(fault.Internal, "the log was truncated: its last position was %d, and now it has no events after %d", t.upTo, after)
	}
	for _, r := range records {
		if r.Position > t.upTo {
			break
		}
		if err := w.add(r); err != nil {
			return after, err
		}
	}
	t.Progress("events", int64(min(through, t.upTo)), int64(t.upTo))
	return min(through, t.upTo), nil
}

// copyOriginal copies an original. If the original is missing, it is recorded as lost,
// unless its document was deleted in the meantime.
func (t *run) copyOriginal(ctx context.Context, n Named) error {
	err := t.copier.copy(ctx, n)
	var lost *lostError
	if !errors.As(err, &lost) {
		return err
	}
	head, err := t.Log.Head(ctx)
	if err != nil {
		return err
	}
	needed, err := t.names.compute(ctx, n.Stream, head)
	switch {
	case err != nil:
		return err
	case !needed:
		t.upTo = head
		return nil
	case slices.Contains(t.manifest.Lost, n): // another event of the document names this original, too
		return nil
	case len(t.manifest.Lost) == maxLost:
		return fault.Errorf(fault.Invalid, "more than %d originals are missing or corrupt: check that this store belongs to the log; the last error: %w", maxLost, lost)
	}
	t.manifest.Lost = append(t.manifest.Lost, n)
	return nil
}

// finish copies the accounts, and writes the manifest.
func (t *run) finish(ctx context.Context) (err error) {
	if err := t.copyAccounts(ctx); err != nil {
		return err
	}
	t.manifest.Program, t.manifest.Time = t.Program, time.Now().UTC().Truncate(time.Second)
	if t.manifest.Originals, err = count(ctx, t.store); err != nil {
		return err
	}
	if err := t.manifest.write(ctx, t.Location, manifestFile); err != nil {
		return err
	}
	if err := t.Location.Remove(ctx, progressFile); err != nil {
		return err
	}
	return t.removeOldAccounts(ctx)
}
