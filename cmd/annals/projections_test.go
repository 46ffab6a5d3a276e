package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"
	"annals/projections"
)

func TestReadModelsAreWatchedUntilInterrupted(t *testing.T) {
	dir := t.TempDir()
	filed(t, dir, map[string]string{"a.md": "The first."})
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	shown, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"projections", "--watch", "--data", filepath.Join(dir, "annals-data"), "vault"}, strings.NewReader(""), out, os.Stderr)
		ended <- errors.Join(err, out.Close())
	}()
	times := 0
	for lines := bufio.NewScanner(shown); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "vault ") {
			if times++; times == 2 {
				interrupt()
			}
		}
	}
	if err := <-ended; err != nil || times < 2 {
		t.Errorf("shown %d times: %v", times, err)
	}
}

func TestWatchingGoesOnWhenTheLogWasAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := esdbtest.Start(t, memory.New())
	url := log.URL() + "&defaultDeadline=1000"
	server, err := startServer(dir, nil, "--log", url, "--log-level", "error")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.end(os.Kill) })
	token, err := issueToken(filepath.Join(dir, "annals-data"), "admin")
	if err != nil {
		t.Fatal(err)
	}
	if status, reply, err := server.request(token, http.MethodPost, "/vault/folders", `{"name": "Lamps"}`); err != nil || status != http.StatusCreated {
		t.Fatalf("make a folder: %d %s %v", status, reply, err)
	}
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	shown, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"projections", "--watch", "--data", filepath.Join(dir, "annals-data"), "--log", url, "vault"}, strings.NewReader(""), out, out)
		ended <- errors.Join(err, out.Close())
	}()
	stopped, told, after := false, false, 0
	for lines := bufio.NewScanner(shown); lines.Scan(); {
		switch row := strings.HasPrefix(lines.Text(), "vault "); {
		case row && !stopped:
			stopped = true
			log.Stop()
		case strings.HasPrefix(lines.Text(), "annals: ") && stopped && !told:
			told = true
			log.Restart(t)
		case row && told:
			after++
			interrupt()
		}
	}
	if err := <-ended; err != nil || !told || after == 0 {
		t.Errorf("the outage was told: %v; shown %d times after it: %v", told, after, err)
	}
}

func TestARowTellsOfAllGenerations(t *testing.T) {
	for want, l := range map[string]projectionLine{
		"vault|3|2|50|100|50|1.5s|10/s|4|-":                                  {Version: 3, Generation: 2, Position: 50, LagEvents: 50, LagSeconds: 1.5, Rate: 10, Parked: 4},
		"vault|2, not 3|2|100|100|0|0s|0/s|0|3 filling at 40 of 100, 2000/s": {Version: 2, Generation: 2, Position: 100, Spares: []spareLine{{3, 3, "filling", 40, 2000}}},
		"vault|3|4|100|100|0|0s|0/s|0|5 ready; 3 kept, of version 2":         {Version: 3, Generation: 4, Position: 100, Spares: []spareLine{{5, 3, "ready", 100, 0}, {3, 2, "kept", 90, 0}}},
		"vault|3|0|-|100|-|-|-|-|none serves yet":                            {},
		"vault|3|4|-|100|-|-|-|-|3 kept; it cannot be opened":                {Version: 3, Generation: 4, Problem: "it cannot be opened", Spares: []spareLine{{3, 3, "kept", 0, 0}}},
	} {
		l.Name, l.Makes, l.Head = "vault", 3, 100
		if got := strings.ReplaceAll(l.row(false), "\t", "|"); got != want {
			t.Errorf("%+v is shown as %s, want %s", l, got, want)
		}
	}
	for want, l := range map[string]projectionLine{
		"vault|3|2|100|100|0|0s|0/s|0|one/1a2b3c4d|3 ready":    {Leader: "one/1a2b3c4d", Spares: []spareLine{{3, 3, "ready", 100, 0}}},
		"vault|3|2|100|100|0|0s|0/s|0|one/1a2b3c4d (silent)|-": {Leader: "one/1a2b3c4d", Silent: true},
		"vault|3|2|100|100|0|0s|0/s|0|-|-":                     {},
		"vault|3|2|-|100|-|-|-|-|one/1a2b3c4d|it is damaged":   {Leader: "one/1a2b3c4d", Problem: "it is damaged"},
	} {
		l.Name, l.Version, l.Makes, l.Generation, l.Position, l.Head = "vault", 3, 3, 2, 100, 100
		if got := strings.ReplaceAll(l.row(true), "\t", "|"); got != want {
			t.Errorf("%+v, shared, is shown as %s, want %s", l, got, want)
		}
	}
}

// Whoever only looks is told which server is silent.
func TestAServerThatDoesNotAnswerIsNamed(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	dir, at := t.TempDir(), silent.Addr().String()
	if d, err := openLog(t.Context(), logFlag, "", dir, mayCreate); err != nil || d.Close() != nil {
		t.Fatal(err)
	}
	plain := esdbtest.Start(t, memory.New()).Address()
	for _, c := range []struct {
		of   rebuild
		want string
	}{
		{rebuild{log: "esdb://" + plain + "?tls=true"}, "--log: the URL of the log is for TLS, and " + plain + " does not speak it: write tls=false"},
		{rebuild{log: "esdb://" + at + "?tls=false"}, "EventStoreDB, where the log is, did not answer within 100ms"},
		{rebuild{readModels: "postgres://me@" + at + "/db?sslmode=disable"}, "the database db on " + at + ", where the read models are, did not answer within 100ms"},
	} {
		c.of.data, c.of.told, c.of.within = dir, io.Discard, 100*time.Millisecond
		if _, err := c.of.open(t.Context()); err == nil || err.Error() != c.want {
			t.Errorf("open: %v, want %s", err, c.want)
		}
	}
}

// A log that falls silent while the state of read models is looked up is not told
// as their database.
func TestAServerThatFallsSilentIsNamed(t *testing.T) {
	log := memory.New()
	if _, err := events.NewLog(log).Append(t.Context(), "job-a", events.NoStream, events.Cause{}, events.New{Data: events.FileStarted{}}); err != nil {
		t.Fatal(err)
	}
	server := esdbtest.Start(t, log)
	r := &rebuild{data: t.TempDir(), log: server.URL(), told: io.Discard, within: time.Minute}
	closeAll, err := r.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	server.Fail(esdbtest.Fault{On: esdbtest.Read, Hang: true})
	r.within = 100 * time.Millisecond
	const want = "EventStoreDB, where the log is, did not answer within 100ms"
	err = soon(t.Context(), r.within, "the database", func(ctx context.Context) error {
		_, err := projections.Age(ctx, r.options.Log, 0)
		return err
	})
	if err == nil || err.Error() != want {
		t.Errorf("the state of read models: %v, want %s", err, want)
	}
	if _, err := r.options.Log.Head(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the head of the log: %v, want %s", err, want)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if err := soon(left, time.Minute, "the database", func(ctx context.Context) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("asked for who has left: %v, want canceled", err)
	}
}
