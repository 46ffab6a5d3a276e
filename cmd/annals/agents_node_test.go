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
	"testing"
	"time"
)

// agentPackages is the folder with the npm lock file of the packages that
// scripts/test-deps installs: MCP clients, and Node.js to run them.
const agentPackages = "testdata/agents"

// nodeModules returns the folder where scripts/test-deps installed the npm packages.
func nodeModules(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	wanted, err := os.ReadFile(filepath.Join(agentPackages, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "annals-tests", "agents")
	installed, _ := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(filepath.Join(modules, ".bin", "node")); err != nil || !bytes.Equal(installed, wanted) {
		t.Skip("the agents' clients are not installed: run scripts/test-deps, which needs npm")
	}
	return modules
}

// nodeCommand returns a command that runs a script with Node.js, in a new folder that
// links to the installed npm packages.
func nodeCommand(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	dir, modules := t.TempDir(), nodeModules(t)
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, filepath.Join(modules, ".bin", "node"), append([]string{script}, args...)...)
	c.Dir = dir
	c.Stderr = new(bytes.Buffer)
	return c
}

// eachLine runs a command and calls the function each with every line of the output.
func eachLine(t *testing.T, c *exec.Cmd, each func(line string)) error {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	defer func() { // deferred, because the function each may end the test
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
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

// visit signs the person in at the address that an agent printed, and then opens the
// redirect, on which the agent listens.
func (a *agentTest) visit(t *testing.T, person, address string) {
	t.Helper()
	redirected, err := a.browser(person).open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.Get(redirected.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := reply.Body.Close(); err != nil {
		t.Error(err)
	}
}

// testTypeScriptClient signs in with the official TypeScript client for MCP, and uses
// all tools and resources.
func (a *agentTest) testTypeScriptClient(t *testing.T) {
	settings, err := json.Marshal(map[string]any{
		"url": a.tools(), "file": filepath.Join(a.inbox, "fastnet.md"), "outside": filepath.Join(a.data, "log.db"), "story": longStory(),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := nodeCommand(t, "client.mjs")
	client.Stdin = bytes.NewReader(settings)
	script, err := os.ReadFile(filepath.Join(agentPackages, "client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, client.Dir, "client.mjs", string(script))
	last := ""
	err = eachLine(t, client, func(line string) {
		var message struct{ Open, Step, Error string }
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			t.Fatalf("the client printed %q: %v", line, err)
		}
		switch {
		case message.Open != "":
			a.visit(t, "alice", message.Open)
		case message.Error != "":
			t.Errorf("%s: %s", message.Step, message.Error)
		default:
			t.Log(message.Step)
		}
		last = message.Step
	})
	if err != nil || last != "ends" {
		t.Errorf("after the step %q the client ends: %v", last, err)
	}
}
