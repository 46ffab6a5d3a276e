package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// chromium is a Chromium browser that a test controls through a pipe with the DevTools
// protocol.
type chromium struct {
	testing.TB
	in      io.Writer
	out     *bufio.Reader
	last    int
	session string // DevTools session of its only page
}

// startChromium starts a browser. It skips the test if no browser is installed.
func startChromium(t *testing.T) *chromium {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium here")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// The path must be short, because it is part of a Unix socket path, whose length is
	// limited.
	dir, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir="+filepath.Join(dir, "profile"), "about:blank")
	c.Env = append(os.Environ(), "TMPDIR="+dir)
	c.ExtraFiles = []*os.File{toBrowser, fromBrowser} // become the file descriptors 3 and 4 of the browser
	c.WaitDelay = 5 * time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &chromium{TB: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		_ = b.try("", "Browser.close", nil, nil) // close the browser, so that its folder can be removed
		in.Close()
		_ = c.Wait()
		cancel()
		out.Close()
		_ = os.RemoveAll(dir) // a process of the browser may still write to it
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	return b
}

func (b *chromium) call(method string, params, result any) {
	b.Helper()
	if err := b.try(b.session, method, params, result); err != nil {
		b.Fatal(err)
	}
}

func (b *chromium) try(session, method string, params, result any) error {
	b.last++
	message := map[string]any{"id": b.last, "method": method}
	if params != nil {
		message["params"] = params
	}
	if session != "" {
		message["sessionId"] = session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	for err == nil {
		var line []byte
		if line, err = b.out.ReadBytes(0); err != nil {
			break
		}
		var reply struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err = json.Unmarshal(line[:len(line)-1], &reply); err != nil || reply.ID != b.last {
			continue // not a reply but an event
		}
		if reply.Error != nil {
			return fmt.Errorf("%s: %s", method, reply.Error.Message)
		}
		if result != nil {
			err = json.Unmarshal(reply.Result, result)
		}
		return err
	}
	return fmt.Errorf("%s: the browser: %w", method, err)
}

// open opens an address, as if typed into the address bar.
func (b *chromium) open(address string) {
	b.Helper()
	b.call("Page.navigate", map[string]any{"url": address}, nil)
}

// run runs JavaScript in the current page and returns its value, or "" if it has none.
func (b *chromium) run(script string) string {
	b.Helper()
	var out struct{ Result struct{ Value any } }
	if err := b.try(b.session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true}, &out); err != nil || out.Result.Value == nil {
		return ""
	}
	return fmt.Sprint(out.Result.Value)
}

// wait runs JavaScript repeatedly in a fully loaded page until it returns a value.
func (b *chromium) wait(what, script string) string {
	b.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if value := b.run(`document.readyState === "complete" ? (` + script + `) : ""`); value != "" && value != "false" {
			return value
		}
	}
	b.Fatalf("%s does not come: %s shows %s", what, b.run("location.href"), b.run("document.documentElement.outerHTML"))
	return ""
}
