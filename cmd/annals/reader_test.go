//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// TestReaderIgnoresSignals sends stop signals to a server and its reader processes
// while a PDF is read, as Ctrl-C or a service manager does. The PDF must be imported
// completely, before the server stops or after its next start.
func TestReaderIgnoresSignals(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads a PDF of 1,500 pages")
	}
	const pages, lines = 1500, 40
	c := newCrashTest(t)
	files := filepath.Join(c.dir, "files")
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "long.pdf"), longPDF(pages, lines), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	t.Cleanup(func() { _ = c.server.end(os.Kill) })
	core := c.client()
	job, err := uploadAll(t.Context(), core, files, "Stories")
	if err != nil {
		t.Fatal(err)
	}
	log := func() []byte {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), []string{"events", "--json", "--data", c.data}, nil, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	await := func(what string, until func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !until(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: still not after a minute: %+v", what, job)
			}
		}
	}
	page := regexp.MustCompile(fmt.Sprintf("page [0-9]+ of %d", pages))
	await("a page is read", func() bool { return page.Match(log()) })
	if bytes.Contains(log(), []byte(`"FileImported"`)) {
		t.Fatal("the PDF was read before it could be disturbed")
	}
	t.Logf("signalled after %s", page.Find(log()))
	for _, pid := range (&benchServer{serverProcess: c.server}).family()[1:] {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			if err := syscall.Kill(pid, sig); err != nil {
				t.Logf("reader %d: %v", pid, err)
			}
		}
	}
	if err := c.server.end(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	c.start()
	core = c.client()
	await("the job is done", func() bool {
		if job, err = core.Job(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
		return job.Finished()
	})
	if job.Successful != 1 || job.Failed != 0 || len(job.Results) != 1 {
		t.Fatalf("the job ended as %+v", job)
	}
	text := log()
	for n := 1; n <= pages; n++ {
		if !bytes.Contains(text, fmt.Appendf(nil, "page%dth", n)) {
			t.Fatalf("the text of page %d is missing", n)
		}
	}
	token, err := issueToken(c.data, "admin")
	if err != nil {
		t.Fatal(err)
	}
	status, body, err := c.server.request(token, http.MethodGet, "/vault/documents/"+job.Results[0].Document, "")
	if err != nil || status != http.StatusOK || bytes.Contains(body, []byte("were read")) {
		t.Errorf("the document: %d %s %v, want it without a word of missing pages", status, body, err)
	}
}
