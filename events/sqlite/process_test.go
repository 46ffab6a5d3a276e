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

// The test binary runs itself again as a process that appends to the log that
// this variable names, and prints a line for each append once it is made.
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
				// One write of one line, so that a kill leaves no half ones.
				if _, err := fmt.Printf("%s %d %d\n", stream, a.Revision, a.Position); err != nil {
					failed <- err // nobody listens any more
					return
				}
			}
		})
	}
	writers.Wait()
	return <-failed
}

// childRecords returns two records, long enough to spread over several pages.
func childRecords(stream string, last int64) []events.Record {
	both := make([]events.Record, 2)
	for i := range both {
		both[i] = events.Record{
			ID: childID(stream, last+1+int64(i)), Type: "Happened", Metadata: []byte(`{"schema":1}`),
			Data: fmt.Appendf(nil, `{"text":"%s"}`, strings.Repeat("x", 6000)),
		}
	}
	return both
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

// acknowledged returns the appends that the child reports, up to n.
func (c *child) acknowledged(t *testing.T, n int) map[string]events.Appended {
	t.Helper()
	last := make(map[string]events.Appended)
	for ; n > 0 && c.lines.Scan(); n-- {
		var stream string
		var a events.Appended
		if _, err := fmt.Sscan(c.lines.Text(), &stream, &a.Revision, &a.Position); err != nil {
			t.Fatalf("the other process said %q: %v", c.lines.Text(), err)
		}
		last[stream] = a
	}
	return last
}

// TestKillLosesNoAcknowledgedAppend kills a process in the middle of
// its appends, several times over the same file, while another has it open.
func TestKillLosesNoAcknowledgedAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	open(t, path).Close()
	for round := range 4 {
		c := startChild(t, path)
		told := c.acknowledged(t, 40+17*round)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for stream, a := range c.acknowledged(t, 1<<20) { // said before it died
			told[stream] = a
		}
		c.Wait()
		if len(told) == 0 {
			t.Fatal("the other process appended nothing")
		}
		d := open(t, path)
		for stream, a := range told {
			checkChildStream(t, d, stream, a)
		}
		if _, err := d.Append(t.Context(), "mine", int64(round-1), childRecords("mine", int64(round-1))[:1]); err != nil {
			t.Errorf("append after the other process died: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// checkChildStream fails the test unless the stream is whole up to at least
// the append that was acknowledged.
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
				t.Fatalf("%s: got revision %d with id %s, want %d whole", stream, r.Revision, r.ID, next)
			}
			if r.Revision == a.Revision && r.Position != a.Position {
				t.Errorf("%s: revision %d is at %d, acknowledged at %d", stream, r.Revision, r.Position, a.Position)
			}
			next++
		}
	}
	if next <= a.Revision || next%2 != 0 {
		t.Errorf("%s: has %d records, acknowledged up to revision %d, in twos", stream, next, a.Revision)
	}
}

// TestProcessesShareALog reads and appends while another process appends.
func TestProcessesShareALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	d := open(t, path)
	defer d.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := startChild(t, path)
	var listening sync.WaitGroup
	listening.Go(func() {
		for c.lines.Scan() { // lets it go on
		}
	})
	defer listening.Wait()
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
				t.Fatalf("got revision %d of %s at %d, want %d after position %d", r.Revision, r.Stream, r.Position, next[r.Stream], after)
			}
			after = r.Position
			next[r.Stream]++
			if r.Stream != "mine" {
				foreign++
			}
		}
		if through == after && len(batch) == 0 {
			if err := d.Wait(ctx, after); err != nil {
				t.Fatalf("Wait for the other process after %d events: %v", foreign, err)
			}
		}
		after = through
		if _, err := d.Append(ctx, "mine", mine-1, childRecords("mine", mine-1)[:1]); err != nil {
			t.Fatalf("append beside the other process: %v", err)
		}
		mine++
	}
}
