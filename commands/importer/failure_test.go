package importer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"annals/commands"
	"annals/commands/foldertree"
	"annals/commands/importer/extract"
	"annals/commands/importer/extract/reader"
	"annals/events"
	"annals/events/fault"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

// script is a reader that runs a function.
type script func(ctx context.Context, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error)

func (s script) Read(ctx context.Context, _, _ string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
	return s(ctx, emit, progress)
}

func (script) Close() error { return nil }

// scriptByName is like script, but gets the name of the file.
type scriptByName func(ctx context.Context, name string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error)

func (n scriptByName) Read(ctx context.Context, _, name string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
	return n(ctx, name, emit, progress)
}

func (scriptByName) Close() error { return nil }

// sections emits count sections of 64 KiB, each beginning with word.
func sections(emit func(extract.Section) error, word string, count int) error {
	for i := range count {
		text := word + strings.Repeat(" and so on", extract.MaxPart/10+1)
		if err := emit(extract.Section{Index: i, Level: 1, Title: fmt.Sprint("Section ", i), Text: text[:extract.MaxPart]}); err != nil {
			return err
		}
	}
	return nil
}

func TestFailures(t *testing.T) {
	b := newFixture(t)
	for _, test := range []struct {
		name  string
		read  script
		tries int
		want  string // in the error; "" if the file is imported
	}{
		{"an error of the file is reported and not retried", func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			return extract.Info{}, fault.Errorf(fault.Invalid, "the file is encrypted")
		}, 1, "the file is encrypted"},
		{"a panic is retried and its text not reported", func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			panic("secret")
		}, 3, "internal fault"},
		{"an error without kind is retried and its text not reported", func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			return extract.Info{}, errors.New("secret")
		}, 3, "internal fault"},
		{"a timeout is not retried", func(ctx context.Context, _ func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			<-ctx.Done()
			return extract.Info{}, ctx.Err()
		}, 1, "took longer than 50ms"},
		{"a reader that reports success after the timeout", func(ctx context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			<-ctx.Done()
			return extract.Info{Sections: 1}, nil
		}, 1, "took longer"},
		{"warnings and title are shortened", func(ctx context.Context, _ func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			return extract.Info{Warnings: make([]string, 1000), Title: strings.Repeat("é", 9000)}, nil
		}, 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := b.again()
			b.TB = t
			tries := 0
			b.reader = script(func(ctx context.Context, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
				tries++
				return test.read(ctx, emit, progress)
			})
			job, work := b.accept(alice, doc{"a.md", "Library", "x"})
			i := b.importer(b.driver)
			i.Retries, i.FileTimeout = 2, 50*time.Millisecond
			if nacked := b.deliver(i, work); len(nacked) > 0 {
				t.Errorf("rejected %v, want none", nacked)
			}
			o := b.outcome(job)
			got := o.failed[0]
			if test.want == "" && got != "" || !strings.Contains(got, test.want) || strings.Contains(got, "secret") || tries != test.tries {
				t.Errorf("%d tries, failed with %q; want %q after %d", tries, got, test.want, test.tries)
			}
			if got := o.kinds[0] == "internal"; got != (test.want == "internal fault") {
				t.Errorf("failure has kind %q: %q", o.kinds[0], o.failed[0])
			}
			if test.want != "" && len(o.documents) > 0 {
				t.Errorf("a failed file became documents %v", o.documents)
			}
			if test.want == "" && (len(o.imported[0].Warnings) != maxWarnings+1 || len(o.imported[0].Title) > 1<<10) {
				t.Errorf("imported with %d warnings and a title of %d bytes", len(o.imported[0].Warnings), len(o.imported[0].Title))
			}
		})
	}
}

func TestInvalidMessagesAreDropped(t *testing.T) {
	b := newFixture(t)
	b.accept(alice, doc{"a.md", "Library", "x"})
	before, _ := b.log.Head(t.Context())
	i := b.importer(b.driver)
	if nacked := b.deliver(i, []fileRef{{Job: uuid.New()}, {Job: uuid.New(), File: -1}}); len(nacked) > 0 {
		t.Errorf("messages of unknown jobs were rejected: %v, want them dropped", nacked)
	}
	msg := message.NewMessage("", []byte("{"))
	handle := i.conclude(func(msg *message.Message) ([]*message.Message, error) { return nil, i.handle(msg) })
	if _, err := handle(msg); err != nil {
		t.Errorf("a message that is not JSON: %v, want it dropped", err)
	}
	if head, _ := b.log.Head(t.Context()); head != before {
		t.Error("events were appended")
	}
}

func TestFilingChecksAccessAgain(t *testing.T) {
	b := newFixture(t)
	ctx := t.Context()
	job, work := b.accept(alice, doc{"a.md", "Library", "x"}, doc{"b.md", "Library", "y"})
	b.reader = script(func(ctx context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
		if err := sections(emit, "text", 1); err != nil {
			return extract.Info{}, err
		}
		// The folder Library did not exist when the files were accepted. While the files are
		// being read, the folder is deleted if the importer has created it, and created
		// again by another user.
		h := &commands.Handler{Log: b.log}
		if folder, found, err := h.FindFolder(ctx, alice, foldertree.Destination{Path: "Library"}); err == nil && found {
			_, err := b.log.Append(ctx, events.Folders, events.AnyRevision, events.Cause{}, events.New{Data: events.FolderDeleted{Folder: folder}})
			if err != nil {
				return extract.Info{}, err
			}
		}
		_, err := h.EnsureFolder(ctx, events.User{Principal: "user:bob"}, events.Cause{}, foldertree.Destination{Path: "Library"})
		return extract.Info{Sections: 1}, err
	})
	i := b.importer(b.driver)
	i.Workers = 1
	b.deliver(i, work)
	o := b.outcome(job)
	// If the importer created the folder before the reader deleted it, filing fails with the
	// error gone. Otherwise the folder of the other user exists first, and filing fails with
	// the error others.
	const gone, others = `folder "Library" was deleted while the file was being filed in it`, `you may not write in folder "Library"`
	for file := range work {
		if got := o.failed[file]; got != gone && (got != others || o.kinds[file] != "forbidden") {
			t.Errorf("file %d failed with %q, kind %q", file, got, o.kinds[file])
		}
	}
	if len(o.documents) > 0 {
		t.Errorf("created documents %v, want none", o.documents)
	}
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
}

func TestFileFailsIfFolderDeletedMeanwhile(t *testing.T) {
	b := newFixture(t)
	library := b.folder("Library")
	job, work := b.accept(alice, doc{"a.md", "Library", "x"})
	b.reader = script(func(ctx context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
		err := sections(emit, "text", 1)
		if err == nil {
			_, err = b.log.Append(ctx, events.Folders, events.AnyRevision, events.Cause{}, events.New{Data: events.FolderDeleted{Folder: library}})
		}
		return extract.Info{Sections: 1}, err
	})
	b.deliver(b.importer(b.driver), work)
	o := b.outcome(job)
	if want := `folder "Library" was deleted while the file was being filed in it`; o.failed[0] != want || len(o.documents) > 0 {
		t.Errorf("failed with %q and made %v, want %q", o.failed[0], o.documents, want)
	}
}

func TestTextStreamOfOtherUploadIsSkipped(t *testing.T) {
	for _, test := range []struct {
		name         string
		theirs, ours func(emit func(extract.Section) error) error
		appends      int // number of appends by the first upload before its crash, including the one that creates the folder
		attempt      int
	}{
		{"another text from the start", func(emit func(extract.Section) error) error { return sections(emit, "one", 12) },
			func(emit func(extract.Section) error) error { return sections(emit, "two", 20) }, 2, 1},
		{"another text after the first append", func(emit func(extract.Section) error) error { return sections(emit, "one", 20) },
			func(emit func(extract.Section) error) error {
				return errors.Join(sections(emit, "one", 8), sections(emit, "two", 8))
			}, 3, 1},
		{"the first part of the same text", func(emit func(extract.Section) error) error { return sections(emit, "one", 12) },
			func(emit func(extract.Section) error) error { return sections(emit, "one", 20) }, 2, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newFixture(t)
			job, work := b.accept(alice, doc{"a.md", "Library", "x"})
			read := func(emits func(func(extract.Section) error) error) script {
				return func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
					return extract.Info{}, emits(emit)
				}
			}
			b.reader = read(test.theirs)
			crashes := &crashing{Driver: b.driver, after: true, left: test.appends}
			if err := b.importer(crashes).importFile(t.Context(), work[0]); !errors.Is(err, errCrashed) {
				t.Fatalf("importFile of the first upload: %v, want a crash", err)
			}
			b.reader = read(test.ours)
			b.deliver(b.importer(b.driver), work)
			o := b.outcome(job)
			d := o.documents[o.imported[0].Document]
			if want := events.TextStream(o.imported[0].Document, test.attempt); d.TextStream != want {
				t.Errorf("text stream = %s, want %s", d.TextStream, want)
			}
			var want strings.Builder
			test.ours(func(s extract.Section) error {
				want.WriteString("\n" + s.Title + "\n" + s.Text)
				return nil
			})
			if got := o.text[d.TextStream]; got != want.String()[1:] {
				t.Errorf("the document has %d bytes of text, want %d", len(got), want.Len()-1)
			}
		})
	}
}

func TestStepsAreRateLimited(t *testing.T) {
	b := newFixture(t)
	job, work := b.accept(alice, doc{"slow.md", "Library", "x"}, doc{"quick.md", "Library", "y"})
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		isQuick := false
		b.reader = script(func(_ context.Context, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
			for page := 1; page <= 100 && !isQuick; page++ {
				time.Sleep(100 * time.Millisecond)
				progress("reading", page, 100)
			}
			return extract.Info{}, sections(emit, "text", 1)
		})
		i := b.importer(b.driver)
		if err := i.importFile(t.Context(), work[0]); err != nil {
			t.Fatal(err)
		}
		isQuick = true
		if err := i.importFile(t.Context(), work[1]); err != nil {
			t.Fatal(err)
		}
	})
	o := b.outcome(job)
	if o.steps != 10 {
		t.Errorf("%d steps were reported in ten seconds, want 10", o.steps)
	}
	var steps []string
	for _, e := range b.all() {
		switch d := e.Data.(type) {
		case events.FileStarted:
			steps = append(steps, fmt.Sprint("started ", d.File))
		case events.FileStepped:
			steps = append(steps, d.Step+" "+d.Message)
		}
	}
	if len(steps) != 11 || steps[0] != "started 0" || steps[1] != "reading page 2 of 100" || steps[2] != "reading page 13 of 100" {
		t.Errorf("steps = %q", steps)
	}
}

func TestStepIsReportedOnce(t *testing.T) {
	b := newFixture(t)
	job, work := b.accept(alice, doc{"slow.md", "Library", "x"})
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = script(func(_ context.Context, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
			for range 50 {
				time.Sleep(100 * time.Millisecond)
				progress("reading", 0, 0)
			}
			return extract.Info{}, sections(emit, "text", 1)
		})
		if err := b.importer(b.driver).importFile(t.Context(), work[0]); err != nil {
			t.Fatal(err)
		}
	})
	b.outcome(job)
	steps := map[events.FileStepped]int{}
	for _, e := range b.all() {
		if d, ok := e.Data.(events.FileStepped); ok {
			steps[d]++
		}
	}
	if steps[events.FileStepped{Step: "reading"}] != 1 {
		t.Errorf("steps = %v, want reading once", steps)
	}
}

func TestSuspectFileFailsAfterLimit(t *testing.T) {
	b := newFixture(t)
	_, work := b.accept(alice, doc{"a.md", "Library", "x"})
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		for n := 0; ; n++ {
			ctx, crash := context.WithCancel(t.Context())
			b.reader = script(func(ctx context.Context, _ func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
				time.Sleep(time.Second) // long enough for the start to be recorded
				crash()
				return extract.Info{}, ctx.Err()
			})
			err := b.importer(b.driver).importFile(ctx, work[0])
			crash()
			if fault.Is(err, fault.Invalid) {
				if n != suspectStarts+maxAlone || !strings.Contains(err.Error(), "given up") {
					t.Errorf("after %d starts: %v; want it given up after %d", n, err, suspectStarts+maxAlone)
				}
				return
			}
			if n > suspectStarts+maxAlone || !fault.Is(err, fault.Canceled) {
				t.Fatalf("start %d: %v, want canceled", n, err)
			}
		}
	})
}

// shallow returns the same fixture, but with the T of a subtest.
func (b *fixture) shallow(t *testing.T) *fixture {
	inner := *b
	inner.TB = t
	return &inner
}

// blocking is a reader that sends to begun when it starts, and then waits until end is
// closed.
func blocking(begun chan<- struct{}, end <-chan struct{}) script {
	return func(ctx context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
		begun <- struct{}{}
		select {
		case <-end:
			return extract.Info{}, sections(emit, "text", 1)
		case <-ctx.Done():
			return extract.Info{}, ctx.Err()
		}
	}
}

func TestShutdownDrains(t *testing.T) {
	for _, test := range []struct {
		name  string
		drain time.Duration
		acked bool
	}{
		{"a file that is read in time", time.Hour, true},
		{"a file that is not read in time", time.Millisecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newFixture(t)
			begun, end := make(chan struct{}, 1), make(chan struct{})
			b.reader = blocking(begun, end)
			job, work := b.accept(alice, doc{"a.md", "Library", "x"}, doc{"b.md", "Library", "y"})
			i := b.importer(b.driver)
			i.Workers, i.Drain = 1, test.drain
			before, _ := b.log.Head(t.Context())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var acked, nacked atomic.Int32
			f := &feed{work: work, atOnce: 1, answered: func(_ fileRef, ack bool) {
				if ack {
					acked.Add(1)
				} else {
					nacked.Add(1)
				}
			}}
			ended := make(chan error)
			go func() { ended <- i.Run(ctx, f) }()
			<-begun
			cancel()
			if test.acked {
				close(end)
			}
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
			head, _ := b.log.Head(t.Context())
			if got := acked.Load() == 1; got != test.acked || (head == before) == test.acked || acked.Load() > 1 {
				t.Errorf("%d acknowledged, %d rejected, head from %d to %d", acked.Load(), nacked.Load(), before, head)
			}
			b.reader = reader.New(reader.Options{})
			b.deliver(b.importer(b.driver), work)
			if o := b.outcome(job); len(o.imported) != 2 {
				t.Errorf("after a restart imported %v, failed %v; want both files imported", o.imported, o.failed)
			}
		})
	}
}

func TestLostLeaseRejectsFile(t *testing.T) {
	b := newFixture(t)
	begun := make(chan struct{}, 1)
	b.reader = blocking(begun, nil)
	_, work := b.accept(alice, doc{"a.md", "Library", "x"})
	before, _ := b.log.Head(t.Context())
	i := b.importer(b.driver)
	lease, lose := context.WithCancel(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	msgs := make(chan *message.Message, 1)
	msg := message.NewMessageWithContext(lease, "", fmt.Appendf(nil, `{"job":%q,"file":0}`, work[0].Job))
	msgs <- msg
	ended := make(chan error)
	go func() { ended <- i.Run(ctx, channel(msgs)) }()
	<-begun
	lose()
	select {
	case <-msg.Nacked():
	case <-msg.Acked():
		t.Error("a message whose lease was lost was acknowledged")
	}
	close(msgs)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if head, _ := b.log.Head(t.Context()); head != before {
		t.Error("events were appended")
	}
}

// channel is a subscriber that delivers the messages sent to the channel.
type channel chan *message.Message

func (c channel) Subscribe(context.Context, string) (<-chan *message.Message, error) { return c, nil }
func (c channel) Close() error                                                       { return nil }

func TestRunReportsEndOfSubscription(t *testing.T) {
	msgs := make(chan *message.Message)
	close(msgs)
	if err := newFixture(t).importer(nil).Run(t.Context(), channel(msgs)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Run with a subscription that ended: %v, want unavailable", err)
	}
}

func TestJSONSizeIsUpperBound(t *testing.T) {
	for _, text := range []string{"", "plain", "\x00\x01<>&\"\\\n\t\x7f", "\u2028\u2029", "ü€\U0001F600", "\xff\xfe"} {
		encoded := fmt.Sprintf("%q", text)
		if b := jsonOf(t, text); extract.JSONSize(text) < len(b) {
			t.Errorf("JSONSize(%s) = %d, its JSON has %d bytes", encoded, extract.JSONSize(text), len(b))
		}
	}
}
