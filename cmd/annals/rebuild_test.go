package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"annals/projections/readmodel"

	"golang.org/x/sync/errgroup"
)

// TestReadsDuringRebuild checks that clients of a server that imports files see no
// errors and no outdated data while other processes rebuild its read models. Some
// rebuilds are killed, others end with a cut-over or are rolled back.
func TestReadsDuringRebuild(t *testing.T) {
	c := newCrashTest(t)
	c.start()
	t.Cleanup(func() { _ = c.server.end(os.Kill) })
	c.fileRound(t.Context(), 0)
	token, err := issueToken(c.data, "admin")
	if err != nil {
		t.Fatal(err)
	}
	reading, stop := context.WithCancel(t.Context())
	var clients errgroup.Group
	for _, read := range []func(string) error{c.listFiled, c.searchFiled, c.readOwnWrites} {
		clients.Go(func() error {
			for reading.Err() == nil {
				if err := read(token); err != nil {
					return err
				}
			}
			return nil
		})
	}
	clients.Go(func() error {
		for round := 1; reading.Err() == nil; round++ {
			if err := c.send(reading, round, 2); err != nil && reading.Err() == nil {
				return err
			}
		}
		return nil
	})
	for range 4 {
		p := c.program("rebuild", "--all")
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(200 * time.Millisecond)))) // kill the rebuild at a random time
		_ = p.Process.Kill()
		_ = p.Wait() // an error is expected, because the process was killed
	}
	for _, args := range [][]string{{"rebuild", "--all"}, {"rebuild", "--all", "--back"}, {"rebuild", "--all"}} {
		if out, err := c.program(args...).CombinedOutput(); err != nil || strings.Count(string(out), " is active, after ") != len(readmodel.Names()) {
			t.Errorf("%v: %v; %s", args, err, out)
		}
	}
	stop()
	if err := clients.Wait(); err != nil {
		t.Error(err)
	}
	if err := c.server.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	if log := c.server.stderr.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the server complains:\n%s", log)
	}
}

// program returns a command that runs annals on the data folder of the server.
func (c *crashTest) program(args ...string) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	p := exec.Command(path, append(args, "--data", c.data)...)
	p.Args[0] = "annals"
	p.Env = append(os.Environ(), "ANNALS_TEST_PROGRAM=1")
	return p
}

// fileRound imports the files of one round and waits until search finds them.
func (c *crashTest) fileRound(ctx context.Context, round int) {
	c.Helper()
	if err := c.send(ctx, round, 1); err != nil {
		c.Fatal(err)
	}
	for id := range c.jobs {
		if job, err := c.ended(ctx, c.client(), id); err != nil || job.Status != "complete" {
			c.Fatalf("job %s: %+v, %v", id, job, err)
		}
	}
}

// get sends a GET and decodes the reply. The status must be 200.
func (c *crashTest) get(token, path string, into any) error {
	status, body, err := c.server.request(token, http.MethodGet, path, "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET %s: %d %s", path, status, body)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// listFiled checks that the documents imported before the rebuilds can be listed and
// read.
func (c *crashTest) listFiled(token string) error {
	var folders []struct{ ID string }
	if err := c.get(token, "/vault/folders?path="+url.QueryEscape("client 1"), &folders); err != nil || len(folders) != 1 {
		return fmt.Errorf("folders %v: %w", folders, err)
	}
	var documents []struct{ ID, Name string }
	if err := c.get(token, "/vault/documents?folderId="+folders[0].ID, &documents); err != nil {
		return err
	}
	ids := make(map[string]string)
	for _, d := range documents {
		ids[d.Name] = d.ID
	}
	for n := range crashFiles {
		if ids[fmt.Sprintf("note-0-%d.md", n)] == "" {
			return fmt.Errorf("note %d is not among the %d documents listed", n, len(documents))
		}
	}
	n := rand.IntN(crashFiles)
	status, body, err := c.server.request(token, http.MethodGet, "/vault/documents/"+ids[fmt.Sprintf("note-0-%d.md", n)]+"/markdown", "")
	if want := fmt.Sprintf("# Note %d\n\nclient 1 in round 0.", n); err != nil || status != http.StatusOK || !strings.Contains(string(body), want) {
		return fmt.Errorf("the text of note %d: %d %s (%v), want %q", n, status, body, err, want)
	}
	return nil
}

// searchFiled checks that a search finds as many passages of these documents as before
// the rebuilds.
func (c *crashTest) searchFiled(token string) error {
	status, reply, err := c.server.request(token, http.MethodPost, "/core/search", `{"query": "note in round 0", "folder_name": "client 1"}`)
	if n := strings.Count(string(reply), `"text":"# Note `); err != nil || status != http.StatusOK || n != 10 {
		return fmt.Errorf("a search finds %d notes: %d %s (%w)", n, status, reply, err)
	}
	return nil
}

// readOwnWrites creates a folder and reads it immediately after the reply.
func (c *crashTest) readOwnWrites(token string) error {
	body := fmt.Sprintf(`{"name": "made %d"}`, rand.Int64())
	status, reply, err := c.server.request(token, http.MethodPost, "/vault/folders", body)
	if err != nil || status == http.StatusAccepted {
		return err
	}
	var made struct{ ID string }
	if status != http.StatusCreated {
		return fmt.Errorf("POST /vault/folders: %d %s", status, reply)
	}
	if err := json.Unmarshal(reply, &made); err != nil {
		return err
	}
	return c.get(token, "/vault/folders/"+made.ID, nil)
}
