package consoletest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/chromiumtest"
)

// folder is where the program is built. TestMain makes it.
var folder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if folder, err = os.MkdirTemp("", "annals-console-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		return m.Run()
	}())
}

// program returns the path of the program annals, which it builds once.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "annals")
	return path, build(path)
})

// build builds the program. It opens the folders with code first, so that the go command caches
// results of these tests only until a file there changes.
func build(program string) error {
	const root = "../../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case d.Name() == ".git":
			return fs.SkipDir
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return f.Close()
	})
	if err != nil {
		return err
	}
	out, err := exec.Command("go", "build", "-tags", "failpoint", "-ldflags", "-s -w", "-o", program, "annals/cmd/annals").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// site is a server with its browser, which all tests of a group share.
type site struct {
	browser *chromiumtest.Browser
	program string            // path
	dir     string            // working directory of the server
	base    string            // URL
	ids     map[string]string // of the documents that all tests use, by the names of their files
	server  *exec.Cmd
	ended   chan error
	stderr  bytes.Buffer
	tokens  map[string]string // of the users, for calls of the REST interface
}

// passwords are the passwords of the users.
var passwords = map[string]string{"alice": "a lighthouse keeper", "carol": "a buoy in the fog", "bob": "an icebreaker captain", "admin": "the harbour master"}

// newSite starts a server with four users, of whom admin is an administrator.
func newSite(t testing.TB, flags ...string) *site {
	t.Helper()
	s := &site{dir: t.TempDir(), tokens: map[string]string{}, browser: chromiumtest.Start(t, 8*time.Minute)}
	var err error
	if s.program, err = program(); err != nil {
		t.Fatal(err)
	}
	s.start(t, nil, append([]string{"--listen", "127.0.0.1:0"}, flags...)...)
	t.Cleanup(func() { s.stop(os.Interrupt) })
	for name, password := range passwords {
		if name == "admin" {
			s.annals(t, password+"\n", "user", "password", name)
		} else {
			s.annals(t, password+"\n", "user", "add", name)
		}
	}
	return s
}

// start starts the server. At a second start, it has the address of the first.
// environment has further variables, such as that of a failpoint.
func (s *site) start(t testing.TB, environment []string, flags ...string) {
	t.Helper()
	if s.base != "" {
		flags = append(flags, "--listen", strings.TrimPrefix(s.base, "http://"))
	}
	s.server = exec.Command(s.program, append([]string{"serve", "--data", "data", "--log-level", "warn"}, flags...)...)
	s.server.Dir = s.dir
	s.server.Env = append(os.Environ(), environment...)
	s.server.Stderr = &s.stderr
	out, err := s.server.StdoutPipe()
	if err == nil {
		err = s.server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	base := ""
	for base == "" {
		line, err := lines.ReadString('\n')
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "core" {
			base = strings.TrimSuffix(fields[1], "/core")
		}
		if err != nil {
			t.Fatalf("serve ends: %v; %s", s.server.Wait(), &s.stderr)
		}
	}
	s.base, s.ended = base, make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		s.ended <- s.server.Wait()
	}()
}

// stop ends the server with a signal.
func (s *site) stop(signal os.Signal) {
	if err := s.server.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return
	}
	late := time.AfterFunc(time.Minute, func() { _ = s.server.Process.Kill() })
	defer late.Stop()
	<-s.ended
	s.ended <- nil // stop may be called again
}

// annals runs a command of the program beside the server, and returns what it prints.
func (s *site) annals(t testing.TB, input string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), s.program, append(args, "--data", "data")...)
	c.Dir, c.Stdin = s.dir, strings.NewReader(input)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		t.Fatalf("annals %s: %v; %s", strings.Join(args, " "), err, &problems)
	}
	return out.String()
}

// rest makes a call of the REST interface as a user, and decodes the reply into out unless that
// is nil.
func (s *site) rest(t testing.TB, user, method, path, mediaType string, body io.Reader, out any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if s.tokens[user] == "" {
		s.tokens[user] = strings.TrimSpace(s.annals(t, "", "token", user))
	}
	r.Header.Set("Authorization", "Bearer "+s.tokens[user])
	r.Header.Set("Content-Type", mediaType)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode >= 300 {
		err = fmt.Errorf("%s %s", reply.Status, text)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// imported is a file for importFiles.
type imported struct {
	name, folder, text string
	tags               []string
}

// importFiles imports files for a user, waits until that is done, and returns the ids of the
// documents by the names of the files.
func (s *site) importFiles(t testing.TB, user string, files ...imported) map[string]string {
	t.Helper()
	type metadata struct {
		Folder string   `json:"folder_name,omitempty"`
		Tags   []string `json:"tags,omitempty"`
	}
	var body bytes.Buffer
	var about []metadata
	form := multipart.NewWriter(&body)
	for _, f := range files {
		part, err := form.CreateFormFile("files", f.name)
		if err == nil {
			_, err = io.WriteString(part, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
		about = append(about, metadata{f.folder, f.tags})
	}
	text, err := json.Marshal(about)
	if err == nil {
		err = errors.Join(form.WriteField("file_metadata", string(text)), form.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		ID      string `json:"job_id"`
		Done    bool
		Results []struct {
			Filename string
			ID       string `json:"document_id"`
			Success  bool
			Error    string
		}
	}
	s.rest(t, user, "POST", "/core/ingest", form.FormDataContentType(), &body, &job)
	s.rest(t, user, "GET", "/core/jobs/"+job.ID+"/events", "", http.NoBody, nil) // ends with the job
	s.rest(t, user, "GET", "/core/jobs/"+job.ID, "", http.NoBody, &job)
	ids := map[string]string{}
	for _, r := range job.Results {
		if ids[r.Filename] = r.ID; !r.Success {
			t.Fatalf("the import of %s: %+v", r.Filename, r)
		}
	}
	if !job.Done || len(ids) != len(files) {
		t.Fatalf("the import: %+v", job)
	}
	return ids
}
