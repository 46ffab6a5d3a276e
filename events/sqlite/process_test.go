package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/events"
	"annals/events/sqlite"

	"github.com/google/uuid"
)

// childLog is an environment variable with the path of a log. If it is set, the test
// binary appends to that log, and prints a line after each append.
const childLog = "SQLITE_TEST_CHILD_LOG"

const childWriters = 4

func TestMain(m *testing.M) {
	if path := os.Getenv(childLog); path != "" {
		if err := appendForever(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func appendForever(path string) error {
	ctx := context.Background()
	d, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer d.Close()
	var writers sync.WaitGroup
	failed := make(chan error, childWriters)
	for w := range childWriters {
		writers.Go(func() {
			stream := fmt.Sprintf("child-%d-%d", os.Getpid(), w)
			for last := events.NoStream; ; last += 2 {
				a, err := d.Append(ctx, stream, last, childRecords(stream, last))
				if err != nil {
					failed <- err
					return
				}
				// Print each line with a single write, so that a killed process leaves no
				// partial line.
				if _, err := fmt.Printf("%s %d %d\n", stream, a.Revision, a.Position); err != nil {
					failed <- err // the parent has closed the pipe
					return
				}
			}
		})
	}
	writers.Wait()
	return <-failed
}

// childRecords returns two records, each longer than a page of the file.
func childRecords(stream string, last int64) []events.Record {
	pair := make([]events.Record, 2)
	for i := range pair {
		pair[i] = events.Record{
			ID: childID(stream, last+1+int64(i)), Type: "Happened", Metadata: []byte(`{"schema":1}`),
			Data: fmt.Appendf(nil, `{"text":"%s"}`, strings.Repeat("x", 6000)),
		}
	}
	return pair
}

func childID(stream string, revision int64) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d", stream, revision))
}

// child is a running process that appends.
type child struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func startChild(t *testing.T, path string) *child {
	t.Helper()
	c := &child{Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	c.Env = append(os.Environ(), childLog+"="+path)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	c.lines = bufio.NewScanner(out)
	return c
}

// acknowledged reads up to n lines of the child, and returns the last append of each
// stream.
func (c *child) acknowledged(t *testing.T, n int) map[string]events.Appended {
	t.Helper()
	last := make(map[string]events.Appended)
	for ; n > 0 && c.lines.Scan(); n-- {
		var stream string
		var a events.Appended
		if _, err := fmt.Sscan(c.lines.Text(), &stream, &a.Revision, &a.Position); err != nil {
			t.Fatalf("the child printed %q: %v", c.lines.Text(), err)
		}
		last[stream] = a
	}
	return last
}

// TestKillLosesNoAcknowledgedAppend kills several processes, one after the other, while
// they append to the same file.
func TestKillLosesNoAcknowledgedAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	open(t, path).Close()
	for round := range 4 {
		c := startChild(t, path)
		acked := c.acknowledged(t, 40+17*round)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for stream, a := range c.acknowledged(t, 1<<20) { // appends that the child printed before it was killed
			acked[stream] = a
		}
		c.Wait()
		if len(acked) == 0 {
			t.Fatal("the child appended nothing")
		}
		d := open(t, path)
		for stream, a := range acked {
			checkChildStream(t, d, stream, a)
		}
		if _, err := d.Append(t.Context(), "mine", int64(round-1), childRecords("mine", int64(round-1))[:1]); err != nil {
			t.Errorf("Append after the child was killed: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// checkChildStream checks that the stream has all records up to the acknowledged append
// a, and that each later append is either completely in the stream or not at all.
func checkChildStream(t *testing.T, d *sqlite.Driver, stream string, a events.Appended) {
	t.Helper()
	var next int64
	for {
		batch, err := d.ReadStream(t.Context(), stream, next, 50)
		if err != nil {
			t.Fatalf("ReadStream(%s): %v", stream, err)
		}
		if len(batch) == 0 {
			break
		}
		for _, r := range batch {
			if r.Revision != next || r.ID != childID(stream, next) || len(r.Data) < 6000 {
				t.Fatalf("%s: got revision %d with id %s, want revision %d complete", stream, r.Revision, r.ID, next)
			}
			if r.Revision == a.Revision && r.Position != a.Position {
				t.Errorf("%s: revision %d is at position %d, acknowledged was %d", stream, r.Revision, r.Position, a.Position)
			}
			next++
		}
	}
	if next <= a.Revision || next%2 != 0 {
		t.Errorf("%s: got %d records, want an even number, beyond the acknowledged revision %d", stream, next, a.Revision)
	}
}

// TestProcessesShareLog reads and appends while another process appends.
func TestProcessesShareLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	d := open(t, path)
	defer d.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := startChild(t, path)
	var draining sync.WaitGroup
	draining.Go(func() {
		for c.lines.Scan() { // otherwise the child blocks on its pipe
		}
	})
	defer draining.Wait()
	defer c.Process.Kill()

	next := make(map[string]int64)
	mine, foreign := int64(0), 0
	for after := events.Position(0); foreign < 200 || next["mine"] < 3; {
		batch, through, err := d.ReadAll(ctx, after, 64, nil)
		if err != nil {
			t.Fatalf("ReadAll: %v", err)
		}
		for _, r := range batch {
			if r.Position <= after || r.Revision != next[r.Stream] {
				t.Fatalf("got revision %d of %s at position %d, want revision %d after position %d", r.Revision, r.Stream, r.Position, next[r.Stream], after)
			}
			after = r.Position
			next[r.Stream]++
			if r.Stream != "mine" {
				foreign++
			}
		}
		if through == after && len(batch) == 0 {
			if err := d.Wait(ctx, after); err != nil {
				t.Fatalf("Wait after %d events of the child: %v", foreign, err)
			}
		}
		after = through
		if _, err := d.Append(ctx, "mine", mine-1, childRecords("mine", mine-1)[:1]); err != nil {
			t.Fatalf("Append while the child appends: %v", err)
		}
		mine++
	}
}
