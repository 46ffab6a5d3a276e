package importer

import (
	"context"
	"fmt"
	"reflect"
	"slices"
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

// starts returns how often each file was recorded as started.
func (b *fixture) starts() map[int]int {
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
	b := newFixture(t)
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
		t.Errorf("files were recorded as started %v times, want each once", starts)
	}
}

// Recognising pages has its own limits, however long it takes. What follows has the usual one.
func TestTimeoutExcludesRecognising(t *testing.T) {
	b := newFixture(t)
	_, work := b.accept(alice, doc{"a.pdf", "Library", "a"}, doc{"hangs.pdf", "Library", "b"})
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = scriptByName(func(ctx context.Context, name string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
			wait := func(d time.Duration) {
				select {
				case <-time.After(d):
				case <-ctx.Done():
				}
			}
			for page := range 3 {
				progress("ocr", 2*page+1, 6)
				wait(time.Hour)
				progress("reading", 2*page+2, 6)
				wait(50 * time.Second)
			}
			if name == "hangs.pdf" {
				wait(time.Hour)
			}
			if err := ctx.Err(); err != nil {
				return extract.Info{}, err
			}
			return extract.Info{}, sections(emit, "text", 1)
		})
		i := b.importer(b.driver)
		i.FileTimeout = time.Minute
		if err := i.importFile(t.Context(), work[0]); err != nil {
			t.Errorf("a file of which pages are recognised: %v", err)
		}
		if err := i.importFile(t.Context(), work[1]); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "took longer than 1m0s") {
			t.Errorf("a file that hangs after that: %v, want that it took too long", err)
		}
	})
}

// However long a scan takes, its pages are reported often enough for a client that follows it.
func TestLongScanIsReported(t *testing.T) {
	b := newFixture(t)
	_, work := b.accept(alice, doc{"a.pdf", "Library", "a"})
	var at []time.Time
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = script(func(ctx context.Context, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
			const pages = 1800
			for page := range pages {
				if progress("ocr", page+1, pages); ctx.Err() != nil {
					return extract.Info{}, ctx.Err()
				}
				time.Sleep(4 * time.Second)
			}
			return extract.Info{}, sections(emit, "text", 1)
		})
		if err := b.importer(b.driver).importFile(t.Context(), work[0]); err != nil {
			t.Error(err)
		}
	})
	for _, e := range b.all() {
		if d, ok := e.Data.(events.FileStepped); ok && d.Step == "ocr" {
			at = append(at, e.Metadata.Time)
		}
	}
	if len(at) == 0 {
		t.Fatal("no page was reported")
	}
	for n := 1; n < len(at); n++ {
		if gap := at[n].Sub(at[n-1]); gap > 45*time.Second {
			t.Fatalf("report %d came %v after the one before", n, gap)
		}
	}
	if len(at) > 600 {
		t.Errorf("%d reports in two hours, want some hundred", len(at))
	}
}

// A scan that waits for another one says so. That is no start, which would count if the service were
// interrupted meanwhile.
func TestWaitingScanIsReported(t *testing.T) {
	b := newFixture(t)
	_, work := b.accept(alice, doc{"a.pdf", "Library", "a"}, doc{"b.pdf", "Library", "b"})
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = script(func(ctx context.Context, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
			if progress("ocr", 1, 1); ctx.Err() != nil {
				return extract.Info{}, ctx.Err()
			}
			time.Sleep(5 * time.Second)
			return extract.Info{}, sections(emit, "text", 1)
		})
		i := b.importer(b.driver)
		i.Workers = 1
		var files sync.WaitGroup
		for _, ref := range work {
			files.Go(func() {
				if err := i.importFile(t.Context(), ref); err != nil {
					t.Error(err)
				}
			})
		}
		files.Wait()
	})
	steps := make([][]string, 2)
	for _, e := range b.all() {
		switch d := e.Data.(type) {
		case events.FileStarted:
			steps[d.File] = append(steps[d.File], "started")
		case events.FileStepped:
			steps[d.File] = append(steps[d.File], strings.TrimSpace(d.Step+" "+d.Message))
		}
	}
	slices.SortFunc(steps, slices.Compare) // either may be the first
	want := [][]string{{"ocr", "started", "reading", "splitting"}, {"started", "ocr page 1 of 1", "splitting"}}
	if !reflect.DeepEqual(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
}

// unavailable are read models whose queries fail.
type unavailable struct{}

func (unavailable) DuplicateOf(context.Context, events.User, uuid.UUID, string) (uuid.UUID, bool, error) {
	return uuid.Nil, false, fault.Errorf(fault.Unavailable, "the read models are catching up")
}

func TestFilesSurviveOutage(t *testing.T) {
	readers := reader.New(reader.Options{})
	t.Cleanup(func() { readers.Close() })
	tries := 0
	for name, begin := range map[string]func(b *fixture){
		"of the reader": func(b *fixture) {
			b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
				tries++
				return extract.Info{}, fault.Errorf(fault.Unavailable, "start the PDF reader: out of memory")
			})
		},
		"of the read models": func(b *fixture) { b.find = unavailable{} },
		"of a shared call": func(b *fixture) {
			b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
				return extract.Info{}, context.Canceled
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			job, work := b.accept(alice, doc{"a.md", "Library", "x"}, doc{"b.md", "Library", "y"})
			begin(b)
			i := b.importer(b.driver)
			i.Workers, i.Retries = 1, 2
			before, tries0 := len(b.all()), tries
			for range 5 { // more time than all retries of one delivery take
				if nacked := b.deliver(i, work); len(nacked) != len(work) {
					t.Fatalf("rejected %v, want all", nacked)
				}
			}
			if n := tries - tries0; n > 5*len(work)*3 {
				t.Errorf("%d tries, want at most three for each file and delivery", n)
			}
			for _, e := range b.all()[before:] {
				if _, failed := e.Data.(events.FileFailed); failed {
					t.Errorf("a file failed: %+v", e.Data)
				}
			}
			b.reader, b.find = readers, nil
			if nacked := b.deliver(b.importer(b.driver), work); len(nacked) > 0 {
				t.Errorf("after the outage rejected %v, want none", nacked)
			}
			if o := b.outcome(job); len(o.imported) != 2 {
				t.Errorf("after the outage imported %v, failed %v; want both files imported", o.imported, o.failed)
			}
		})
	}
}

func TestOutageIsRetriedWithBackoff(t *testing.T) {
	b := newFixture(t)
	_, work := b.accept(alice, doc{"a.md", "Library", "x"})
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			return extract.Info{}, fault.Errorf(fault.Unavailable, "the log is unreachable")
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
			t.Errorf("rejected after %v, want some seconds", took)
		}
	})
}

// died returns the error for a reader process that was killed.
func died() error {
	return &process.Died{Death: process.Death{Cause: process.Killed, Detail: "signal: killed"}}
}

// alone returns how often each file was recorded as read alone, as suspects are.
func (b *fixture) alone() map[int]int {
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
	b := newFixture(t)
	job, work := b.accept(alice, doc{"a.docx", "Library", "x"})
	tries := 0
	b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
		tries++
		if alone := b.alone()[0]; alone != tries-1 {
			t.Errorf("at try %d the file is recorded as read alone %d times, want one less", tries, alone)
		}
		return extract.Info{}, died()
	})
	i, deaths := b.importer(b.driver), 0
	i.Died = func() { deaths++ }
	if left := b.deliver(i, work); len(left) > 0 || deaths != 2 {
		t.Errorf("rejected %v, and %d readers died; want none and 2", left, deaths)
	}
	o := b.outcome(job)
	if tries != 2 || !strings.Contains(o.failed[0], "crashed the process that read it") {
		t.Errorf("after %d tries failed with %q; want 2 tries and a crash", tries, o.failed[0])
	}
}

func TestCrashesCountAcrossRestarts(t *testing.T) {
	b := newFixture(t)
	job, work := b.accept(alice, doc{"a.docx", "Library", "x"})
	tries := 0
	for starts := 0; len(work) > 0; starts++ {
		if starts > 5 {
			t.Fatalf("the file is not given up after %d tries", tries)
		}
		ctx, crash := context.WithCancel(t.Context())
		b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			if tries++; tries > 1 {
				crash() // the server crashes with its reader process
			}
			return extract.Info{}, died()
		})
		i := b.importer(b.driver)
		err := i.importFile(ctx, work[0])
		crash()
		if fault.Is(err, fault.Invalid) && tries > 1 && ctx.Err() != nil && starts < maxAlone {
			continue // the server crashed before it could record the failure
		}
		work = b.deliver(b.importer(b.driver), work)
	}
	o := b.outcome(job)
	if tries != 1+maxAlone || !strings.Contains(o.failed[0], "given up") || b.alone()[0] != maxAlone {
		t.Errorf("after %d tries, %d of them alone, failed with %q", tries, b.alone()[0], o.failed[0])
	}
}

func TestRetryIsNotRecordedAsStart(t *testing.T) {
	b := newFixture(t)
	job, work := b.accept(alice, doc{"a.docx", "Library", "x"}, doc{"small.md", "Library", "y"}, doc{"a.pdf", "Library", "z"})
	tries := 0
	b.reader = script(func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
		if tries++; tries <= 60 {
			return extract.Info{}, fault.Errorf(fault.Unavailable, "the log is unreachable")
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
		t.Errorf("files were recorded as started %v times, want at most once each", starts)
	}
	if len(i.started) > 0 {
		t.Errorf("the importer still tracks %v", i.started)
	}
}

func TestSuspectsAreReadOneAtATime(t *testing.T) {
	b := newFixture(t)
	job, work := b.accept(alice, doc{"a.docx", "Library", "x"}, doc{"b.docx", "Library", "y"}, doc{"c.docx", "Library", "z"}, doc{"d.md", "Library", "a"})
	// Files 0 and 1 are interrupted until they are suspects. File 2 is interrupted one time,
	// and file 3 never.
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			time.Sleep(time.Second) // long enough for the start to be recorded
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
		reading, peak := 0, 0
		b.reader = script(func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			mu.Lock()
			reading++
			peak = max(peak, reading)
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
		if peak != 3 { // one of the two suspects, and the two other files
			t.Errorf("%d files were read at the same time, want 3", peak)
		}
	})
	if o := b.outcome(job); len(o.imported) != 4 {
		t.Errorf("imported %v, failed %v", o.imported, o.failed)
	}
}

// A scan in the middle of a batch takes no slot while its pages are recognised: with one slot, the
// other files are read in their order and imported meanwhile, as if it were not there.
func TestScanLetsOthersPass(t *testing.T) {
	for _, scanned := range []bool{false, true} {
		b := newFixture(t)
		docs := make([]doc, 7)
		for n := range docs {
			docs[n] = doc{fmt.Sprint(n, ".md"), "Library", fmt.Sprint("text ", n)}
		}
		if docs[3].name = "3.pdf"; scanned {
			docs[3].name = "scan.pdf"
		}
		job, work := b.accept(alice, docs...)
		others := make(chan struct{}) // closed when the other files are acknowledged
		var mu sync.Mutex
		var read, aside []string
		b.reader = scriptByName(func(ctx context.Context, name string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
			mu.Lock()
			read = append(read, name)
			mu.Unlock()
			if name != "scan.pdf" {
				return extract.Info{}, sections(emit, "text", 1)
			}
			for page := range 12 {
				if progress("ocr", page+1, 12); ctx.Err() != nil {
					return extract.Info{}, ctx.Err()
				}
				select {
				case <-others:
				case <-time.After(time.Minute):
					return extract.Info{}, fault.Errorf(fault.Invalid, "the other files were not imported before the scan")
				}
			}
			return extract.Info{Pages: 12, OCRPages: 12}, sections(emit, "text", 1)
		})
		i := b.importer(b.driver)
		i.Workers = 1
		i.SetAside = func(_ uuid.UUID, file int) { aside = append(aside, docs[file].name) }
		ctx, cancel := context.WithCancel(t.Context())
		acked := 0
		feed := &feed{work: work, atOnce: len(work), answered: func(_ fileRef, ok bool) {
			mu.Lock()
			defer mu.Unlock()
			if !ok {
				t.Error("a file was rejected")
			}
			switch acked++; acked {
			case len(work) - 1:
				close(others)
			case len(work):
				cancel()
			}
		}}
		if err := i.Run(ctx, feed); err != nil {
			t.Error(err)
		}
		o := b.outcome(job)
		if len(o.imported) != len(work) {
			t.Errorf("imported %d files, failed %v", len(o.imported), o.failed)
		}
		times := map[string]int{}
		for _, name := range read {
			times[name]++
		}
		for _, d := range docs {
			want := 1
			if d.name == "scan.pdf" {
				want = 2 // until it turned out to be a scan, and again in its lane
			}
			if times[d.name] != want {
				t.Errorf("%s was read %d times, want %d", d.name, times[d.name], want)
			}
		}
		if scanned != slices.Equal(aside, []string{"scan.pdf"}) {
			t.Errorf("set aside %v", aside)
		}
	}
}
