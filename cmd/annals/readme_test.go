//go:build unix

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// readmeBlocks returns the code blocks of README.md that are marked with a language.
func readmeBlocks(t *testing.T, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// gate forwards requests to a server. It returns 503 until the server is set.
type gate struct {
	server  atomic.Pointer[httputil.ReverseProxy]
	knocked chan struct{} // receives a value when a request gets 503
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if server := g.server.Load(); server != nil {
		server.ServeHTTP(w, r)
		return
	}
	select {
	case g.knocked <- struct{}{}:
	default:
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}

// The commands of README.md must work in one shell that starts before the server, like
// a second terminal while the server is still being compiled in the first one. The test
// replaces the address of the server, and go with a script that runs the test binary.
func TestReadmeCommands(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("README's blocks call curl, which is not installed")
	}
	blocks := readmeBlocks(t, "sh")
	wants := [][]string{ // expected output of each block after the first
		{`"event_type":"complete"`, `"answer":"John Smeaton"`},
		{`"event_type":"complete"`, `"leaf_title":"Second quarter"`, "\nRevenue of the second quarter rose to 4.2 million.\n"},
		{" 0 failed", `"answer":"Meilisearch`},
	}
	if len(blocks) != 1+len(wants) {
		t.Fatalf("README has %d blocks of commands, want %d: say here what a new one prints", len(blocks), 1+len(wants))
	}
	clone := t.TempDir()
	if err := os.CopyFS(filepath.Join(clone, "docs"), os.DirFS("../../docs")); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	shim := "#!/bin/sh\n[ \"$1\" = run ] || exit 2\nshift\n[ \"$1\" != -v ] || shift\n[ \"$1\" = ./cmd/annals ] || exit 2\nshift\nANNALS_TEST_PROGRAM=1 exec '" + program + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(shim), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shell := func(script string) *exec.Cmd {
		c := exec.CommandContext(ctx, "sh", "-eu", "-c", script)
		c.Dir = clone
		c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "ANNALS_LISTEN=127.0.0.1:0")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
		return c
	}

	gate := &gate{knocked: make(chan struct{}, 1)}
	front := httptest.NewServer(gate)
	defer front.Close()
	const mark = "--- next block\n"
	second := shell(localAddress.ReplaceAllLiteralString(strings.Join(blocks[1:], "printf -- '"+strings.TrimSpace(mark)+"\\n'\n"), front.URL))
	var output strings.Builder
	second.Stdout, second.Stderr = &output, &output
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- second.Wait() }()
	select {
	case <-gate.knocked:
	case err := <-ended:
		t.Fatalf("the second block does not wait for the server: %v\n%s", err, output.String())
	}

	first := shell(blocks[0])
	stdout, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-first.Process.Pid, syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, stdout)
		_ = first.Wait()
	}()
	welcome := ""
	for chunk := make([]byte, 4096); !strings.Contains(welcome, "/ask\n"); {
		n, err := stdout.Read(chunk)
		if welcome += string(chunk[:n]); err != nil {
			t.Fatalf("the first block ends: %v\n%s", err, welcome)
		}
	}
	server, err := url.Parse(localAddress.FindString(welcome))
	if err != nil {
		t.Fatal(err)
	}
	gate.server.Store(httputil.NewSingleHostReverseProxy(server))

	if err := <-ended; err != nil {
		t.Errorf("the blocks end with %v", err)
	}
	printed := strings.Split(output.String(), mark)
	for i, want := range wants {
		for _, w := range want {
			if i >= len(printed) || !strings.Contains(printed[i], w) {
				t.Errorf("block %d does not print %q:\n%s", i+2, w, strings.Join(printed[min(i, len(printed)):min(i+1, len(printed))], ""))
			}
		}
	}
}

// Commands in README.md must not have comments, because an interactive zsh passes # and
// the following words as arguments.
func TestReadmeCommandsHaveNoComments(t *testing.T) {
	for _, block := range readmeBlocks(t, "sh") {
		if m := regexp.MustCompile(`(?m)(^|\s)# *[^'\n]*$`).FindString(block); m != "" {
			t.Errorf("a block of README has the comment %q, which fails when pasted into zsh", strings.TrimSpace(m))
		}
	}
}

func TestReadmeSettings(t *testing.T) {
	blocks := readmeBlocks(t, "yaml")
	if len(blocks) == 0 {
		t.Fatal("README shows no settings")
	}
	for _, block := range blocks {
		file := filepath.Join(t.TempDir(), "annals.yaml")
		if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		wantSettings(t, "README", file)
	}
}

func TestDocumentLinks(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 3 {
		t.Fatalf("found the documents %v (%v)", files, err)
	}
	links := 0
	for _, file := range append(files, "../../README.md", "../../CHANGELOG.md", "../../ARCHITECTURE.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// A colon ends the scheme of a link to another host.
		for _, m := range regexp.MustCompile(`\]\(([^)#:\s]+)[)#\s]`).FindAllStringSubmatch(string(text), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", filepath.Base(file), m[1])
			}
		}
	}
	if links < 8 {
		t.Errorf("found %d links only", links)
	}
}
