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

// crashing is a driver whose process dies around one append: just before it,
// or just after it was made and before anybody hears of it. Appends that add
// nothing, because they were made before, do not count.
type crashing struct {
	events.Driver
	after bool // the append is made
	blip  bool // the process lives on

	mu   sync.Mutex
	left int // appends until then
	dead bool
}

func (d *crashing) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
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
	d.left, d.dead = 0, !d.blip
	if d.blip {
		return fault.Errorf(fault.Unavailable, "the log is away for a moment")
	}
	return errCrashed
}

func (d *crashing) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, errCrashed
	}
	return d.Driver.ReadStream(ctx, stream, from, limit)
}

// story is a job with everything that can happen to a file in it.
func story(b *bench) (check func(what string), work []Work) {
	docs := []doc{
		{"a.md", "Library/2026", "# One\n\nA text.\n"},
		{"same.md", "Library/2026", "# One\n\nA text.\n"},
		{"elsewhere.md", "Other", "# One\n\nA text.\n"},
		{"long.md", "Library", long(30 << 10)}, // two appends
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
			b.Errorf("%s: a file counts as its own duplicate: %+v", what, o.imported)
		}
		if got := strings.Count(o.text[o.documents[o.imported[3].Document].TextStream], "a thing or two"); got != want {
			b.Errorf("%s: the long text has %d lines, want %d", what, got, want)
		}
	}, work
}

// crashable returns an importer that tries nothing again and appends text in
// small batches.
func (b *bench) crashable(d events.Driver) *Importer {
	i := b.importer(d)
	i.Retries, i.textBatch = -1, 4<<10
	return i
}

func TestCrashAroundAppendsImportsOnce(t *testing.T) {
	first := newBench(t)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			b := first.again()
			check, work := story(b)
			d := &crashing{Driver: b.driver, after: after, left: n}
			i := b.crashable(d)
			nacked := b.deliver(i, work)
			if !d.dead {
				if n < 11 {
					t.Errorf("the story has only %d appends", n-1)
				}
				break
			}
			what := fmt.Sprintf("crash at append %d, made %v", n, after)
			if len(nacked) == 0 {
				t.Errorf("%s: nothing was given back", what)
			}
			if left := b.deliver(b.crashable(b.driver), work); len(left) > 0 {
				t.Errorf("%s: gave back %v at the second run", what, left)
			}
			check(what)
		}
	}
}

func TestCrashAtEveryAppendEnds(t *testing.T) {
	for _, after := range []bool{false, true} {
		b := newBench(t)
		check, work := story(b)
		left := 1
		if !after {
			left = 2 // one append is made before each crash
		}
		for runs := 0; len(work) > 0; runs++ {
			if runs == 100 {
				t.Fatal("no end after 100 crashes")
			}
			i := b.crashable(&crashing{Driver: b.driver, after: after, left: left})
			work = slices.Clone(b.deliver(i, work))
		}
		check(fmt.Sprintf("crash at every append, made %v", after))
	}
}

func TestAnUnavailableLogIsTriedAgain(t *testing.T) {
	first := newBench(t)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			b := first.again()
			check, work := story(b)
			d := &crashing{Driver: b.driver, after: after, blip: true, left: n}
			i := b.crashable(d)
			i.Retries = 4
			// Work given back could not even report its failure.
			if nacked := b.deliver(i, work); len(nacked) > 1 || len(b.deliver(i, nacked)) > 0 {
				t.Errorf("gave back %v", nacked)
			}
			if d.left > 0 {
				break
			}
			check(fmt.Sprintf("log away at append %d, made %v", n, after))
		}
	}
}
