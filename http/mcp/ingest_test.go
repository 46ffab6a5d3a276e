package mcp_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	httpd "annals/http"
	"annals/http/mcp"
)

// write creates a file with the given text, and its parent folders.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The tool imports only regular files below the configured roots, and follows neither links
// nor "..". If one path is refused, no file is imported, and the error lists all refused
// paths.
func TestIngestReadsOnlyBelowRoots(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "root")
	good := write(t, filepath.Join(root, "good.md"), "# Good")
	write(t, filepath.Join(root, "real", "in.md"), "# In")
	outside := write(t, filepath.Join(top, "root2", "secret.md"), "# Secret")
	for link, to := range map[string]string{"link.md": "good.md", "away.md": outside, "linked": "real", "up": "..", "dangling.md": filepath.Join(top, "none")} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(outside, filepath.Join(root, "hard.md")); err != nil {
		t.Fatal(err)
	}
	makePipe(t, filepath.Join(root, "pipe.md"))
	socket, err := net.Listen("unix", filepath.Join(root, "s.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()

	s := start(t, func(o *mcp.Options) { o.IngestRoots = []string{root, "/dev"} })
	a := s.connect("alice")
	before, err := s.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const outsideText = "it is not below a folder that files may be imported from"
	bad := map[string]string{
		outside:                                    outsideText,
		filepath.Join(top, "root2", "none.md"):     outsideText,
		"/etc/passwd":                              outsideText,
		"good.md":                                  outsideText,
		"root/good.md":                             outsideText,
		root + "/../root2/secret.md":               outsideText,
		root + "/../root/good.md":                  outsideText,
		root + "/real/../good.md":                  outsideText,
		"":                                         "",
		filepath.Join(root, "link.md"):             "links are not followed",
		filepath.Join(root, "away.md"):             "links are not followed",
		filepath.Join(root, "dangling.md"):         "links are not followed",
		filepath.Join(root, "linked", "in.md"):     "links are not followed",
		filepath.Join(root, "linked", "no.md"):     "links are not followed",
		filepath.Join(root, "up", "root2", "x"):    "links are not followed",
		filepath.Join(root, "hard.md"):             "several hard links",
		filepath.Join(root, "pipe.md"):             "not a regular file",
		filepath.Join(root, "s.md"):                "not a regular file",
		filepath.Join(root, "real"):                "not a regular file",
		root:                                       "not a regular file",
		"/dev/null":                                "not a regular file",
		filepath.Join(root, "none.md"):             "no such file",
		filepath.Join(root, "none", "none.md"):     "no such file",
		filepath.Join(root, "good.md", "x.md"):     "no such file",
		filepath.Join(root, "good.md") + "\x00.md": "cannot be opened",
	}
	var paths []string
	for path, why := range bad {
		if why != "" {
			paths = append(paths, path)
		}
		if text, _, failed := a.try("ingest", args{"file_paths": []string{good, path}}); !failed || !strings.Contains(text, why) {
			t.Errorf("%q: %s, want %q", path, text, why)
		} else if strings.Contains(text, strconv.Quote(good)) {
			t.Errorf("%q: %s", path, text)
		}
	}
	text, _, failed := a.try("ingest", args{"file_paths": append(paths, good)})
	if n := strings.Count(text, "\n- "); !failed || n != len(paths) {
		t.Errorf("the error lists %d paths, want %d: %s", n, len(paths), text)
	}
	if after, err := s.log.Head(t.Context()); after != before || err != nil {
		t.Errorf("refused calls moved the head of the log from %d to %d, %v", before, after, err)
	}
	var job struct {
		JobID string `json:"job_id"`
	}
	a.ok("ingest", args{"file_paths": []string{good, filepath.Join(root, "real", "in.md"), root + "//good.md"}}, &job)
	if ids := s.finish("alice", job.JobID); len(ids) != 3 {
		t.Errorf("imported %q", ids)
	}
}

// For a path outside the roots, the error is the same whether or not the file exists.
func TestIngestRevealsNothingOutside(t *testing.T) {
	root, set := everything(t)
	a := start(t, set).connect("alice")
	var errors []string
	for _, path := range []string{"/etc/passwd", "/etc/none", "/etc", "/root/.ssh/id_rsa", "/dev/null", filepath.Dir(root)} {
		text, _, _ := a.try("ingest", args{"file_paths": []string{path}})
		errors = append(errors, strings.ReplaceAll(text, strconv.Quote(path), "PATH"))
	}
	for _, text := range errors {
		if text != errors[0] {
			t.Errorf("error %q, want %q", text, errors[0])
		}
	}
}

// Files from disk have the same limits and need the same rights as uploads. A file that cannot
// be imported does not affect the other files.
func TestIngestHasUploadLimits(t *testing.T) {
	root, set := everything(t)
	s := start(t, set, func(o *mcp.Options) { o.Limits = httpd.Limits{FileBytes: 100, UploadBytes: 250, Files: 5} })
	s.file("alice", paper{"Hers", "a.md", "# A", nil})
	a, b := s.connect("alice"), s.connect("bob")
	paths := []string{
		write(t, filepath.Join(root, "good.md"), "# Good"), write(t, filepath.Join(root, "big.txt"), strings.Repeat("x", 101)),
		write(t, filepath.Join(root, "empty.txt"), ""), write(t, filepath.Join(root, "virus.exe"), "MZ"),
	}
	var job struct {
		JobID string `json:"job_id"`
	}
	a.ok("ingest", args{"file_paths": paths}, &job)
	type status struct {
		Done                bool
		Successful, Failed  int
		Results             []struct{ Error, FolderName string }
		Status, FolderNames string
	}
	for got := (status{}); !got.Done; {
		a.ok("job_status", args{"job_id": job.JobID}, &got)
		if got.Done && (got.Successful != 1 || got.Failed != 3 || !strings.Contains(got.Results[1].Error, "100 bytes") ||
			!strings.Contains(got.Results[2].Error, "empty") || !strings.Contains(got.Results[3].Error, ".docx")) {
			t.Errorf("job %+v", got)
		}
	}
	many := make([]string, 3)
	for i := range many {
		many[i] = write(t, filepath.Join(root, fmt.Sprint(i, ".txt")), strings.Repeat("y", 90))
	}
	a.refused("ingest", args{"file_paths": many}, "in several calls")
	a.refused("ingest", args{"file_paths": append(many, paths[0], paths[0], paths[0])}, "maxItems")
	b.refused("ingest", args{"file_paths": paths[:1], "file_metadata": []args{{"folder_name": "Hers/b"}}}, "you may not write in folder")
	b.refused("job_status", args{"job_id": job.JobID}, "no job")
}

// With replace, a file becomes a new version of the document with the same name.
func TestIngestReplaces(t *testing.T) {
	root, set := everything(t)
	s := start(t, set)
	a := s.connect("alice")
	path := filepath.Join(root, "note.md")
	var ids []string
	for n, want := range []string{"created", "updated", "unchanged"} {
		write(t, path, "# Note\n\n"+strings.Repeat("x", min(n, 1)))
		var job struct {
			JobID string `json:"job_id"`
		}
		a.ok("ingest", args{"file_paths": []string{path}, "file_metadata": []args{{"folder_name": "Notes", "replace": true}}}, &job)
		ids = append(ids, s.finish("alice", job.JobID)...)
		var status struct{ Results []struct{ Outcome string } }
		a.ok("job_status", args{"job_id": job.JobID}, &status)
		if len(ids) != n+1 || ids[n] != ids[0] || status.Results[0].Outcome != want {
			t.Errorf("import %d: documents %q, %+v; want outcome %s", n, ids, status, want)
		}
	}
}
