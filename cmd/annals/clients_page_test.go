//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mainJob is what each client program of docs/clients.md prints, one line for each
// step.
var mainJob = []string{
	"progress", "job", "search", "ask", "list", "markdown", "download", "revise", "conflict", "invalid", "not found", "share", "delete",
}

// readClientsPage returns the text of docs/clients.md, and the commands in its sections
// by heading. Commands before the first section have the heading "".
func readClientsPage(t *testing.T) (text string, commands map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	commands = map[string]string{}
	block := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	for i, section := range strings.Split(string(page), "\n## ") {
		heading := ""
		if i > 0 {
			heading, section, _ = strings.Cut(section, "\n")
		}
		for _, m := range block.FindAllStringSubmatch(section, -1) {
			commands[heading] += m[1]
		}
	}
	return string(page), commands
}

// TestClientsPageNamesTheLockedVersions checks that docs/clients.md installs all tools
// in the versions of the lock files that TestClients uses.
func TestClientsPageNamesTheLockedVersions(t *testing.T) {
	locked := map[string]bool{}
	var packages struct{ Dependencies map[string]string }
	text, err := os.ReadFile(filepath.Join(clientSources, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &packages); err != nil {
		t.Fatal(err)
	}
	for name, version := range packages.Dependencies {
		if name != "axe-core" { // it checks the console, and is no client
			locked[name+"@"+version] = true
		}
	}
	for file, pattern := range map[string]string{
		"requirements.in": `(?m)^[^#\s]+==\S+$`,
		"go/go.mod":       `(?m)^\tgithub\.com/(?:google/uuid|oapi-codegen/runtime|oapi-codegen/oapi-codegen/v2) v\S+`,
	} {
		if text, err = os.ReadFile(filepath.Join(clientSources, file)); err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllString(string(text), -1) {
			locked[strings.Replace(strings.TrimSpace(m), " ", "@", 1)] = true
		}
	}
	_, commands := readClientsPage(t)
	named := map[string]bool{}
	for _, block := range commands {
		for _, m := range regexp.MustCompile(`[\w./@\[\]-]+(?:@|==)v?\d[\w.-]*`).FindAllString(block, -1) {
			named[strings.Replace(m, "/cmd/oapi-codegen@", "@", 1)] = true
		}
	}
	got, want := slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(locked))
	if !slices.Equal(got, want) {
		t.Errorf("docs/clients.md installs\n%q, the lock files\n%q", got, want)
	}
}

func TestClientsPageCommandsHaveNoComments(t *testing.T) {
	_, commands := readClientsPage(t)
	for heading, block := range commands {
		if m := regexp.MustCompile(`(?m)(^|\s)# *[^'\n]*$`).FindString(block); m != "" {
			t.Errorf("section %q has the comment %q, which fails when pasted into zsh", heading, strings.TrimSpace(m))
		}
	}
}

// clientsPage runs the commands of docs/clients.md, with the address of a test server
// in place of the address on the page. The packages are already installed.
type clientsPage struct {
	server   *clientTest
	commands map[string]string
	clone    string // copy of the files of the repository that the page uses
	folder   string // folder that the first commands create
	token    string
}

func (s *clientTest) startPage(t *testing.T) *clientsPage {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the page's first block calls curl, which is not installed")
	}
	home := t.TempDir()
	p := &clientsPage{server: s, clone: filepath.Join(home, "annals"), folder: filepath.Join(home, "annals-clients")}
	_, p.commands = readClientsPage(t)
	if err := os.CopyFS(filepath.Join(p.clone, "cmd/annals", clientSources), os.DirFS(clientSources)); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	shim(t, tools, "go", `[ "$1 $2" = "run ./cmd/annals" ] || exit 2
shift 2
ANNALS_TEST_PROGRAM=1 exec '`+program+`' "$@"`)
	out := p.run(t, p.clone, p.commands[""]+"printf '\ntoken: %s' \"$TOKEN\"\n", tools, "ANNALS_DATA="+s.data)
	_, p.token, _ = strings.Cut(out, "\ntoken: ")
	if p.token == "" {
		t.Fatalf("the page's first block prints %s", out)
	}
	// The first commands must not change line ends.
	note, err := os.ReadFile(filepath.Join(p.folder, "eddystone.md"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, p.folder, "eddystone.md", strings.ReplaceAll(string(note), "\n", "\r\n"))
	return p
}

// shim writes a shell script with the given name to dir, to be run in place of the
// program of that name.
func shim(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// localAddress matches the server address in the commands of the page.
var localAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// run runs commands of the page in the folder dir, with the folder tools first in PATH.
func (p *clientsPage) run(t *testing.T, dir, commands, tools string, environment ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-eu", "-c", localAddress.ReplaceAllLiteralString(commands, p.server.base))
	c.Dir = dir
	c.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "ANNALS="+p.clone, "TOKEN="+p.token, "NO_COLOR=1")
	c.Env = append(c.Env, environment...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	var printed, fault bytes.Buffer
	c.Stdout, c.Stderr = &printed, &fault
	if err := c.Run(); err != nil {
		t.Fatalf("the commands end with %v\n%s\n%.20000s\n%.20000s", err, commands, printed.String(), fault.String())
	}
	return printed.String()
}

// does runs the commands of a section in the folder that the first commands created,
// and compares the output of the last command with mainJob.
func (p *clientsPage) does(t *testing.T, section, tools string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(p.folder))
	if err := os.CopyFS(dir, os.DirFS(p.folder)); err != nil {
		t.Fatal(err)
	}
	commands := strings.TrimSpace(p.commands[section])
	last := strings.LastIndex(commands, "\n")
	if last < 0 {
		t.Fatalf("section %q has no commands", section)
	}
	printed := p.run(t, dir, commands[:last]+"\necho '--- the program'"+commands[last:], tools)
	_, printed, _ = strings.Cut(printed, "--- the program\n")
	if got := strings.Split(strings.TrimSpace(printed), "\n"); !slices.Equal(got, mainJob) {
		t.Errorf("the client did %q, want %q", got, mainJob)
	}
}

func (p *clientsPage) testTypeScript(t *testing.T) {
	modules := filepath.Join(clientTools(t, "clients_npm", "package-lock.json"), "node_modules")
	node := filepath.Join(nodeModules(t), ".bin", "node")
	tools := t.TempDir()
	shim(t, tools, "node", `exec '`+node+`' "$@"`)
	shim(t, tools, "npm", `[ "$1" = install ] && { [ -e node_modules ] || ln -s '`+modules+`' node_modules; }`)
	shim(t, tools, "npx", `tool=$1
shift
exec '`+node+`' "node_modules/.bin/$tool" "$@"`)
	p.does(t, "TypeScript", tools)
}

func (p *clientsPage) testPython(t *testing.T) {
	bin := filepath.Join(clientTools(t, "clients_python", "requirements.txt"), "bin")
	tools := t.TempDir()
	shim(t, tools, "python3", `[ "$*" = "-m venv .venv" ] && mkdir -p .venv/bin && : > .venv/bin/activate`)
	shim(t, tools, "pip", `[ "$1" = install ]`)
	p.does(t, "Python", tools+":"+bin)
}

func (p *clientsPage) testGo(t *testing.T) {
	generator := filepath.Join(clientTools(t, "clients_go", "go/go.sum"), "oapi-codegen")
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	shim(t, tools, "go", `case "$1 $2" in
"mod init") [ "$3" = client ] && cp "$ANNALS/cmd/annals/testdata/clients/go/go.mod" "$ANNALS/cmd/annals/testdata/clients/go/go.sum" . ;;
"get "*) ;;
"tool oapi-codegen")
	shift 2
	exec '`+generator+`' "$@" ;;
"run .")
	'`+program+`' vet . || exit
	exec '`+program+`' "$@" ;;
*) exec '`+program+`' "$@" ;;
esac`)
	p.does(t, "Go", tools)
}
