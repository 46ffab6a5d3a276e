// Package backup copies a log, its originals and the accounts to a Place while the
// service runs, and restores them. A Place is a folder, or a prefix of a bucket in
// S3. It contains:
//
//   - manifest.json, written last
//   - log/, the events in immutable segments: gzip of length-prefixed records
//   - originals/, named by the SHA-256 of their bytes
//   - a copy of the account store
//
// A backup into a Place that already holds one only adds what is new. Memory does
// not grow with the number of events or documents.
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

// segmentBytes is the approximate size of a segment before compression. An
// interrupted backup repeats at most one segment. Tests set it lower.
var segmentBytes int64 = 16 << 20

// maxLost is how many missing originals a backup tolerates. If more are missing, the
// store probably belongs to another log.
const maxLost = 1000

// Backup is what Run copies, and where to.
type Backup struct {
	Place     Place
	Program   string // version of this program
	Log       *events.Log
	Originals originals.Store
	// Accounts writes a copy of the account store to a new file. It is nil if the
	// service never had accounts.
	Accounts func(ctx context.Context, path string) error
	// Prune also removes originals that the log no longer needs from the backup.
	Prune bool
	// Progress is called with the progress of each step.
	Progress func(step string, done, total int64)
}

// taking is one call of Run.
type taking struct {
	*Backup
	was    *Manifest       // of the last complete backup
	now    *Manifest       // of this backup so far
	begun  Count           // originals that the backup held at the start
	upTo   events.Position // the log is copied up to here
	names  *names
	copier *copier
	kept   originals.Store // of the backup
}

// Result is what a backup did.
type Result struct {
	Manifest *Manifest
	Events   int64 // new ones
	Copied   Count // new originals
	Written  int64 // bytes
	Pruned   int   // removed originals
	Unread   int   // events that cannot be read and may name originals
}

// Run backs up the log, at least up to its head when Run begins, the originals that
// the log needs at that point, and the accounts. It adds to an existing backup and
// continues an interrupted one. Everything that it writes is read back before the
// manifest lists it.
//
// The error is fault.Conflict if the place is in use by another backup, or holds
// other files, the backup of another log, or accounts although the service has none
// now. Missing originals are not an error: the manifest lists them.
func (b *Backup) Run(ctx context.Context) (r Result, err error) {
	ctx, release, err := b.Place.Hold(ctx)
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
func (b *Backup) begin(ctx context.Context) (t *taking, err error) {
	t = &taking{Backup: b, names: newNames(b.Log)}
	if t.was, err = readManifest(ctx, b.Place, manifestFile); fault.Is(err, fault.NotFound) {
		t.was, err = &Manifest{Format: format}, nil
	}
	if err != nil {
		return nil, err
	}
	if t.now, err = readManifest(ctx, b.Place, progressFile); fault.Is(err, fault.NotFound) {
		now := *t.was
		t.now, err = &now, nil
	}
	if err != nil {
		return nil, err
	}
	if err := t.now.fits(func(p events.Position) (Mark, error) { return markAt(ctx, b.Log, p) }); err != nil {
		return nil, fmt.Errorf("back up into %s: %w", b.Place, err)
	}
	if b.Accounts == nil && t.was.Accounts != nil {
		return nil, fault.Errorf(fault.Conflict, "the backup in %s holds accounts, which this one would remove because the data folder has none: name the data folder that has them, or back up to another place", b.Place)
	}
	if t.kept, err = b.Place.Originals(ctx); err != nil {
		return nil, err
	}
	held, err := t.present(ctx)
	if err != nil {
		return nil, err
	}
	t.begun = t.now.Originals
	t.copier = &copier{from: b.Originals, to: t.kept, doubtful: held != t.begun}
	return t, nil
}

// present returns how many originals the backup holds. The error is fault.Conflict if
// files of the backup are missing or truncated: adding to it would be useless. The
// contents of files are not read.
func (t *taking) present(ctx context.Context) (held Count, err error) {
	sizes, err := t.Place.Files(ctx, logDir)
	if err != nil {
		return held, err
	}
	for _, s := range t.now.Segments {
		if size, there := sizes[s.Name]; !there || size != s.Bytes {
			return held, t.harmed("the segment " + s.Name + " is missing or truncated")
		}
	}
	if held, err = count(ctx, t.kept); err != nil {
		return held, err
	}
	if want := t.now.Originals; held.Files < want.Files || held.Bytes < want.Bytes {
		return held, t.harmed(fmt.Sprintf("it holds %d originals of %d bytes, and should hold %d of %d", held.Files, held.Bytes, want.Files, want.Bytes))
	}
	return held, nil
}

func (t *taking) harmed(how string) error {
	return fault.Errorf(fault.Conflict, "the backup in %s is damaged: %s; list all damage with --verify, or back up to a new place", t.Place, how)
}

// summary returns what was done since the last complete backup.
func (t *taking) summary(r *Result) {
	r.Manifest, r.Events, r.Copied, r.Unread = t.now, t.now.Events-t.was.Events, t.copier.copied, t.names.unread
	r.Written = r.Copied.Bytes
	for _, s := range t.now.Segments[len(t.was.Segments):] {
		r.Written += s.Bytes
	}
	if t.now.Accounts != nil {
		r.Written += t.now.Accounts.Bytes
	}
}

// markAt returns the mark of the event at a position, an empty one if no event has
// that position.
func markAt(ctx context.Context, log *events.Log, p events.Position) (Mark, error) {
	records, _, err := log.Records(ctx, p-1, 1)
	if err != nil || len(records) == 0 {
		return Mark{}, err
	}
	return Mark{records[0].Position, records[0].ID}, nil
}

// copyAll copies events and their originals, a segment at a time, up to the log's
// head at the start. If an original is missing because its document was deleted in
// the meantime, the backup continues until it includes the deletion.
func (t *taking) copyAll(ctx context.Context) (err error) {
	if t.upTo, err = t.Log.Head(ctx); err != nil {
		return err
	}
	lost := t.now.Lost
	t.now.Lost = nil
	for _, n := range lost { // it may have been uploaded again
		needed, err := t.names.needs(ctx, n.Stream, t.upTo)
		if err == nil && needed {
			err = t.copyOriginal(ctx, n)
		}
		if err != nil {
			return err
		}
	}
	for t.now.Head < t.upTo {
		if err := t.copySegment(ctx); err != nil {
			return err
		}
	}
	if err := t.copier.flush(ctx); err != nil {
		return err
	}
	return t.forgetFound(ctx)
}

// forgetFound removes originals from the list of lost ones if they were uploaded again
// with another document.
func (t *taking) forgetFound(ctx context.Context) error {
	var lost []Named
	for _, n := range t.now.Lost {
		switch err := has(ctx, t.kept, n.SHA256); {
		case fault.Is(err, fault.NotFound), fault.Is(err, fault.Invalid):
			lost = append(lost, n)
		case err != nil:
			return err
		}
	}
	t.now.Lost = lost
	return nil
}

// copySegment copies the next events with the originals that they name, and saves
// the progress.
func (t *taking) copySegment(ctx context.Context) error {
	number := len(t.now.Segments) + 1
	name := fmt.Sprintf("%s/%06d.gz", logDir, number)
	before := t.now.Digest
	made, err := t.writeSegment(ctx, name)
	if err != nil {
		return fmt.Errorf("copy the log after %d: %w", t.now.Head, err)
	}
	err = made.read(ctx, t.Place, before, func(records []events.Record) error {
		t.Progress("originals", int64(records[0].Position), int64(t.upTo))
		if t.now.First == (Mark{}) {
			if at := slices.IndexFunc(records, func(r events.Record) bool { return !events.IsText(r.Stream) }); at >= 0 {
				t.now.First = Mark{records[at].Position, records[at].ID}
			}
		}
		for _, r := range slices.Backward(records) {
			if !events.IsText(r.Stream) { // compaction may remove texts
				t.now.Last = Mark{r.Position, r.ID}
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
	t.now.Segments = append(t.now.Segments, made)
	t.now.Events += made.Events
	t.now.Head, t.now.Digest = made.Through, made.Digest
	copied := t.copier.copied
	t.now.Originals = Count{t.begun.Files + copied.Files, t.begun.Bytes + copied.Bytes}
	return t.now.write(ctx, t.Place, progressFile)
}

// writeSegment writes the next events to a file.
func (t *taking) writeSegment(ctx context.Context, name string) (made Segment, err error) {
	err = t.Place.Write(ctx, name, func(to io.Writer) error {
		w, err := newSegmentWriter(to, name, t.now.Digest)
		if err != nil {
			return err
		}
		for after := t.now.Head; after < t.upTo && w.raw < segmentBytes; {
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
func (t *taking) copyEvents(ctx context.Context, w *segmentWriter, after events.Position) (events.Position, error) {
	records, through, err := t.Log.Records(ctx, after, page)
	if err != nil {
		return after, err
	}
	if len(records) == 0 {
		return after, fault.Errorf(fault.Internal, "the log ended at position %d before, and now has no events after %d", t.upTo, after)
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

// copyOriginal copies an original that the events copied so far need.
func (t *taking) copyOriginal(ctx context.Context, n Named) error {
	err := t.copier.copy(ctx, n)
	var lost *lostError
	if !errors.As(err, &lost) {
		return err
	}
	head, err := t.Log.Head(ctx)
	if err != nil {
		return err
	}
	needed, err := t.names.judge(ctx, n.Stream, head)
	switch {
	case err != nil:
		return err
	case !needed:
		t.upTo = head
		return nil
	case slices.Contains(t.now.Lost, n): // another event of the document names it too
		return nil
	case len(t.now.Lost) == maxLost:
		return fault.Errorf(fault.Invalid, "more than %d originals are missing or damaged: is this the store that belongs to the log? The last: %w", maxLost, lost)
	}
	t.now.Lost = append(t.now.Lost, n)
	return nil
}

// finish copies the accounts, and writes the manifest.
func (t *taking) finish(ctx context.Context) (err error) {
	if err := t.copyAccounts(ctx); err != nil {
		return err
	}
	t.now.Program, t.now.Time = t.Program, time.Now().UTC().Truncate(time.Second)
	if t.now.Originals, err = count(ctx, t.kept); err != nil {
		return err
	}
	if err := t.now.write(ctx, t.Place, manifestFile); err != nil {
		return err
	}
	if err := t.Place.Remove(ctx, progressFile); err != nil {
		return err
	}
	return t.removeOldAccounts(ctx)
}
