package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"annals/events/sqldb/postgrestest"
	"annals/http/signin/accounts"
)

// annals runs a command and returns its output. The command must succeed.
func annals(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	if err := run(t.Context(), args, strings.NewReader(stdin), &out, &problems); err != nil {
		t.Fatalf("annals %v: %v", args, err)
	}
	return out.String()
}

// Two servers with separate data folders share the users of one database, and a backup
// of either server contains them.
func TestNodesShareAccounts(t *testing.T) {
	url := postgrestest.URL(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	var nodes []*serverProcess
	created := 0
	for _, dir := range dirs {
		p, err := startServer(dir, nil, "--accounts", url, "--issuer-url", "http://annals.test/signin")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.end(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		})
		if strings.Contains(p.welcome, "The user admin was created") {
			created++
		}
		nodes = append(nodes, p)
		if _, err := os.Stat(filepath.Join(dir, "annals-data", accounts.FileName)); err == nil {
			t.Error("a node has accounts in its data folder, want them only in the database")
		}
	}
	if created != 1 {
		t.Errorf("%d nodes printed the password of admin, want 1", created)
	}
	data := func(i int) string { return filepath.Join(dirs[i], "annals-data") }
	if said := annals(t, "correct horse\n", "user", "add", "alice", "--accounts", url, "--data", data(0)); !strings.Contains(said, "alice") {
		t.Errorf("user add printed %q", said)
	}
	token := strings.TrimSpace(annals(t, "", "token", "alice", "--accounts", url, "--data", data(0)))
	allowed := func(what string, want int) {
		t.Helper()
		for _, p := range nodes {
			if status, body, err := p.request(token, "GET", "/vault/folders", ""); err != nil || status != want {
				t.Errorf("%s: %d %s, %v; want %d", what, status, body, err, want)
			}
		}
	}
	allowed("a token", http.StatusOK)
	annals(t, "", "user", "disable", "alice", "--accounts", url, "--data", data(1))
	allowed("that of a disabled user", http.StatusUnauthorized)

	kept, restored := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "restored")
	if said := annals(t, "", "backup", kept, "--accounts", url, "--data", data(0)); strings.Contains(said, "without accounts") {
		t.Errorf("backup printed %q", said)
	}
	annals(t, "", "restore", kept, "--data", restored)
	moved := url + "&schema=moved"
	if said := annals(t, "", "user", "copy", "--to", moved, "--data", restored); !strings.HasPrefix(said, "copied 2 users") {
		t.Errorf("user copy printed %q", said)
	}
	if said := annals(t, "", "user", "list", "--accounts", moved); !strings.Contains(said, "disabled") || !strings.Contains(said, "admin") {
		t.Errorf("user list printed %q", said)
	}
}

func TestAccountsRejectInvalidURLs(t *testing.T) {
	for url, want := range map[string]string{
		"ftp://host/accounts":                "the scheme \"ftp\" is not supported: use sqlite:///path or postgres://host/database",
		"postgres://me:secret@host:port/db":  "--accounts: the PostgreSQL URL cannot be parsed",
		"postgres://me:secret@127.0.0.1:1/x": "the database does not respond at the moment",
		"sqlite:///nowhere/accounts.db":      "there are no accounts at sqlite:///nowhere/accounts.db",
	} {
		var problems bytes.Buffer
		err := run(t.Context(), []string{"user", "list", "--accounts", url, "--data", t.TempDir()}, nil, &problems, &problems)
		if err == nil || !strings.Contains(problems.String(), want) || strings.Contains(problems.String(), "secret") {
			t.Errorf("--accounts %s: %s; want %q", url, &problems, want)
		}
	}
}
