package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"annals/commands/importer/extract/extracttest"
	"annals/events"
)

// TestCrashWhileScanning checks that a long scan survives a killed and a stopped server: no
// page that was recognised before is recognised again, and the file becomes one document with all
// its pages.
func TestCrashWhileScanning(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts the program three times")
	}
	if _, err := exec.LookPath("tesseract"); err != nil {
		t.Skip(err)
	}
	const pages = 20
	var scans []extracttest.ScanPage
	for n := range pages {
		scans = append(scans, extracttest.ScanPage{Picture: extracttest.Printed(t, append([]string{fmt.Sprintf("Page %d of a long story", n+1)}, extracttest.Story...)...)})
	}
	c := newCrashTest(t)
	files := filepath.Join(c.dir, "files")
	writeFile(t, files, "scan.pdf", string(extracttest.ScannedPDF(t, scans...)))
	start := func() {
		t.Helper()
		if err := c.tryStart("ANNALS_WORKERS=1"); err != nil {
			t.Fatal(err)
		}
	}
	start()
	t.Cleanup(func() { _ = c.server.end(os.Kill) })
	job, err := uploadAll(t.Context(), c.client(), files, "Scans")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]fs.FileInfo{}
	look := func() { // checks that no page seen before was stored again
		t.Helper()
		now := c.cachedPages()
		for path, before := range seen {
			if after := now[path]; after == nil || !os.SameFile(before, after) {
				t.Errorf("%s was recognised again", filepath.Base(path))
			}
		}
		maps.Copy(seen, now)
	}
	for _, sig := range []os.Signal{os.Kill, os.Interrupt} {
		more := len(seen) + 3
		c.await("more pages are recognised", func() bool { return len(c.cachedPages()) >= more })
		err := c.server.end(sig)
		if sig != os.Kill && err != nil {
			t.Error(err)
		}
		look()
		t.Logf("after %v %d of %d pages are recognised", sig, len(seen), pages)
		start()
	}
	core := c.client()
	for begun := time.Now(); !job.Finished(); <-time.After(50 * time.Millisecond) {
		if time.Since(begun) > 5*time.Minute {
			t.Fatalf("the job has not ended: %+v", job)
		}
		if job, err = core.Job(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
	}
	look()
	if len(seen) != pages || job.Successful != 1 || len(job.Results) != 1 || len(job.Results[0].Warnings) > 0 {
		t.Errorf("%d pages were recognised, want %d; the job ended as %+v", len(seen), pages, job)
	}
	if err := c.server.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	c.wantSoundLog()
	c.wantScannedDocument(pages)
	if out, err := verified(t, c.data); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
}

// cachedPages returns the files in which recognised pages are kept.
func (c *crashTest) cachedPages() map[string]fs.FileInfo {
	c.Helper()
	found := map[string]fs.FileInfo{}
	paths, err := filepath.Glob(filepath.Join(c.data, "cache", "pages", "*", "*", "*"))
	if err != nil {
		c.Fatal(err)
	}
	for _, path := range paths {
		if filepath.Ext(path) != "" || len(filepath.Base(path)) != 32 {
			continue // temporary
		}
		if info, err := os.Stat(path); err == nil {
			found[path] = info
		}
	}
	return found
}

// wantScannedDocument checks that the log has one document, with all its pages recognised.
func (c *crashTest) wantScannedDocument(pages int) {
	c.Helper()
	var out bytes.Buffer
	if err := run(c.Context(), []string{"events", "--json", "--data", c.data}, nil, &out, io.Discard); err != nil {
		c.Fatal(err)
	}
	documents := 0
	for text := range bytes.Lines(out.Bytes()) {
		var e events.Record
		var d events.DocumentImported
		if err := json.Unmarshal(text, &e); err != nil {
			c.Fatal(err)
		}
		if e.Type != "DocumentImported" {
			continue
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			c.Fatal(err)
		}
		if documents++; d.OCRPages != pages || d.Pages != pages || d.UnreadPages != 0 {
			c.Errorf("the document has %d pages, %d recognised and %d unread, want %d recognised", d.Pages, d.OCRPages, d.UnreadPages, pages)
		}
	}
	if documents != 1 {
		c.Errorf("the log has %d documents, want 1", documents)
	}
}
