package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"annals/events"
	"annals/events/fault"
)

var errCrashed = errors.New("crashed")

// crashing is a driver that simulates a crash of the process at one append: just before the
// append, or just after it, before the caller gets the result. Repeated appends, which add
// nothing, do not count.
type crashing struct {
	events.Driver
	after     bool // crash after the append, not before it
	transient bool // only this append fails; later ones succeed

	mu      sync.Mutex
	left    int // number of appends until the crash, including the one that crashes
	crashed bool
}

func (d *crashing) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crashed {
		return events.Appended{}, errCrashed
	}
	if d.left == 1 && !d.after {
		return events.Appended{}, d.crash()
	}
	before, err := d.Head(ctx)
	if err != nil {
		return events.Appended{}, err
	}
	at, err := d.Driver.Append(ctx, stream, expected, records)
	if err == nil && at.Position > before {
		if d.left--; d.left == 0 {
			return events.Appended{}, d.crash()
		}
	}
	return at, err
}

func (d *crashing) crash() error {
	d.left, d.crashed = 0, !d.transient
	if d.transient {
		return fault.Errorf(fault.Unavailable, "the log is unreachable")
	}
	return errCrashed
}

func (d *crashing) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crashed {
		return nil, errCrashed
	}
	return d.Driver.ReadStream(ctx, stream, from, limit)
}

// mixedJob accepts a job with a new, a duplicate, a long, an empty and a broken file. check
// checks their outcomes.
func mixedJob(b *fixture) (check func(what string), work []fileRef) {
	docs := []doc{
		{"a.md", "Library/2026", "# One\n\nA text.\n"},
		{"same.md", "Library/2026", "# One\n\nA text.\n"},
		{"elsewhere.md", "Other", "# One\n\nA text.\n"},
		{"long.md", "Library", long(30 << 10)}, // long enough for two appends
		{"empty.txt", "Library", " \n"},
		{"broken.docx", "Nowhere", "no zip file"},
	}
	job, work := b.accept(alice, docs...)
	want := strings.Count(long(30<<10), "a thing or two")
	return func(what string) {
		o := b.outcome(job)
		if len(o.imported) != 5 || len(o.documents) != 4 || o.failed[5] == "" || strings.Contains(o.failed[5], "internal") {
			b.Errorf("%s: imported %d files as %d documents, failed %v; want 5, 4 and the last", what, len(o.imported), len(o.documents), o.failed)
		}
		if a, same := o.imported[0], o.imported[1]; a.Document != same.Document || a.Duplicate == same.Duplicate {
			b.Errorf("%s: the same bytes became %+v and %+v", what, a, same)
		}
		if o.imported[2].Duplicate || o.imported[3].Duplicate || o.imported[4].Duplicate {
			b.Errorf("%s: a file is its own duplicate: %+v", what, o.imported)
		}
		if got := strings.Count(o.text[o.documents[o.imported[3].Document].TextStream], "a thing or two"); got != want {
			b.Errorf("%s: the long text has %d lines, want %d", what, got, want)
		}
	}, work
}

// crashable returns an importer that does not retry, and that appends text in small batches.
func (b *fixture) crashable(d events.Driver) *Importer {
	i := b.importer(d)
	i.Retries, i.textBatch = -1, 4<<10
	return i
}

func TestCrashAroundAppendsImportsOnce(t *testing.T) {
	first := newFixture(t)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			b := first.again()
			check, work := mixedJob(b)
			d := &crashing{Driver: b.driver, after: after, left: n}
			i := b.crashable(d)
			nacked := b.deliver(i, work)
			if !d.crashed {
				if n < 11 {
					t.Errorf("the job has only %d appends", n-1)
				}
				break
			}
			what := fmt.Sprintf("crash at append %d, after it %v", n, after)
			if len(nacked) == 0 {
				t.Errorf("%s: no file was rejected", what)
			}
			if left := b.deliver(b.crashable(b.driver), work); len(left) > 0 {
				t.Errorf("%s: the second run rejected %v", what, left)
			}
			check(what)
		}
	}
}

func TestCrashAtEveryAppendTerminates(t *testing.T) {
	for _, after := range []bool{false, true} {
		b := newFixture(t)
		check, work := mixedJob(b)
		left := 1
		if !after {
			left = 2 // each run makes one append and crashes at the next one
		}
		for runs := 0; len(work) > 0; runs++ {
			if runs == 100 {
				t.Fatal("the job is not finished after 100 crashes")
			}
			i := b.crashable(&crashing{Driver: b.driver, after: after, left: left})
			work = slices.Clone(b.deliver(i, work))
		}
		check(fmt.Sprintf("crash at every append, after it %v", after))
	}
}

func TestUnavailableLogIsRetried(t *testing.T) {
	first := newFixture(t)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			b := first.again()
			check, work := mixedJob(b)
			d := &crashing{Driver: b.driver, after: after, transient: true, left: n}
			i := b.crashable(d)
			i.Retries = 4
			// If the one failing append is the one that records a file's failure, deliver
			// returns the file as not acknowledged. The second delivery must succeed.
			if nacked := b.deliver(i, work); len(nacked) > 1 || len(b.deliver(i, nacked)) > 0 {
				t.Errorf("rejected %v, want none", nacked)
			}
			if d.left > 0 {
				break
			}
			check(fmt.Sprintf("log unavailable at append %d, after it %v", n, after))
		}
	}
}
