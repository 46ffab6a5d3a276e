// Package backup copies a log, its originals and the accounts to a place, beside
// the running service, and gives them back from it. A place is a folder, or the
// prefix of a bucket of S3.
//
// The place holds manifest.json; the events in log/, as segments that are
// never changed: gzip of records, each after its length; the originals by the
// SHA-256 of their bytes in originals/; and a copy of the account store. A
// backup into a place that holds one already adds what is new. Nothing is
// kept in memory that grows with events or documents.
//
// It imports events, events/fault, events/originals and events/s3, nothing else
// of ours.
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

// segmentBytes is how much a segment holds, give or take one read, before it is
// compressed; in tests it is less. A backup that is cut off has to take up again
// at most one segment.
var segmentBytes int64 = 16 << 20

// maxLost bounds the originals that are missing. More cannot be an accident: the
// store is another log's.
const maxLost = 1000

// Backup is what Run copies, and where to.
type Backup struct {
	Place     Place
	Program   string // version of this program
	Log       *events.Log
	Originals originals.Store
	// Accounts writes a copy of the account store to a new file; nil where
	// there is none, and never was.
	Accounts func(ctx context.Context, path string) error
	// Prune also removes originals from the place that nothing in the log
	// needs any more.
	Prune bool
	// Progress is told how far each step is.
	Progress func(step string, done, total int64)
}

// taking is one call of Run.
type taking struct {
	*Backup
	was    *Manifest       // of the last backup that was whole
	now    *Manifest       // of this one, as far as it is
	begun  Count           // originals that counted when it began
	upTo   events.Position // to which the log is copied
	names  *names
	copier *copier
	kept   originals.Store // in the place
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
// the originals that it needs by then, and the accounts. To a place that holds
// a backup it adds what is new, and goes on with one that was cut off. All that
// is written is read back before the manifest tells of it.
//
// A place that holds anything else, the backup of another log, accounts where
// there are none now, or one into which another backup is under way is
// fault.Conflict. Originals that are
// needed but lost are no error: the manifest lists them.
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
	t.tell(&r)
	return r, err
}

// begin reads what the place holds, and holds it against the log.
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
		return nil, fault.Errorf(fault.Conflict, "the backup in %s holds accounts, which this one would remove, as there are none now: name the data folder that has them, or another place", b.Place)
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

// present returns how many originals the place holds, and an error of kind
// fault.Conflict where files that it is to hold are gone or cut off: what is
// added to them would be of no use. It reads none of them.
func (t *taking) present(ctx context.Context) (held Count, err error) {
	sizes, err := t.Place.Files(ctx, logDir)
	if err != nil {
		return held, err
	}
	for _, s := range t.now.Segments {
		if size, there := sizes[s.Name]; !there || size != s.Bytes {
			return held, t.harmed("the segment " + s.Name + " is missing or cut off")
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
	return fault.Errorf(fault.Conflict, "the backup in %s is damaged: %s; --verify names all that is, a new place takes another", t.Place, how)
}

// tell says what was done since the last backup that was whole.
func (t *taking) tell(r *Result) {
	r.Manifest, r.Events, r.Copied, r.Unread = t.now, t.now.Events-t.was.Events, t.copier.copied, t.names.unread
	r.Written = r.Copied.Bytes
	for _, s := range t.now.Segments[len(t.was.Segments):] {
		r.Written += s.Bytes
	}
	if t.now.Accounts != nil {
		r.Written += t.now.Accounts.Bytes
	}
}

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
func (t *taking) copyAll(ctx context.Context) (err error) {
	if t.upTo, err = t.Log.Head(ctx); err != nil {
		return err
	}
	lost := t.now.Lost
	t.now.Lost = nil
	for _, n := range lost { // it may be back
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

// forgetFound drops what is lost no more: its bytes came in again, with another
// document.
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

// copySegment copies the next events with the originals that they name, and
// writes down that they are there.
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
			if !events.IsText(r.Stream) { // which may be removed from the log
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

// writeSegment writes the events that come next into a file of that name.
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

// copyEvents writes a page of events and returns how far it is.
func (t *taking) copyEvents(ctx context.Context, w *segmentWriter, after events.Position) (events.Position, error) {
	records, through, err := t.Log.Records(ctx, after, page)
	if err != nil {
		return after, err
	}
	if len(records) == 0 {
		return after, fault.Errorf(fault.Internal, "the log ended at position %d, and holds nothing after %d now", t.upTo, after)
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

// copyOriginal copies an original that the log needs up to where it is copied.
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

// finish copies the accounts, and makes the backup count.
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
