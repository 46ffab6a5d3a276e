package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/events/eventstoredb"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/failpoint"
	"annals/events/memory"
	"annals/events/sqlite"

	"github.com/google/uuid"
)

// leaveText appends a text stream with the given number of sections to the log at path,
// as a failed import leaves it: its job has ended, and no document refers to the text.
func leaveText(ctx context.Context, path string, sections int) error {
	driver, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	log := events.NewLog(driver)
	defer log.Close()
	return leaveTextIn(ctx, log, sections)
}

func leaveTextIn(ctx context.Context, log *events.Log, sections int) error {
	job := uuid.New()
	cause := events.Cause{Actor: "user:admin", Via: "importer", Causation: events.JobStream(job) + "@0"}
	stream := events.TextStream(uuid.New(), 0)
	for i := range sections {
		section := events.SectionExtracted{Index: i, Text: strings.Repeat("A text that came to nothing. ", 2000)}
		if _, err := log.Append(ctx, stream, int64(i)-1, cause, events.New{Data: section}); err != nil {
			return err
		}
	}
	_, err := log.Append(ctx, events.JobStream(job), events.NoStream, cause,
		events.New{Data: events.FileAccepted{Name: "a.md", Folder: "Library", Refused: "it is empty", Tags: []string{}}},
		events.New{Data: events.ImportRequested{Files: 1, User: "user:admin"}},
		events.New{Data: events.JobFinished{Failed: 1}})
	return err
}

// recordsOf returns all records of a log.
func recordsOf(t *testing.T, path string) (all []events.Record) {
	t.Helper()
	driver, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	for after := events.Position(0); ; {
		batch, through, err := driver.ReadAll(t.Context(), after, 1000, nil)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, batch...); through == after {
			return all
		}
		after = through
	}
}

// compacted runs annals compact and returns its output.
func compacted(t *testing.T, data string, args ...string) string {
	t.Helper()
	out, err := backedUp(t.Context(), append([]string{"compact", "--data", data}, args...)...)
	if err != nil {
		t.Fatalf("compact: %v\n%s", err, out)
	}
	return out
}

// TestCompact checks that annals compact removes the texts of failed imports and
// changes nothing else. Backups and copies that were made before, and still have the
// texts, can be continued afterwards.
func TestCompact(t *testing.T) {
	c := newCrashTest(t)
	c.server = filed(t, c.dir, notes("first"))
	path := filepath.Join(c.data, "log.db")
	leave := func() {
		t.Helper()
		if err := leaveText(t.Context(), path, 40); err != nil {
			t.Fatal(err)
		}
	}
	// parts divides the events of the log into those of texts that no document refers
	// to, and all others.
	parts := func() (texts, others []events.Record) {
		t.Helper()
		all := recordsOf(t, path)
		named := map[string]bool{}
		for _, r := range all {
			if content, ok := events.ContentOf(events.Decode(r).Data); ok {
				named[content.TextStream] = true
			}
		}
		for _, r := range all {
			if events.IsText(r.Stream) && !named[r.Stream] {
				texts = append(texts, r)
			} else {
				others = append(others, r)
			}
		}
		return texts, others
	}
	for range 3 {
		leave()
	}

	// While a server is importing, only compact --dry-run works.
	imported := make(chan error, 1)
	go func() { imported <- importFiles(t, c.dir, "second", notes("second")) }()
	if out, err := backedUp(t.Context(), "compact", "--data", c.data); err == nil || !strings.Contains(out, "stop it first") {
		t.Errorf("compact beside a server: %v\n%s", err, out)
	}
	if out := compacted(t, c.data, "--dry-run"); !strings.Contains(out, "would remove 3 texts of failed imports: 120 events") {
		t.Errorf("compact --dry-run prints\n%s", out)
	}
	if err := <-imported; err != nil {
		t.Fatal(err)
	}
	if out, err := verified(t, c.data); err != nil {
		t.Errorf("verify before: %v\n%s", err, out)
	}
	kept, copied := filepath.Join(c.dir, "backup"), "sqlite://"+filepath.ToSlash(filepath.Join(c.dir, "copy", "log.db"))
	c.backUp(kept)
	wantRun(t, "copy", "--data", c.data, "--to", copied)
	before := answers(c)
	if err := c.server.end(os.Interrupt); err != nil {
		t.Fatal(err)
	}

	// If compact is killed, the log is either unchanged or completely compacted.
	for _, kill := range []struct {
		point failpoint.Point
		left  int // number of text events in the log afterwards
	}{{failpoint.StreamsRemoved, 120}, {failpoint.RemovalCommitted, 0}, {failpoint.LogShrunk, 0}} {
		if !failpoint.Enabled {
			break
		}
		_, want := parts()
		p := c.program("compact")
		p.Env = append(p.Env, failpoint.Variable+"="+string(kill.point)+":1")
		var exit *exec.ExitError
		if out, err := p.CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() >= 0 {
			t.Errorf("compact ends with %v, want it killed at %s\n%s", err, kill.point, out)
		}
		texts, others := parts()
		if len(texts) != kill.left || !slices.EqualFunc(others, want, sameRecord) {
			t.Errorf("after a kill at %s: got %d events of texts and %d others, want %d and %d", kill.point, len(texts), len(others), kill.left, len(want))
		}
		if kill.left == 0 {
			leave()
		}
	}
	_, want := parts()
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	large := size()
	out := compacted(t, c.data)
	t.Log(out)
	if !strings.Contains(out, "equal") || large-size() < 2<<20 {
		t.Errorf("the log had %d bytes, and has %d; compact prints\n%s", large, size(), out)
	}
	if got := recordsOf(t, path); !slices.EqualFunc(got, want, sameRecord) {
		t.Errorf("the log has %d events, want the %d that are not of texts", len(got), len(want))
	}
	if out := compacted(t, c.data); !strings.HasPrefix(out, "removes 0 texts") {
		t.Errorf("compact once more prints\n%s", out)
	}

	// All read models still match the compacted log.
	if out, err := verified(t, c.data); err != nil || strings.Contains(out, "not compared") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	c.backUp(kept)
	if out, err := backedUp(t.Context(), "backup", "--verify", kept); err != nil || !strings.HasPrefix(out, "sound: ") {
		t.Errorf("backup --verify: %v\n%s", err, out)
	}
	newBackup := filepath.Join(c.dir, "new-backup")
	c.backUp(newBackup)
	wantRun(t, "copy", "--data", c.data, "--to", copied)
	wantRun(t, "copy", "--data", c.data, "--to", "sqlite://"+filepath.ToSlash(filepath.Join(c.dir, "fresh", "log.db")))
	wantRun(t, "rebuild", "--all", "--data", c.data)
	c.start()
	t.Cleanup(func() { _ = c.server.end(os.Kill) })
	if got := answers(c); got != before {
		t.Errorf("replies after the compaction: got\n%s\nwant\n%s", got, before)
	}
	if err := importFiles(t, c.dir, "third", notes("third")); err != nil {
		t.Error(err)
	}
	r := newCrashTest(t)
	wantRun(t, "restore", newBackup, "--data", r.data)
	r.start()
	t.Cleanup(func() { _ = r.server.end(os.Kill) })
	if got := answers(r); got != before {
		t.Errorf("replies after the restore: got\n%s\nwant\n%s", got, before)
	}
}

func sameRecord(a, b events.Record) bool {
	return a.ID == b.ID && a.Position == b.Position && a.Revision == b.Revision && a.Stream == b.Stream && a.Type == b.Type &&
		bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Metadata, b.Metadata)
}

// spoiled is a faulty log: if a stream is truncated, it also loses an event of another
// stream.
type spoiled struct {
	events.Driver
	truncated atomic.Bool
}

func (s *spoiled) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if records[0].Type == "$metadata" {
		s.truncated.Store(true)
	}
	return s.Driver.Append(ctx, stream, expected, records)
}

func (s *spoiled) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	records, through, err := s.Driver.ReadAll(ctx, after, limit, skip)
	if s.truncated.Load() {
		records = slices.DeleteFunc(records, func(r events.Record) bool { return strings.HasSuffix(r.Type, "FileAccepted") })
	}
	return records, through, err
}

// eventStoreDBWithText starts a fake EventStoreDB that stores its events in kept. It
// returns a log there, which contains texts of failed imports, and the URL of the log.
func eventStoreDBWithText(t *testing.T, kept events.Driver) (url string, log *events.Log) {
	t.Helper()
	url = esdbtest.Start(t, kept).URL() + "&prefix=annals-"
	driver, err := eventstoredb.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	log = events.NewLog(driver)
	t.Cleanup(func() { log.Close() })
	if err := leaveTextIn(t.Context(), log, 3); err != nil {
		t.Fatal(err)
	}
	return url, log
}

// After a truncation compact reads the log again. It must report an event that is
// missing.
func TestCompactReportsLossAtEventStoreDB(t *testing.T) {
	url, _ := eventStoreDBWithText(t, &spoiled{Driver: memory.New()})
	out, err := backedUp(t.Context(), "compact", "--data", t.TempDir(), "--grace", "0s", "--log", url)
	if err == nil || !strings.Contains(err.Error(), "do not scavenge EventStoreDB") || strings.Contains(out, "equal") {
		t.Errorf("compact ends with %v and prints\n%s", err, out)
	}
}

func TestCompactAtEventStoreDB(t *testing.T) {
	url, log := eventStoreDBWithText(t, memory.New())
	data := t.TempDir()
	for _, step := range []struct {
		args []string
		want string
	}{
		{nil, "keeps 1 text of jobs that are running or ended only recently"},
		{[]string{"--grace", "0s", "--dry-run"}, "would remove 1 text of failed imports: 3 events"},
		{[]string{"--grace", "0s"}, "the streams are truncated; scavenge EventStoreDB"},
		{[]string{"--grace", "0s"}, "removes 0 texts"},
	} {
		if out := compacted(t, data, append(step.args, "--log", url)...); !strings.Contains(out, step.want) {
			t.Errorf("compact %v prints\n%swant %q", step.args, out, step.want)
		}
	}
	head, _ := log.Head(t.Context())
	if _, err := log.Verify(t.Context(), head, nil, func(p string) { t.Error(p) }); err != nil {
		t.Error(err)
	}
}
