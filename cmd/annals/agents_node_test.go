package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nodeCommand prepares a script to be run by Node in a folder of its own, in
// which the packages of testdata/agents are installed.
func nodeCommand(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	packages := "testdata/agents"
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	cache = filepath.Join(cache, "annals-tests", "agents")
	wanted, err := os.ReadFile(filepath.Join(packages, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(cache, "node_modules", ".bin", "node")
	installed, _ := os.ReadFile(filepath.Join(cache, "package-lock.json"))
	if _, err := os.Stat(node); err != nil || !bytes.Equal(installed, wanted) {
		t.Skip("the agents' clients are not installed: scripts/test-deps does that where there is npm")
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(cache, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(script, "/") {
		text, err := os.ReadFile(filepath.Join(packages, script))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, script, string(text))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, node, append([]string{script}, args...)...)
	c.Dir = dir
	c.Stderr = new(bytes.Buffer)
	return c
}

// eachLine runs a command, and each on every line that it prints.
func eachLine(t *testing.T, c *exec.Cmd, each func(line string)) error {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		each(lines.Text())
	}
	_, _ = io.Copy(io.Discard, out)
	if err := c.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, c.Stderr)
	}
	return lines.Err()
}

// visit lets a person go through the sign-in at an address, and the browser
// with the answer to the client, which listens for it.
func (a *agentTest) visit(t *testing.T, person, address string) {
	t.Helper()
	away, err := a.browser(person).open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.Get(away.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := reply.Body.Close(); err != nil {
		t.Error(err)
	}
}

// testTypeScriptClient lets the official client for TypeScript sign in and use
// whatever there is.
func (a *agentTest) testTypeScriptClient(t *testing.T) {
	settings, err := json.Marshal(map[string]any{
		"url": a.tools(), "file": filepath.Join(a.inbox, "fastnet.md"), "outside": filepath.Join(a.data, "log.db"), "story": longStory(),
	})
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	client := nodeCommand(t, "client.mjs")
	client.Stdin = bytes.NewReader(settings)
	err = eachLine(t, client, func(line string) {
		var told struct{ Open, Step, Error string }
		if err := json.Unmarshal([]byte(line), &told); err != nil {
			t.Fatalf("the client says %q: %v", line, err)
		}
		switch {
		case told.Open != "":
			a.visit(t, "alice", told.Open)
		case told.Error != "":
			t.Errorf("%s: %s", told.Step, told.Error)
		default:
			t.Log(told.Step)
		}
		steps++
	})
	if err != nil || steps < 15 {
		t.Errorf("after %d lines the client ends: %v", steps, err)
	}
}
