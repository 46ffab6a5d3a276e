package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"
)

func TestWatchUntilInterrupted(t *testing.T) {
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

func TestWatchContinuesAfterLogOutage(t *testing.T) {
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
		t.Errorf("outage reported: %v; states printed %d times after it: %v", told, after, err)
	}
}
