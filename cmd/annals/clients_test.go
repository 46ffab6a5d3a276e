//go:build unix

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clientSources contains one program for each generated client, and the lock files from
// which scripts/test-deps installs client generators and checkers of OpenAPI documents.
const clientSources = "testdata/clients"

// TestClients checks the OpenAPI documents that a server serves: checkers find no
// problem in them, and the commands of docs/clients.md generate three clients that
// compile and work.
func TestClients(t *testing.T) {
	s := startClientTest(t)
	page := s.startPage(t)
	for name, test := range map[string]func(*testing.T){
		"TypeScript": page.testTypeScript, "Python": page.testPython, "Go": page.testGo,
		"Redocly": s.testRedocly, "OpenAPIGenerator": s.testOpenAPIGenerator, "Schemathesis": s.testSchemathesis,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// clientTest is a running server with its own data folder.
type clientTest struct {
	*serverProcess
	data        string
	admin       string // token of an administrator
	core, vault string // paths of the OpenAPI documents
}

func startClientTest(t *testing.T) *clientTest {
	t.Helper()
	dir := t.TempDir()
	server, err := startServer(dir, nil, "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	s := &clientTest{serverProcess: server, data: filepath.Join(dir, "annals-data")}
	var token, fault bytes.Buffer
	if err := run(t.Context(), []string{"token", "admin", "--data", s.data}, strings.NewReader(""), &token, &fault); err != nil {
		t.Fatalf("annals token admin: %v\n%s", err, fault.String())
	}
	s.admin = strings.TrimSpace(token.String())
	for name, file := range map[string]*string{"core": &s.core, "vault": &s.vault} {
		*file = filepath.Join(dir, name+".openapi.yaml")
		writeFile(t, dir, name+".openapi.yaml", string(s.request(t, "GET", "/"+name+"/openapi.yaml", "", nil)))
	}
	return s
}

// request sends a request and returns the body of the reply.
func (s *clientTest) request(t *testing.T, method, path, media string, body io.Reader) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.admin)
	r.Header.Set("Content-Type", media)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%s %s = %d %s (%v)", method, path, reply.StatusCode, text, err)
	}
	return text
}

// clientTools returns the folder of tools that scripts/test-deps installed from the
// given lock file.
func clientTools(t *testing.T, name, lock string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	wanted, err := os.ReadFile(filepath.Join(clientSources, lock))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "annals-tests", name)
	if installed, _ := os.ReadFile(filepath.Join(dir, filepath.Base(lock))); !bytes.Equal(installed, wanted) {
		t.Skipf("%s is not there as %s has it: scripts/test-deps installs it", dir, lock)
	}
	return dir
}

// workshop creates a folder with copies of the given files of clientSources. It returns
// a function that runs a command in the folder and returns the output.
func workshop(t *testing.T, sources ...string) func(name string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, source := range sources {
		text, err := os.ReadFile(filepath.Join(clientSources, source))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, filepath.Base(source), string(text))
	}
	return func(name string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "PATH="+filepath.Dir(name)+":"+os.Getenv("PATH"), "NO_COLOR=1", "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%.20000s", filepath.Base(name), strings.Join(args, " "), err, out)
		}
		return string(out)
	}
}

// nodeTool is like workshop, but the function runs a tool that npm has installed.
func nodeTool(t *testing.T, sources ...string) func(tool string, args ...string) string {
	t.Helper()
	modules := filepath.Join(clientTools(t, "clients_npm", "package-lock.json"), "node_modules")
	node := filepath.Join(nodeModules(t), ".bin", "node")
	in := workshop(t, sources...)
	in("ln", "-s", modules, "node_modules")
	return func(tool string, args ...string) string {
		t.Helper()
		if !strings.HasSuffix(tool, ".js") {
			tool = filepath.Join("node_modules", ".bin", tool)
		}
		return in(node, append([]string{tool}, args...)...)
	}
}

func (s *clientTest) testRedocly(t *testing.T) {
	var report struct {
		Totals   struct{ Errors, Warnings, Ignored int }
		Problems []any
	}
	out := nodeTool(t)("redocly", "lint", "--format=json", s.core, s.vault)
	_, out, _ = strings.Cut(out, "{")
	if err := json.NewDecoder(strings.NewReader("{" + out)).Decode(&report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if report.Problems == nil || len(report.Problems) > 0 || report.Totals.Ignored > 0 {
		t.Errorf("redocly finds %+v", report)
	}
}

func (s *clientTest) testOpenAPIGenerator(t *testing.T) {
	bin := filepath.Join(clientTools(t, "clients_python", "requirements.txt"), "bin")
	in := workshop(t)
	for _, document := range []string{s.core, s.vault} {
		out := in(filepath.Join(bin, "openapi-generator-cli"), "validate", "-i", document)
		for line := range strings.Lines(out) {
			line = strings.TrimSpace(line)
			switch {
			case line == "", line == "Warnings:", strings.HasPrefix(line, "Validating spec"), line == "No validation issues detected.":
			case strings.HasPrefix(line, "[info] Spec has "):
			case line == "- Unused model: ProgressEvent", line == "- Unused model: AnswerEvent", line == "- Unused model: FileMetadata":
				// openapi-generator prints this because it does not support
				// contentSchema.
			default:
				t.Errorf("openapi-generator printed %q", line)
			}
		}
	}
}

// testSchemathesis runs Schemathesis, which sends valid and invalid requests and checks
// the replies against the OpenAPI documents. ANNALS_TEST_SCHEMATHESIS sets the number
// of requests for each operation; the default is small.
func (s *clientTest) testSchemathesis(t *testing.T) {
	program := filepath.Join(clientTools(t, "clients_python", "requirements.txt"), "bin", "schemathesis")
	own := startClientTest(t) // a separate server, because Schemathesis changes and deletes everything
	examples := os.Getenv("ANNALS_TEST_SCHEMATHESIS")
	examples = cmp.Or(examples, "5")
	rules, err := os.ReadFile("../../schemathesis.toml")
	if err != nil {
		t.Fatal(err)
	}
	// Let Schemathesis use ids of existing documents and folders in most paths.
	ids, err := json.Marshal(own.fill(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, dir, "schemathesis.toml", fmt.Sprintf("[dictionaries.ids]\nvalues = %s\n[parameters]\n\"path.id\" = {dictionary = \"ids\", probability = 0.8}\n%s", ids, rules))
	for name, document := range map[string]string{"core": own.core, "vault": own.vault} {
		out := workshop(t)(program, "--config-file", filepath.Join(dir, "schemathesis.toml"), "run", document, "--url", own.base+"/"+name,
			"--header", "Authorization: Bearer "+own.admin, "--max-examples", examples, "--seed", "1", "--request-timeout", "60",
			"--continue-on-failure", "--suppress-health-check", "all", "--no-color", "--warnings", "off")
		if !strings.Contains(out, "No issues found") {
			t.Errorf("schemathesis run %s printed\n%s", name, out)
		}
		at := strings.Index(out, "Test cases:")
		t.Logf("%s: %s", name, strings.Join(strings.Fields(out[max(at, 0):]), " "))
	}
}

// fill creates folders and documents, and returns their ids.
func (s *clientTest) fill(t *testing.T) (ids []string) {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	var metadata []map[string]any
	for n := range 6 {
		file, err := w.CreateFormFile("files", fmt.Sprintf("tower %d.md", n))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(file, "# Tower %d\n\nIt was lit in 18%d0.\n", n, n)
		metadata = append(metadata, map[string]any{"folder_name": fmt.Sprintf("Towers %d", n), "tags": []string{"towers"}})
	}
	text, err := json.Marshal(metadata)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteField("file_metadata", string(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if stream := s.request(t, "POST", "/core/ingest?stream=true", w.FormDataContentType(), &form); !bytes.Contains(stream, []byte(`"successful_files":6`)) {
		t.Fatalf("the import printed %s", stream)
	}
	for _, path := range []string{"/vault/documents?tag=towers", "/vault/folders"} {
		var listed []struct{ ID string }
		if err := json.Unmarshal(s.request(t, "GET", path, "", nil), &listed); err != nil || len(listed) != 6 {
			t.Fatalf("%s has %d entries (%v)", path, len(listed), err)
		}
		for _, entry := range listed {
			ids = append(ids, entry.ID)
		}
	}
	return ids
}
