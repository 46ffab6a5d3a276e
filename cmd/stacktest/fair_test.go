package stacktest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/commands"
	"annals/commands/importer"
	"annals/commands/importer/extract"
	"annals/events"
	"annals/events/memory"
	"annals/events/originals"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/importqueue"
	"annals/projections/searchindex/bleve"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// slow imitates extraction. It reads a file immediately, unless the name begins with
// "heavy": then it reads until its context ends. If the name begins with "scan", it recognises
// the only page until recognised is closed.
type slow struct {
	recognised chan struct{}

	mu    sync.Mutex
	begun map[string]int // number of started extractions by file name
}

func (s *slow) Read(ctx context.Context, _, name string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
	s.mu.Lock()
	s.begun[name]++
	s.mu.Unlock()
	if strings.HasPrefix(name, "heavy") {
		<-ctx.Done()
		return extract.Info{}, ctx.Err()
	}
	if strings.HasPrefix(name, "scan") {
		progress("ocr", 1, 1)
		select {
		case <-s.recognised:
		case <-ctx.Done():
			return extract.Info{}, ctx.Err()
		}
	}
	return extract.Info{Sections: 1}, emit(extract.Section{Text: "A text."})
}

func (s *slow) Close() error { return nil }

func (s *slow) readings(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.begun {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// imports are nodes on one log. Each node imports up to two files concurrently.
type imports struct {
	testing.TB
	handler *commands.Handler
	store   *originals.Dir
	reader  *slow
}

func newImports(t *testing.T, nodes int, url string) *imports {
	t.Helper()
	log := events.NewLog(memory.New())
	t.Cleanup(func() { log.Close() })
	store, err := originals.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &imports{t, &commands.Handler{Log: log}, store, &slow{recognised: make(chan struct{}), begun: make(map[string]int)}}
	for n := range nodes {
		s.run(n, s.options(url))
	}
	return s
}

// options returns the options for the read models of a node. They are in the database
// at url, which the nodes share, or in a new folder if url is "".
func (s *imports) options(url string) generation.Options {
	s.Helper()
	dir := s.TempDir()
	o := generation.Options{
		Log: s.handler.Log, Tables: tables.Folder(dir), Logger: slog.New(slog.DiscardHandler),
		Search: bleve.Folder(dir),
	}
	own, err := control.Open(s.Context(), filepath.Join(dir, "control.db"))
	if err != nil {
		s.Fatal(err)
	}
	closing := []func() error{own.Close}
	if o.Control = own; url != "" {
		database, err := sqldb.ParsePostgres(url)
		if err != nil {
			s.Fatal(err)
		}
		o.Own = &generation.Own{Control: own, Tables: tables.Folder(dir)}
		home := tables.NewDatabase(database)
		if o.Control, err = control.OpenShared(s.Context(), database); err != nil {
			s.Fatal(err)
		}
		o.Tables = home
		closing = append(closing, o.Control.Close, home.Close)
	}
	s.Cleanup(func() {
		for _, end := range closing {
			if err := end(); err != nil {
				s.Error(err)
			}
		}
	})
	return o
}

// run runs a node until the test ends.
func (s *imports) run(n int, o generation.Options) {
	s.Helper()
	models, err := projections.Open(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	i := &importer.Importer{Handler: &commands.Handler{Log: o.Log, Logger: o.Logger}, Originals: s.store, Reader: s.reader, Workers: 2, Drain: time.Millisecond, Logger: o.Logger}
	if o.Own != nil {
		i.RequeueAfter = 5 * time.Second
	}
	queue := &importqueue.Queue{Work: models.Runner("work"), Control: o.Control, Holder: fmt.Sprint("node ", n), Workers: 16, Room: i.Room, Logger: o.Logger}
	i.SetAside = queue.SetAside
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{models.Run, func(ctx context.Context) error { return i.Run(ctx, queue) }} {
		running.Go(func() {
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				s.Error(err)
			}
		})
	}
	s.Cleanup(func() {
		stop()
		running.Wait()
		if err := models.Close(); err != nil {
			s.Error(err)
		}
	})
}

// accept accepts an import job of a user. Its files have names that begin with word.
func (s *imports) accept(user, word string, files int) (job uuid.UUID) {
	s.Helper()
	var names []string
	for n := range files {
		names = append(names, fmt.Sprintf("%s-%d.md", word, n))
	}
	return s.acceptNamed(user, names...)
}

// acceptNamed accepts an import job of files with these names.
func (s *imports) acceptNamed(user string, names ...string) (job uuid.UUID) {
	s.Helper()
	var uploads []commands.Upload
	for _, name := range names {
		text := user + name
		staged, err := s.store.Stage(s.Context(), strings.NewReader(text), 1<<20)
		if err == nil {
			err = originals.CommitAll(s.Context(), []originals.Staged{staged})
		}
		if err != nil {
			s.Fatal(err)
		}
		sum := sha256.Sum256([]byte(text))
		uploads = append(uploads, commands.Upload{Name: name, Folder: "Inbox/" + user, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text))})
	}
	started, err := s.handler.StartImport(s.Context(), events.User{Principal: events.Principal("user:" + user)}, "request", uploads)
	if err != nil {
		s.Fatal(err)
	}
	return started.Job
}

// wantSoon waits until jobs have ended. That must happen soon after the time
// accepted.
func (s *imports) wantSoon(accepted time.Time, jobs ...uuid.UUID) {
	s.Helper()
	for _, job := range jobs {
		for {
			ended := false
			err := s.handler.Log.ReadStream(s.Context(), events.JobStream(job), 0, func(e events.Event) error {
				if d, ok := e.Data.(events.JobFinished); ok {
					if ended = true; d.Failed > 0 {
						s.Errorf("%d small files failed", d.Failed)
					}
				}
				return e.Err
			})
			if err != nil {
				s.Fatal(err)
			}
			if ended {
				break
			}
			if time.Since(accepted) > 30*time.Second {
				s.Fatalf("a job of small files has not ended after %v", time.Since(accepted))
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	if took := time.Since(accepted); took > 20*time.Second { // far less on an idle machine; without fairness it would never end
		s.Errorf("small files took %v while another user's heavy files were read, want at most 20 s", took)
	} else {
		s.Logf("small files took %v", took)
	}
}

// While one user's files take long to read, however many they are, the few small files
// of another user must be imported within 2 s: on one node, and on nodes that share the
// work.
func TestSmallFilesPassOthersHeavyOnes(t *testing.T) {
	for name, nodes := range map[string]int{"one node": 1, "two nodes": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := ""
			if nodes > 1 {
				url = postgrestest.URL(t)
			}
			s := newImports(t, nodes, url)
			s.accept("heavy", "heavy", 4*nodes)
			s.accept("heavy", "heavy-more", 20)
			for begun := time.Now(); s.reader.readings("heavy") < 2*nodes; {
				if <-time.After(10 * time.Millisecond); time.Since(begun) > 30*time.Second {
					t.Fatalf("heavy files being read: got %d, want %d", s.reader.readings("heavy"), 2*nodes)
				}
			}
			<-time.After(1500 * time.Millisecond) // after this time the importer treats the heavy files as long ones
			accepted := time.Now()
			s.wantSoon(accepted, s.accept("stranger", "small", 3))
			accepted = time.Now()
			var jobs []uuid.UUID
			for n := range 10 {
				jobs = append(jobs, s.accept(fmt.Sprint("stranger", n), "small", 2))
			}
			s.wantSoon(accepted, jobs...)
		})
	}
}

// imported returns the files of a job that are imported, in that order, and whether the job has
// finished.
func (s *imports) imported(job uuid.UUID) (files []int, finished bool) {
	s.Helper()
	err := s.handler.Log.ReadStream(s.Context(), events.JobStream(job), 0, func(e events.Event) error {
		switch d := e.Data.(type) {
		case events.FileImported:
			files = append(files, d.File)
		case events.FileFailed:
			s.Errorf("file %d failed: %s", d.File, d.Error)
		case events.JobFinished:
			finished = true
		}
		return e.Err
	})
	if err != nil {
		s.Fatal(err)
	}
	return files, finished
}

// wait waits until done returns true.
func (s *imports) wait(what string, done func() bool) {
	s.Helper()
	for begun := time.Now(); !done(); <-time.After(20 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			s.Fatalf("after a minute still waiting for %s", what)
		}
	}
}

// While pages of many scans are recognised, which takes arbitrarily long, the files behind them
// are imported: those of the same user and those of others.
func TestFilesPassScans(t *testing.T) {
	t.Parallel()
	s := newImports(t, 1, "")
	const scans, files = 40, 5
	var names []string
	for n := range scans {
		names = append(names, fmt.Sprintf("scan-%d.md", n))
	}
	for n := range files {
		names = append(names, fmt.Sprintf("good-%d.md", n))
	}
	job, others := s.acceptNamed("alice", names...), s.accept("bob", "good", files)
	s.wait("the files that are not scans", func() bool {
		own, _ := s.imported(job)
		_, finished := s.imported(others)
		return len(own) >= files && finished
	})
	own, _ := s.imported(job)
	for _, file := range own {
		if file < scans {
			t.Errorf("scan %d is imported, but was not recognised", file)
		}
	}
	close(s.reader.recognised)
	s.wait("the scans", func() bool { _, finished := s.imported(job); return finished })
	if own, _ := s.imported(job); len(own) != scans+files {
		t.Errorf("%d files are imported, want %d", len(own), scans+files)
	}
}
