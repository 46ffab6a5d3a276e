package importer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/reader"
	"annals/events"
	"annals/events/fault"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

// starts returns how often each file of all jobs was reported as started.
func (b *bench) starts() map[int]int {
	b.Helper()
	starts := make(map[int]int)
	for _, e := range b.all() {
		if d, ok := e.Data.(events.FileStarted); ok {
			starts[d.File]++
		}
	}
	return starts
}

func TestTimeoutExcludesWaiting(t *testing.T) {
	b := newBench(t)
	var docs []doc
	for n := range 8 {
		docs = append(docs, doc{fmt.Sprint(n, ".md"), "Library", fmt.Sprint("text ", n)})
	}
	job, work := b.accept(alice, docs...)
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = script(func(ctx context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			select {
			case <-time.After(50 * time.Second):
				return extract.Info{}, sections(emit, "text", 1)
			case <-ctx.Done():
				return extract.Info{}, ctx.Err()
			}
		})
		i := b.importer(b.driver)
		i.Workers, i.FileTimeout = 1, time.Minute
		var all sync.WaitGroup
		for _, w := range work {
			all.Go(func() {
				if err := i.importFile(t.Context(), w); err != nil {
					t.Errorf("file %d: %v", w.File, err)
				}
			})
		}
		all.Wait()
	})
	if o := b.outcome(job); len(o.imported) != len(work) {
		t.Errorf("imported %d of %d files", len(o.imported), len(work))
	}
	if starts := b.starts(); starts[0] != 1 || len(starts) != len(work) {
		t.Errorf("files were told to be taken up %v times, want each once", starts)
	}
}

// away is a read side that cannot answer.
type away struct{}

func (away) DuplicateOf(context.Context, events.User, uuid.UUID, string) (uuid.UUID, bool, error) {
	return uuid.Nil, false, fault.Errorf(fault.Unavailable, "the read models are catching up")
}

func TestAnOutageIsSurvived(t *testing.T) {
	readers := reader.New(reader.Options{})
	t.Cleanup(func() { readers.Close() })
	tries := 0
	for name, begin := range map[string]func(b *bench){
		"of the reader": func(b *bench) {
			b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
				tries++
				return extract.Info{}, fault.Errorf(fault.Unavailable, "starting the reader of PDF files: no memory")
			})
		},
		"of the read side": func(b *bench) { b.find = away{} },
		"of another's call": func(b *bench) {
			b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
				return extract.Info{}, context.Canceled
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			job, work := b.accept(alice, doc{"a.md", "Library", "x"}, doc{"b.md", "Library", "y"})
			begin(b)
			i := b.importer(b.driver)
			i.Workers, i.Retries = 1, 2
			before, tries0 := len(b.all()), tries
			for range 5 { // longer than all retries of one delivery
				if nacked := b.deliver(i, work); len(nacked) != len(work) {
					t.Fatalf("gave back %v, want all", nacked)
				}
			}
			if made := tries - tries0; made > 5*len(work)*3 {
				t.Errorf("%d tries, want three for each file and delivery", made)
			}
			for _, e := range b.all()[before:] {
				if _, failed := e.Data.(events.FileFailed); failed {
					t.Errorf("a file failed: %+v", e.Data)
				}
			}
			b.reader, b.find = readers, nil
			if nacked := b.deliver(b.importer(b.driver), work); len(nacked) > 0 {
				t.Errorf("after the outage gave back %v", nacked)
			}
			if o := b.outcome(job); len(o.imported) != 2 {
				t.Errorf("after the outage imported %v, failed %v", o.imported, o.failed)
			}
		})
	}
}

func TestAnOutageIsMetWithPauses(t *testing.T) {
	b := newBench(t)
	_, work := b.accept(alice, doc{"a.md", "Library", "x"})
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			return extract.Info{}, fault.Errorf(fault.Unavailable, "away")
		})
		i := b.importer(b.driver)
		i.RetryPause = 0
		begun := time.Now()
		handle := i.conclude(i.retry()(func(msg *message.Message) ([]*message.Message, error) {
			return nil, i.importFile(msg.Context(), work[0])
		}))
		if _, err := handle(message.NewMessageWithContext(t.Context(), "", jsonOf(t, work[0]))); err == nil {
			t.Error("the message was acknowledged")
		}
		if took := time.Since(begun); took < 4*time.Second || took > time.Minute {
			t.Errorf("given back after %v, want some seconds", took)
		}
	})
}

// died is what a reader returns that was killed.
func died() error {
	return &process.Died{Death: process.Death{Cause: process.Killed, Detail: "signal: killed"}}
}

// alone returns how often each file of all jobs was reported as read alone.
func (b *bench) alone() map[int]int {
	b.Helper()
	alone := make(map[int]int)
	for _, e := range b.all() {
		if d, ok := e.Data.(events.FileStarted); ok && d.Alone != "" {
			alone[d.File]++
		}
	}
	return alone
}

func TestCrashingFileTriedTwice(t *testing.T) {
	b := newBench(t)
	job, work := b.accept(alice, doc{"a.docx", "Library", "x"})
	tries := 0
	b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
		tries++
		if alone := b.alone()[0]; alone != tries-1 {
			t.Errorf("at try %d the log says that the file was read alone %d times", tries, alone)
		}
		return extract.Info{}, died()
	})
	i, deaths := b.importer(b.driver), 0
	i.Died = func() { deaths++ }
	if left := b.deliver(i, work); len(left) > 0 || deaths != 2 {
		t.Errorf("gave back %v, and %d readers died, want 2", left, deaths)
	}
	o := b.outcome(job)
	if tries != 2 || !strings.Contains(o.failed[0], "crashed the process that read it") {
		t.Errorf("after %d tries failed with %q; want 2, and a sentence", tries, o.failed[0])
	}
}

func TestDeathsCountAcrossRestarts(t *testing.T) {
	b := newBench(t)
	job, work := b.accept(alice, doc{"a.docx", "Library", "x"})
	tries := 0
	for starts := 0; len(work) > 0; starts++ {
		if starts > 5 {
			t.Fatalf("the file is still tried after %d tries", tries)
		}
		ctx, die := context.WithCancel(t.Context())
		b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			if tries++; tries > 1 {
				die() // the server with it
			}
			return extract.Info{}, died()
		})
		i := b.importer(b.driver)
		err := i.importFile(ctx, work[0])
		die()
		if fault.Is(err, fault.Invalid) && tries > 1 && ctx.Err() != nil && starts < maxAlone {
			continue // nobody was left to say so
		}
		work = b.deliver(b.importer(b.driver), work)
	}
	o := b.outcome(job)
	if tries != 1+maxAlone || !strings.Contains(o.failed[0], "given up") || b.alone()[0] != maxAlone {
		t.Errorf("after %d tries, %d of them alone, failed with %q", tries, b.alone()[0], o.failed[0])
	}
}

func TestRetryIsNotReportedAsStart(t *testing.T) {
	b := newBench(t)
	job, work := b.accept(alice, doc{"a.docx", "Library", "x"}, doc{"small.md", "Library", "y"}, doc{"a.pdf", "Library", "z"})
	tries := 0
	b.reader = script(func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
		if tries++; tries <= 60 {
			return extract.Info{}, fault.Errorf(fault.Unavailable, "away")
		}
		return extract.Info{}, sections(emit, "text", 1)
	})
	i := b.importer(b.driver)
	i.Workers, i.Retries, i.RetryPause = 1, 2, time.Microsecond
	for left := work; len(left) > 0; {
		left = b.deliver(i, left)
	}
	if o := b.outcome(job); len(o.imported) != 3 {
		t.Errorf("imported %v, failed %v", o.imported, o.failed)
	}
	if starts := b.starts(); starts[0] > 1 || starts[1] > 1 || starts[2] > 1 {
		t.Errorf("files were reported as started %v times, want each once at most", starts)
	}
	if len(i.started) > 0 {
		t.Errorf("the importer still knows of %v", i.started)
	}
}

func TestSuspectsAreReadOneAtATime(t *testing.T) {
	b := newBench(t)
	job, work := b.accept(alice, doc{"a.docx", "Library", "x"}, doc{"b.docx", "Library", "y"}, doc{"c.docx", "Library", "z"}, doc{"d.md", "Library", "a"})
	// Two suspects, and one that was cut off beside them now and then.
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			time.Sleep(time.Second) // long enough to be reported
			return extract.Info{}, context.Canceled
		})
		for n := range suspectStarts {
			for _, w := range work[:3-min(n, 1)] {
				if err := b.importer(b.driver).importFile(t.Context(), w); !fault.Is(err, fault.Canceled) {
					t.Fatal(err)
				}
			}
		}
		var mu sync.Mutex
		reading, most := 0, 0
		b.reader = script(func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			mu.Lock()
			reading++
			most = max(most, reading)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			reading--
			mu.Unlock()
			return extract.Info{}, sections(emit, "text", 1)
		})
		i := b.importer(b.driver)
		i.Workers = 8
		var all sync.WaitGroup
		for _, w := range work {
			all.Go(func() {
				if err := i.importFile(t.Context(), w); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if most != 3 { // one of the two suspects, and both others
			t.Errorf("%d files were read at once, want 3", most)
		}
	})
	if o := b.outcome(job); len(o.imported) != 4 {
		t.Errorf("imported %v, failed %v", o.imported, o.failed)
	}
}
