package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// smallDisk returns a folder on a separate disk of a few megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("annals-test", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("a small disk cannot be mounted here, which takes the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill uses up the free space of a disk. free makes the space available again.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for size := 1 << 16; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// While the disk is full, read models cannot apply new events but can still be read.
// After a grant is withdrawn, reads must fail, because the outdated read models would
// still allow access. When the disk has space again, the read models catch up without a
// restart.
func TestReadsOnFullDisk(t *testing.T) {
	t.Parallel()
	dir, models := t.TempDir(), smallDisk(t)
	data := filepath.Join(dir, "annals-data")
	server, err := startServer(dir, nil, "--read-models", "sqlite://"+models, "--shares", "open")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.end(os.Kill) })
	if _, err := account(t, data, "a long password\n", "user", "add", "bob"); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	for _, user := range []string{"admin", "bob"} {
		if tokens[user], err = issueToken(data, user); err != nil {
			t.Fatal(err)
		}
	}
	request := func(user, method, path, body string) (int, string) {
		t.Helper()
		status, reply, err := server.request(tokens[user], method, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return status, string(reply)
	}
	// until repeats a request until the reply contains text, if has is true, or does
	// not contain it, if has is false.
	until := func(user, method, path, body, text string, has bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			status, reply := request(user, method, path, body)
			if status == 200 && strings.Contains(reply, text) == has {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s %s as %s = %d %s; want a reply that contains %q: %v", method, path, user, status, reply, text, has)
			}
		}
	}
	upload := func(name, text string) {
		t.Helper()
		const form = "--b\r\nContent-Disposition: form-data; name=\"file_metadata\"\r\n\r\n[{\"folder_name\": \"Sea\"}]\r\n--b\r\n" +
			"Content-Disposition: form-data; name=\"files\"; filename=\"NAME\"\r\n\r\nTEXT\r\n--b--\r\n"
		body := strings.NewReplacer("NAME", name, "TEXT", text).Replace(form)
		if status, reply, err := server.send(tokens["admin"], "POST", "/core/ingest", "multipart/form-data; boundary=b", body); err != nil || status >= 300 {
			t.Fatalf("upload of %s = %d %s, %v", name, status, reply, err)
		}
	}
	const lighthouse, harbour = `{"query": "Who finished the lighthouse at Eddystone?"}`, `{"query": "Which harbour is the deepest?"}`
	upload("lighthouse.md", "The lighthouse at Eddystone was finished by John Smeaton.")
	until("admin", "POST", "/core/search", lighthouse, "Smeaton", true)
	_, folders := request("admin", "GET", "/vault/folders", "")
	folder := "/vault/folders/" + folders[strings.Index(folders, `"id":"`)+6:][:36] + "/permissions"
	if status, reply := request("admin", "PUT", folder, `{"permissions": [{"principal": "user:bob", "access": "read"}]}`); status != 200 {
		t.Fatalf("share = %d %s", status, reply)
	}
	until("bob", "POST", "/core/search", lighthouse, "Smeaton", true)

	free := fill(t, models)
	upload("harbour.md", "The deepest harbour is that of Sydney.")
	until("admin", "GET", "/readyz", "", "these read models stay behind because their disk is full: ", true)
	until("admin", "GET", "/readyz", "", "no room is left on the disk of: read-models", true)
	until("admin", "GET", "/metrics", "", `annals_disk_free_bytes{folder="read-models"} 0`, true)
	for range 5 {
		if status, reply := request("bob", "POST", "/core/search", lighthouse); status != 200 || !strings.Contains(reply, "Smeaton") {
			t.Fatalf("while the disk is full, a search = %d %s", status, reply)
		}
		if status, reply := request("bob", "POST", "/core/ask", lighthouse); status != 200 || !strings.Contains(reply, "John Smeaton") {
			t.Fatalf("while the disk is full, a question = %d %s", status, reply)
		}
	}
	if status, reply := request("admin", "PUT", folder, `{"permissions": []}`); status != 202 {
		t.Fatalf("while the disk is full, to withdraw a share = %d %s", status, reply)
	}
	for _, user := range []string{"bob", "admin"} {
		if status, reply := request(user, "POST", "/core/search", lighthouse); status != 503 || !strings.Contains(reply, "the disk is full") {
			t.Errorf("search of %s before the withdrawal is applied = %d %s", user, status, reply)
		}
	}
	if status, reply := request("admin", "GET", "/readyz", ""); status != 503 || !strings.Contains(reply, "the disk is full") {
		t.Errorf("readyz = %d %s", status, reply)
	}

	free()
	until("admin", "POST", "/core/search", harbour, "Sydney", true)
	until("admin", "GET", "/readyz", "", "full", false)
	if status, reply := request("bob", "POST", "/core/search", lighthouse); status != 200 || strings.Contains(reply, "Smeaton") {
		t.Errorf("after the share was withdrawn, a search = %d %s", status, reply)
	}
	if err := server.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if n := strings.Count(server.stderr.String(), "projection stopped"); n < 1 || n > 2 {
		t.Errorf("log lines about the full disk within a minute: got %d, want 1: %s", n, server.stderr.String())
	}
}

func TestStartReportsFullDisk(t *testing.T) {
	t.Parallel()
	dir, small := t.TempDir(), smallDisk(t)
	data := "sqlite://" + filepath.Join(small, "log.db")
	server, err := startServer(dir, nil, "--log", data)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	fill(t, small)
	if server, err := startServer(dir, nil, "--log", data); err == nil || !strings.Contains(err.Error(), "no space is left on the disk of: log") {
		t.Errorf("a start on a full disk = %v, want an error that names it", err)
		if err == nil {
			_ = server.end(os.Kill)
		}
	}
}
