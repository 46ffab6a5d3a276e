package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/engine"
	"annals/events"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"

	"github.com/google/uuid"
)

// copyTest copies a log with annals copy in a separate process.
type copyTest struct {
	*testing.T
	dir            string
	source, target events.Driver
	from, to       string // URLs of the source and target log
	appended       int
}

// newCopyTest prepares a copy of a log file to another file or, if toCluster is set, to
// EventStoreDB.
func newCopyTest(t *testing.T, toCluster bool) *copyTest {
	c := &copyTest{T: t, dir: t.TempDir()}
	c.from, c.to = c.file("source.db"), c.file("target.db")
	if toCluster {
		c.to = esdbtest.Start(t, memory.New()).URL()
	}
	c.source, c.target = c.open(c.from), c.open(c.to)
	return c
}

func (c *copyTest) file(name string) string {
	return "sqlite://" + filepath.ToSlash(filepath.Join(c.dir, name))
}

func (c *copyTest) open(url string) events.Driver {
	c.Helper()
	d, err := engine.OpenLog(c.Context(), engine.LogFlag, url, c.dir, engine.MayCreate)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		if err := d.Close(); err != nil {
			c.Error(err)
		}
	})
	return d
}

// add appends n events to the source, three consecutive events to each stream.
func (c *copyTest) add(n int) {
	c.Helper()
	for range n / 3 {
		var run [3]events.Record
		for i := range run {
			run[i] = events.Record{
				ID: uuid.New(), Type: "Happened", Data: []byte(`{"n":1}`),
				Metadata: []byte(`{"time":"2026-01-02T03:04:05.000006Z","schema":1}`),
			}
		}
		if _, err := c.source.Append(c.Context(), fmt.Sprint("stream-", c.appended%7), events.AnyRevision, run[:]); err != nil {
			c.Fatal(err)
		}
		c.appended += len(run)
	}
}

func (c *copyTest) program(args ...string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	p := exec.Command(path, append([]string{"copy", "--data", c.dir, "--from", c.from, "--to", c.to}, args...)...)
	p.Args[0] = "annals"
	p.Env = append(os.Environ(), "ANNALS_TEST_PROGRAM=1")
	return p
}

// wantCopied checks that the output of annals copy reports both logs as equal and
// complete.
func (c *copyTest) wantCopied(out string) {
	c.Helper()
	var hashes [2]string
	var counts [2]int
	_, err := fmt.Sscanf(out, "from sha256 %s of %d events\nto sha256 %s of %d events\nequal;", &hashes[0], &counts[0], &hashes[1], &counts[1])
	if err != nil || hashes[0] != hashes[1] || counts != [2]int{c.appended, c.appended} {
		c.Errorf("copy prints %q (%v), want equal digests of %d events", out, err, c.appended)
	}
}

// TestCopyToOtherEngineAndBack copies a log from a file to EventStoreDB, and from there
// to another file. With each copy a server must return the same search results, and
// annals verify must find no problem. A backup of the copy at EventStoreDB must restore
// an equal log.
func TestCopyToOtherEngineAndBack(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "annals-data")
	server := filed(t, dir, map[string]string{"lamp.md": "# Lamp\n\nThe lamp burned oil.\n", "glass.md": "# Glass\n\nThe glass was blown.\n"})
	want := searched(t, server, data)
	if err := server.end(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cluster := esdbtest.Start(t, memory.New()).URL()
	for _, move := range [][2]string{
		{"", cluster},
		{cluster, "sqlite://" + filepath.ToSlash(filepath.Join(dir, "back.db"))},
	} {
		to := move[1]
		wantRun(t, "copy", "--data", data, "--from", move[0], "--to", to)
		wantRun(t, "rebuild", "--data", data, "--log", to, "--all", "--discard")
		if out, err := verified(t, data, "--log", to); err != nil {
			t.Errorf("verify of %s: %v\n%s", to, err, out)
		}
		server, err := startServer(dir, nil, "--log", to)
		if err != nil {
			t.Fatal(err)
		}
		if got := searched(t, server, data); got != want {
			t.Errorf("with the log at %s a search returned %s, want %s", to, got, want)
		}
		if err := server.end(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	restored := filepath.Join(dir, "restored")
	wantRun(t, "backup", "--data", data, "--log", cluster, filepath.Join(dir, "backup"))
	wantRun(t, "restore", "--data", restored, filepath.Join(dir, "backup"))
	wantRun(t, "copy", "--data", restored, "--to", cluster)
}

// wantRun runs the program, which must succeed.
func wantRun(t *testing.T, args ...string) {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), args, strings.NewReader(""), &out, &out); err != nil {
		t.Fatalf("%v: %v; %s", args, err, &out)
	}
}

func searched(t *testing.T, server *serverProcess, data string) string {
	t.Helper()
	token, err := issueToken(data, "admin")
	if err != nil {
		t.Fatal(err)
	}
	status, reply, err := server.request(token, "POST", "/core/search", `{"query": "Who burned oil?"}`)
	if err != nil || status != 200 || !strings.Contains(string(reply), "The lamp burned oil.") {
		t.Fatalf("search: %d %s, %v", status, reply, err)
	}
	return string(reply)
}

// TestCrashWhileCopying checks that annals copy can be continued after it was killed:
// no event is lost, duplicated or reordered.
func TestCrashWhileCopying(t *testing.T) {
	for name, toCluster := range map[string]bool{"to a file": false, "to EventStoreDB": true} {
		t.Run(name, func(t *testing.T) {
			c := newCopyTest(t, toCluster)
			c.add(3000)
			for range cmp.Or(crashRounds(t), 2) {
				c.crash()
			}
			out, err := c.program().CombinedOutput()
			if err != nil {
				t.Fatalf("copy: %v; %s", err, out)
			}
			c.wantCopied(string(out))
		})
	}
}

// crash starts a copy and kills it after some events, unless it has ended before.
func (c *copyTest) crash() {
	c.Helper()
	moment, err := c.target.Head(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	moment += events.Position(rand.Int64N(600))
	p := c.program()
	if err := p.Start(); err != nil {
		c.Fatal(err)
	}
	running, end := context.WithCancel(c.Context())
	go func() {
		defer end()
		_ = p.Wait() // an error is expected, because the process was killed
	}()
	_ = c.target.Wait(running, moment) // fails if the copy has ended
	_ = p.Process.Kill()
	<-running.Done()
	c.Logf("killed beyond position %d", moment)
}

func TestCopyFollowUntilInterrupted(t *testing.T) {
	c := newCopyTest(t, false)
	c.add(300)
	p := c.program("--follow")
	var out bytes.Buffer
	p.Stdout = &out
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if want := "the target has all 300 events of the source and follows it"; err != nil || !strings.HasPrefix(line, want) {
		t.Errorf("copy --follow prints %q (%v), want %q", line, err, want)
	}
	c.add(300)
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.target.Wait(soon, 300); err != nil {
		t.Fatalf("wait for the copy to follow: %v", err)
	}
	c.add(300)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stderr)
	if err := p.Wait(); err != nil {
		t.Fatalf("copy --follow: %v", err)
	}
	c.wantCopied(out.String())
}
