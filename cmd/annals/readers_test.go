//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killReaders kills all reader processes of the server. If there are none, it waits for
// one.
func (c *crashTest) killReaders() {
	c.Helper()
	c.await("a reader runs", func() bool {
		killed := false
		for _, pid := range (&benchServer{serverProcess: c.server}).family()[1:] {
			killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
		}
		return killed
	})
}

// readsOriginal reports whether a reader process has an uploaded file open.
func readsOriginal(pid int) bool {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // no matches if the process has ended
	return slices.ContainsFunc(open, func(fd string) bool {
		path, err := os.Readlink(fd)
		return err == nil && strings.Contains(path, "/originals/")
	})
}

// TestFileFailsAfterReadersAreKilled checks that a file fails, instead of being read
// again and again, after its reader process was killed repeatedly. The number of
// attempts must survive a killed server.
func TestFileFailsAfterReadersAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts the program twice")
	}
	c := newCrashTest(t)
	files := filepath.Join(c.dir, "files")
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "long.pdf"), longPDF(1500, 40), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	t.Cleanup(func() { _ = c.server.end(os.Kill) })
	job, err := uploadAll(t.Context(), c.client(), files, "Stories")
	if err != nil {
		t.Fatal(err)
	}
	alone := func() int {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"events", "--json", "--data", c.data}, nil, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return strings.Count(out.String(), `"alone":`)
	}
	pages := func() bool { // reports whether some pages of the file were read
		var out bytes.Buffer
		if err := run(t.Context(), []string{"events", "--json", "--data", c.data}, nil, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(out.String(), "page ")
	}
	c.await("pages are read", pages)
	c.killReaders() // kill all, because it is unknown which one reads the file
	c.await("the file is read alone", func() bool { return alone() == 1 })
	if err := c.server.end(os.Kill); err != nil {
		t.Logf("the server ended: %v", err)
	}
	c.start()
	c.await("the file is read alone again", func() bool { return alone() == 2 })
	core := c.client()
	c.await("the job ends", func() bool {
		for _, pid := range (&benchServer{serverProcess: c.server}).family()[1:] {
			if readsOriginal(pid) { // kill the reader process only after it opened the file: before, it would not count as an attempt
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if job, err = core.Job(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
		return job.Finished()
	})
	if job.Failed != 1 || len(job.Results) != 1 || !strings.Contains(fmt.Sprint(job.Results[0]), "another one that read only this file") || alone() != 2 {
		t.Errorf("got job %+v after %d readings alone, want a failed file after 2", job, alone())
	}
}

// TestHostileFilesDoNotSlowServer imports files that could take minutes or gigabytes to
// read. They must not delay other files, and the reader processes must not have secrets
// of the server in their environment.
func TestHostileFilesDoNotSlowServer(t *testing.T) {
	t.Setenv("ANNALS_TEST_SECRET", "s3cret")
	c := newCrashTest(t)
	files := filepath.Join(c.dir, "files")
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"one.md":   "+++\n" + strings.Repeat("a.", 31_000) + "a = 1\n+++\n# One\n",
		"two.md":   "+++\na = " + strings.Repeat("{a=", 20_000) + "\n+++\n# Two\n",
		"three.md": "<!--{\n\"a\": " + strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000) + "\n}-->\n# Three\n",
		"plain.md": "# Plain\n\nA text.\n",
	} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.start()
	t.Cleanup(func() { _ = c.server.end(os.Kill) })
	readers := (&benchServer{serverProcess: c.server}).family()[1:]
	if len(readers) == 0 {
		t.Error("the server inspected no reader at its start")
	}
	for _, pid := range readers {
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil || len(env) > 0 {
			t.Errorf("the environment of reader %d is %q, %v", pid, env, err)
		}
	}
	core := c.client()
	begun := time.Now()
	job, err := uploadAll(t.Context(), core, files, "Hostile")
	if err != nil {
		t.Fatal(err)
	}
	c.await("the job ends", func() bool {
		if job, err = core.Job(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
		return job.Finished()
	})
	if took := time.Since(begun); job.Successful != 4 || took > 30*time.Second {
		t.Errorf("the job ended as %+v after %v", job, took)
	}
}
