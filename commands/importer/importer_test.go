package importer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/commands"
	"annals/commands/importer/extract"
	"annals/commands/importer/extract/reader"
	"annals/commands/importer/summarise"
	"annals/events"
	"annals/events/memory"
	"annals/events/originals"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

var alice = events.User{Principal: "user:alice"}

// fixture has everything that an import needs, with a log in memory.
type fixture struct {
	testing.TB
	driver    events.Driver
	log       *events.Log
	originals *originals.Dir
	reader    extract.Reader
	find      commands.Duplicates
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir, err := originals.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &fixture{TB: t, driver: memory.New(), originals: dir, reader: reader.New(reader.Options{})}
	b.log = events.NewLog(b.driver)
	t.Cleanup(func() {
		b.reader.Close()
		b.log.Close()
	})
	return b
}

// again returns a fixture with an empty log and the same originals.
func (b *fixture) again() *fixture { return b.on(memory.New()) }

// on returns a fixture with another log and the same originals.
func (b *fixture) on(d events.Driver) *fixture {
	fresh := *b
	fresh.driver = d
	fresh.log = events.NewLog(fresh.driver)
	b.Cleanup(func() { fresh.log.Close() })
	return &fresh
}

// importer returns the Importer of a new process on a driver.
func (b *fixture) importer(d events.Driver) *Importer {
	quiet := slog.New(slog.DiscardHandler)
	return &Importer{
		Handler:   &commands.Handler{Log: events.NewLog(d), Duplicates: b.find, Logger: quiet},
		Originals: b.originals, Reader: b.reader, Logger: quiet,
		Summarise:  func(title string) Summariser { return summarise.New(title) },
		RetryPause: time.Millisecond,
		textLimit:  1 << 30, // readers of type script return more text than their files contain
	}
}

// doc is a file to upload.
type doc struct{ name, folder, text string }

// accept stores files and accepts them as a job.
func (b *fixture) accept(user events.User, docs ...doc) (uuid.UUID, []fileRef) {
	b.Helper()
	return b.acceptAs(user, false, docs...)
}

func (b *fixture) acceptAs(user events.User, replace bool, docs ...doc) (uuid.UUID, []fileRef) {
	b.Helper()
	var staged []originals.Staged
	var uploads []commands.Upload
	for _, d := range docs {
		sum := sha256.Sum256([]byte(d.text))
		name := hex.EncodeToString(sum[:])
		uploads = append(uploads, commands.Upload{Name: d.name, Folder: d.folder, Tags: []string{"t"}, SHA256: name, Size: int64(len(d.text)), MediaType: "text/markdown", Replace: replace})
		if _, release, err := b.originals.Path(b.Context(), name); err == nil {
			release()
			continue
		}
		s, err := b.originals.Stage(b.Context(), strings.NewReader(d.text), 1<<30)
		if err != nil {
			b.Fatal(err)
		}
		staged = append(staged, s)
	}
	if err := originals.CommitAll(b.Context(), staged); err != nil {
		b.Fatal(err)
	}
	h := &commands.Handler{Log: b.log}
	started, err := h.StartImport(b.Context(), user, "request", uploads)
	if err != nil {
		b.Fatal(err)
	}
	work := make([]fileRef, len(docs))
	for i := range work {
		work[i] = fileRef{Job: started.Job, File: i}
	}
	return started.Job, work
}

// feed is a subscriber that delivers each file one time, with at most atOnce files in
// progress. The contexts of its messages do not end with the subscription. It calls answered
// after each message was acknowledged or rejected.
type feed struct {
	work     []fileRef
	atOnce   int
	answered func(w fileRef, acked bool)

	cancel  context.CancelFunc
	running sync.WaitGroup
}

func (f *feed) Subscribe(ctx context.Context, to string) (<-chan *message.Message, error) {
	if to != topic {
		return nil, fmt.Errorf("unknown topic %s", to)
	}
	ctx, f.cancel = context.WithCancel(ctx)
	out, next := make(chan *message.Message), make(chan fileRef)
	f.running.Go(func() {
		defer close(next)
		for _, w := range f.work {
			select {
			case next <- w:
			case <-ctx.Done():
				return
			}
		}
	})
	var senders sync.WaitGroup
	for range max(1, f.atOnce) {
		senders.Go(func() {
			for w := range next {
				f.deliver(ctx, out, w)
			}
		})
	}
	f.running.Go(func() {
		senders.Wait()
		<-ctx.Done()
		close(out)
	})
	return out, nil
}

func (f *feed) deliver(ctx context.Context, out chan<- *message.Message, w fileRef) {
	payload, _ := json.Marshal(w)
	msg := message.NewMessage(uuid.NewString(), payload)
	select {
	case out <- msg:
	case <-ctx.Done():
		return
	}
	select {
	case <-msg.Acked():
		f.answered(w, true)
	case <-msg.Nacked():
		f.answered(w, false)
	}
}

func (f *feed) Close() error {
	if f.cancel != nil {
		f.cancel()
	}
	f.running.Wait()
	return nil
}

// deliver delivers each file to an importer one time, and returns the files that the
// importer rejected (nack).
func (b *fixture) deliver(i *Importer, work []fileRef) (nacked []fileRef) {
	b.Helper()
	if len(work) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var mu sync.Mutex
	open := len(work)
	f := &feed{work: work, atOnce: 16, answered: func(w fileRef, acked bool) {
		mu.Lock()
		defer mu.Unlock()
		if !acked {
			nacked = append(nacked, w)
		}
		if open--; open == 0 {
			cancel()
		}
	}}
	if err := i.Run(ctx, f); err != nil {
		b.Errorf("Run: %v", err)
	}
	return nacked
}

// all returns the events of the log.
func (b *fixture) all() (all []events.Event) {
	b.Helper()
	for after := events.Position(0); ; {
		batch, through, err := b.log.Read(b.Context(), after, 1000)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range batch {
			if e.Err != nil {
				b.Fatal(e.Err)
			}
		}
		if all = append(all, batch...); through == after {
			return all
		}
		after = through
	}
}

// outcome is the outcome of a job, read from the log.
type outcome struct {
	imported  map[int]events.FileImported
	failed    map[int]string
	kinds     map[int]string // fault kinds of the failed files
	documents map[uuid.UUID]events.DocumentImported
	text      map[string]string // by text stream, for streams that a document refers to
	steps     int
}

// outcome reads the outcome of a job from the log. The test fails if a file or job ended
// twice, a job refers to a document that was not created before, or a folder was created
// twice.
func (b *fixture) outcome(job uuid.UUID) outcome {
	b.Helper()
	o := outcome{make(map[int]events.FileImported), make(map[int]string), make(map[int]string), make(map[uuid.UUID]events.DocumentImported), make(map[string]string), 0}
	text := make(map[string][]string)
	folders := make(map[string]uuid.UUID)
	finished := 0
	for _, e := range b.all() {
		switch d := e.Data.(type) {
		case events.FolderCreated:
			key := d.Parent.String() + d.Name
			if _, exists := folders[key]; exists {
				b.Errorf("folder %s was created twice", d.Name)
			}
			folders[key] = d.Folder
		case events.FolderMoved: // the old name of the folder is free again
			maps.DeleteFunc(folders, func(_ string, id uuid.UUID) bool { return id == d.Folder })
		case events.FolderDeleted:
			maps.DeleteFunc(folders, func(_ string, id uuid.UUID) bool { return id == d.Folder })
		case events.SectionExtracted:
			text[e.Stream] = append(text[e.Stream], d.Title+"\n"+d.Text)
		case events.DocumentImported:
			o.documents[events.StreamID(e.Stream)] = d
			o.text[d.TextStream] = strings.Join(text[d.TextStream], "\n")
		}
		if e.Stream != events.JobStream(job) {
			continue
		}
		switch d := e.Data.(type) {
		case events.FileStepped:
			o.steps++
		case events.FileImported:
			if _, ok := o.documents[d.Document]; !ok {
				b.Errorf("file %d became document %s, which does not exist yet", d.File, d.Document)
			}
			if o.ended(d.File) {
				b.Errorf("file %d ended twice", d.File)
			}
			o.imported[d.File] = d
		case events.FileFailed:
			if o.ended(d.File) {
				b.Errorf("file %d ended twice", d.File)
			}
			o.failed[d.File], o.kinds[d.File] = d.Error, d.Kind
		case events.JobFinished:
			if finished++; d.Successful != len(o.imported) || d.Failed != len(o.failed) {
				b.Errorf("%+v after %d files imported and %d failed", d, len(o.imported), len(o.failed))
			}
		}
	}
	if finished != 1 {
		b.Errorf("the job finished %d times, want 1", finished)
	}
	return o
}

func (o outcome) ended(file int) bool {
	_, imported := o.imported[file]
	_, failed := o.failed[file]
	return imported || failed
}

// long returns Markdown of the given size with a section every 20 KB.
func long(size int) string {
	var text bytes.Buffer
	for n := 0; text.Len() < size; n++ {
		fmt.Fprintf(&text, "# Chapter %d\n\n", n)
		for line := range 400 {
			fmt.Fprintf(&text, "Line %d of chapter %d says a thing or two.\n", line, n)
		}
	}
	return text.String()
}

func TestFilesBecomeDocuments(t *testing.T) {
	b := newFixture(t)
	program := alice
	program.Token = "t-1"
	job, work := b.accept(program,
		doc{"a.md", "Library/2026", "# Apples\n\nApples are red and round.\n"},
		doc{"empty.md", "Library", "\n\n"},
		doc{"big.md", "Library", long(1200 << 10)})
	if nacked := b.deliver(b.importer(b.driver), work); len(nacked) > 0 {
		t.Fatalf("rejected %v, want none", nacked)
	}
	o := b.outcome(job)
	if len(o.imported) != 3 || len(o.documents) != 3 {
		t.Fatalf("imported %d files as %d documents, failed %v; want 3 and 3", len(o.imported), len(o.documents), o.failed)
	}
	apples := o.documents[o.imported[0].Document]
	if apples.Title != "Apples" || apples.Name != "a.md" || apples.Sections != 1 || apples.MediaType != "text/markdown" || apples.Version != 1 ||
		!slices.Equal(apples.Tags, []string{"t"}) || !strings.Contains(apples.Summary+apples.Description, "red and round") || apples.Extractor != extract.Version {
		t.Errorf("document = %+v", apples)
	}
	if got := o.text[apples.TextStream]; got != "Apples\nApples are red and round." {
		t.Errorf("text = %q", got)
	}
	if empty := o.documents[o.imported[1].Document]; empty.Sections != 0 || len(empty.Warnings) != 1 || len(o.imported[1].Warnings) != 1 {
		t.Errorf("document without text = %+v, outcome = %+v", empty, o.imported[1])
	}
	big := o.documents[o.imported[2].Document]
	if n := strings.Count(o.text[big.TextStream], "a thing or two"); n != strings.Count(long(1200<<10), "a thing or two") {
		t.Errorf("the long document has %d lines, want all", n)
	}
	for _, e := range b.all() {
		if m := e.Metadata; strings.HasPrefix(e.Stream, "document-") && (m.Actor != alice.Principal || m.Via != "importer by token t-1" || m.Correlation != "request" || !strings.HasPrefix(m.Causation, events.JobStream(job))) {
			t.Errorf("%s has metadata %+v", e.Type, m)
		}
	}
}

func TestSameBytesOneDocument(t *testing.T) {
	b := newFixture(t)
	same := "# Same\n\nbytes\n"
	var docs []doc
	for i := range 6 {
		docs = append(docs, doc{fmt.Sprint(i, ".md"), "Here", same}, doc{fmt.Sprint(i, ".md"), "There", same})
	}
	job, work := b.accept(alice, docs...)
	b.deliver(b.importer(b.driver), work)
	o := b.outcome(job)
	created := 0
	for _, f := range o.imported {
		if !f.Duplicate {
			created++
		}
	}
	if len(o.imported) != 12 || len(o.documents) != 2 || created != 2 {
		t.Errorf("imported %d files, %d of them new, as %d documents; want 12, 2 and 2", len(o.imported), created, len(o.documents))
	}
	again, work := b.accept(alice, doc{"again.md", "Here", same})
	b.deliver(b.importer(b.driver), work)
	if f := b.outcome(again).imported[0]; !f.Duplicate || o.documents[f.Document].Folder == uuid.Nil {
		t.Errorf("the same bytes again = %+v, want a duplicate", f)
	}
}

// found are read models that know a single document.
type found struct {
	document uuid.UUID
	sha256   string
}

func (f found) DuplicateOf(_ context.Context, _ events.User, _ uuid.UUID, sha256 string) (uuid.UUID, bool, error) {
	return f.document, sha256 == f.sha256, nil
}

func TestDuplicateElsewhereIsReported(t *testing.T) {
	b := newFixture(t)
	job, work := b.accept(alice, doc{"a.md", "Here", "known"}, doc{"b.md", "Here", "new"})
	f, err := (&commands.Handler{Log: b.log}).FileToImport(t.Context(), job, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.find = found{uuid.New(), f.Accepted.SHA256}
	b.deliver(b.importer(b.driver), work)
	o := b.outcome(job)
	if !o.imported[0].Duplicate || o.imported[1].Duplicate || len(o.documents) != 2 {
		t.Errorf("imported %+v as %d documents; want 2, and only the first file a duplicate", o.imported, len(o.documents))
	}
}
