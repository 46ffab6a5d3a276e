package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// TestBackupAndRestore makes backups while files are being imported, and kills some of
// the backup commands. A server restored from a backup that was made during the imports
// must complete their jobs. A server restored from the last backup must give the same
// replies as the original server.
func TestBackupAndRestore(t *testing.T) {
	c := newCrashTest(t)
	c.server = filed(t, c.dir, notes("first"))
	last, middle := filepath.Join(c.dir, "backup"), filepath.Join(c.dir, "backup in the middle")
	var imports errgroup.Group
	for _, folder := range []string{"second", "third"} {
		imports.Go(func() error { return importFiles(t, c.dir, folder, notes(folder)) })
	}
	for range 3 {
		p := c.program("backup", last)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(100 * time.Millisecond)))) // kill the backup at a random time
		_ = p.Process.Kill()
		_ = p.Wait() // an error is expected, because the process was killed
	}
	c.backUp(middle)
	c.backUp(last)
	if err := imports.Wait(); err != nil {
		t.Fatal(err)
	}
	c.backUp(last)
	for _, dir := range []string{middle, last} {
		if out, err := backedUp(t.Context(), "backup", "--verify", dir); err != nil || !strings.HasPrefix(out, "sound: ") {
			t.Errorf("backup --verify: %v\n%s", err, out)
		}
	}
	c.restored(middle)
	r := c.restored(last)
	if got, want := answers(r), answers(c); got != want {
		t.Errorf("replies after the restore: got\n%s\nwant\n%s", got, want)
	}
	if err := r.server.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	if out, err := verified(t, r.data); err != nil || strings.Contains(out, "not compared") {
		t.Errorf("verify after the restore: %v\n%s", err, out)
	}
}

// notes returns 15 files for a folder: their contents by name.
func notes(folder string) map[string]string {
	files := map[string]string{}
	for n := range 15 {
		files[fmt.Sprintf("note-%d.md", n)] = fmt.Sprintf("# Note %d\n\nIt lies in the %s folder.\n%s", n, folder, strings.Repeat("It tells of lamps and oil. ", 20*n))
	}
	return files
}

// backUp makes a backup while the server runs.
func (c *crashTest) backUp(dir string) {
	c.Helper()
	if out, err := c.program("backup", dir).CombinedOutput(); err != nil || !strings.Contains(string(out), "written and read back") {
		c.Fatalf("backup: %v\n%s", err, out)
	}
}

// backedUp runs a command and returns its output.
func backedUp(ctx context.Context, args ...string) (string, error) {
	var out, errOut strings.Builder
	err := run(ctx, args, strings.NewReader(""), &out, &errOut)
	return out.String() + errOut.String(), err
}

// restored restores a backup into a new data folder, starts a server on it, and waits
// until its jobs have ended.
func (c *crashTest) restored(from string) *crashTest {
	c.Helper()
	r := newCrashTest(c.T)
	out, err := backedUp(c.Context(), "restore", from, "--data", r.data)
	if err != nil || !strings.HasPrefix(out, "restored ") {
		c.Fatalf("restore: %v\n%s", err, out)
	}
	r.start()
	c.Cleanup(func() { _ = r.server.end(os.Kill) })
	r.wantJobsEnded(r.wantSoundLog())
	return r
}

// answers returns what a server replies about all its documents: lists, texts, original
// files, and a search.
func answers(c *crashTest) string {
	c.Helper()
	token, err := issueToken(c.data, "admin")
	if err != nil {
		c.Fatal(err)
	}
	var all strings.Builder
	call := func(method, path, body string) []byte {
		c.Helper()
		for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
			status, reply, err := c.server.request(token, method, path, body)
			if err == nil && status == http.StatusServiceUnavailable {
				continue // the read models are catching up
			}
			if err != nil {
				c.Fatal(err)
			}
			fmt.Fprintf(&all, "%s %s: %d %s\n", method, path, status, reply)
			return reply
		}
	}
	var folders, documents []struct{ ID, Name string }
	if err := json.Unmarshal(call("GET", "/vault/folders", ""), &folders); err != nil {
		c.Fatal(err)
	}
	for _, folder := range folders {
		if err := json.Unmarshal(call("GET", "/vault/documents?folderId="+folder.ID, ""), &documents); err != nil {
			c.Fatal(err)
		}
		for _, d := range documents {
			call("GET", "/vault/documents/"+d.ID+"/markdown", "")
			call("GET", "/documents/"+d.ID+filepath.Ext(d.Name), "")
		}
	}
	call("POST", "/core/search", `{"query": "which note lies in the second folder?"}`)
	return all.String()
}

func TestServeRejectsIncompleteRestore(t *testing.T) {
	dir := t.TempDir()
	server := filed(t, dir, map[string]string{"lamp.md": "# Lamp\n\nThe lamp burned oil.\n", "glass.md": "# Glass\n\nThe glass was blown.\n"})
	if err := server.end(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	source, kept, data := filepath.Join(dir, "annals-data"), filepath.Join(dir, "backup"), filepath.Join(dir, "new", "annals-data")
	if out, err := backedUp(t.Context(), "backup", kept, "--data", source); err != nil {
		t.Fatalf("backup: %v\n%s", err, out)
	}
	original := anOriginal(t, kept)
	whole, err := os.ReadFile(original)
	if err := errors.Join(err, changeByte(original)); err != nil {
		t.Fatal(err)
	}
	if out, err := backedUp(t.Context(), "restore", kept, "--data", data); err == nil || !strings.Contains(out, filepath.Base(original)) {
		t.Errorf("restore of a changed original: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"events"}, {"user", "list"}, {"backup", filepath.Join(dir, "another")}} {
		out, err := backedUp(t.Context(), append(args, "--data", data)...)
		if err == nil || !strings.Contains(out, "run annals restore again") {
			t.Errorf("%v on it: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(original, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := backedUp(t.Context(), "restore", kept, "--data", data); err != nil || !strings.HasPrefix(out, "restored ") {
		t.Fatalf("restore again: %v\n%s", err, out)
	}
	if err := sameEvents(t, source, data); err != nil {
		t.Error(err)
	}
	if out, err := backedUp(t.Context(), "restore", kept, "--data", data); err == nil || !strings.Contains(out, "is not empty") {
		t.Errorf("restore over it: %v\n%s", err, out)
	}
}

// sameEvents returns an error unless the logs in both data folders have the same
// events.
func sameEvents(t *testing.T, data ...string) error {
	var logs [2]strings.Builder
	for i := range data {
		if err := run(t.Context(), []string{"events", "--json", "--data", data[i]}, nil, &logs[i], io.Discard); err != nil {
			return err
		}
	}
	if logs[0].String() != logs[1].String() {
		return fmt.Errorf("%s and %s have different events", data[1], data[0])
	}
	return nil
}
