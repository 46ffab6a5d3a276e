// Package chromiumtest lets tests use web pages as people do, in a Chromium browser that is
// controlled with the DevTools protocol. It imports no other package of this module.
package chromiumtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience is how long a page has to reach a state that a test waits for. Tests run on busy
// machines.
const patience = 30 * time.Second

// Browser is a running browser. Its methods may be called concurrently.
type Browser struct {
	in io.WriteCloser

	mu      sync.Mutex
	last    int
	waiting map[int]chan<- reply
	pages   map[string]*Page // by the id of their DevTools session
	ended   error            // why the browser sends no more messages
}

type reply struct {
	result json.RawMessage
	err    error
}

// Start starts a browser that ends with the test, at most for the time that is given. It skips
// the test if no browser is installed.
func Start(t testing.TB, most time.Duration) *Browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium here: run scripts/test-deps")
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
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
	c := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir="+filepath.Join(dir, "profile"), "about:blank")
	c.Env = append(os.Environ(), "TMPDIR="+dir)
	c.ExtraFiles = []*os.File{toBrowser, fromBrowser} // become the file descriptors 3 and 4 of the browser
	c.WaitDelay = 5 * time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &Browser{in: in, waiting: map[int]chan<- reply{}, pages: map[string]*Page{}}
	var reading sync.WaitGroup
	reading.Go(func() { b.read(bufio.NewReader(out)) })
	t.Cleanup(func() {
		_ = b.call("", "Browser.close", nil, nil) // so that its folder can be removed
		in.Close()
		_ = c.Wait()
		cancel()
		reading.Wait()
		out.Close()
		_ = os.RemoveAll(dir) // a process of the browser may still write to it
	})
	return b
}

// read hands replies to the calls that wait for them, and events to their pages.
func (b *Browser) read(out *bufio.Reader) {
	for {
		line, err := out.ReadBytes(0)
		var m struct {
			ID             int
			Result, Params json.RawMessage
			Error          *struct{ Message string }
			Method         string
			SessionID      string
		}
		if err == nil {
			err = json.Unmarshal(line[:len(line)-1], &m)
		}
		b.mu.Lock()
		if err != nil {
			b.ended = fmt.Errorf("the browser has ended: %w", err)
			for id, waiting := range b.waiting {
				waiting <- reply{err: b.ended}
				delete(b.waiting, id)
			}
			b.mu.Unlock()
			return
		}
		page := b.pages[m.SessionID]
		waiting := b.waiting[m.ID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		switch {
		case waiting != nil && m.Error != nil:
			waiting <- reply{err: errors.New(m.Error.Message)}
		case waiting != nil:
			waiting <- reply{result: m.Result}
		case page != nil && m.Method != "":
			page.event(m.Method, m.Params)
		}
	}
}

// call sends a command to a DevTools session, "" for the browser itself, and decodes the reply
// into result unless that is nil.
func (b *Browser) call(session, method string, params, result any) error {
	waiting, err := b.send(session, method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	var got reply
	select {
	case got = <-waiting:
	case <-time.After(patience):
		got.err = errors.New("the browser does not reply")
	}
	if got.err == nil && result != nil {
		got.err = json.Unmarshal(got.result, result)
	}
	if got.err != nil {
		return fmt.Errorf("%s: %w", method, got.err)
	}
	return nil
}

// send sends a command. Its reply comes through the channel.
func (b *Browser) send(session, method string, params any) (<-chan reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return nil, b.ended
	}
	b.last++
	message := map[string]any{"id": b.last, "method": method}
	if params != nil {
		message["params"] = params
	}
	if session != "" {
		message["sessionId"] = session
	}
	text, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	waiting := make(chan reply, 1)
	b.waiting[b.last] = waiting
	_, err = b.in.Write(append(text, 0))
	return waiting, err
}
