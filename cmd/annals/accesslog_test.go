package main

import (
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"annals/cmd/annals/engine"
	"annals/http/signin"
)

// If a server keeps its accounts in PostgreSQL, the command token must issue tokens
// from those accounts. The server would reject a token from the old accounts in the
// data folder.
func TestTokenNamesAccountsOfServer(t *testing.T) {
	dir := t.TempDir()
	urls := signin.DefaultURLs("127.0.0.1:1")
	urls.Accounts = engine.WithoutPassword("postgres://annals:secret@db/annals")
	if err := signin.WriteURLs(dir, urls); err != nil {
		t.Fatal(err)
	}
	own, err := engine.URLs{Data: dir}.OpenAccounts(t.Context()) // from before the accounts moved to the database
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	err = run(t.Context(), []string{"token", "--data", dir, "admin"}, nil, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--accounts") || !strings.Contains(err.Error(), "postgres://annals:PASSWORD@db/annals") || strings.Contains(err.Error(), "secret") {
		t.Errorf("token without --accounts: got error %v", err)
	}
}

func TestAccessLogLinePerRequest(t *testing.T) {
	dir := t.TempDir()
	accounts := "sqlite://" + filepath.ToSlash(filepath.Join(dir, "elsewhere.db"))
	p, err := startServer(dir, nil, "--access-log", "--accounts", accounts)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "annals-data")
	if _, err := issueToken(data, "admin"); err == nil || !strings.Contains(err.Error(), "--accounts") {
		t.Errorf("token without --accounts: got error %v", err)
	}
	var token strings.Builder
	if err := run(t.Context(), []string{"token", "--data", data, "--accounts", accounts, "admin"}, nil, &token, io.Discard); err != nil {
		t.Fatal(err)
	}
	for path, bearer := range map[string]string{"/vault/folders": strings.TrimSpace(token.String()), "/vault/documents/secret": "x.y.z", "/nowhere": "x"} {
		if _, _, err := p.request(bearer, "GET", path, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	logged := p.stderr.String()
	for _, want := range []string{
		"msg=request user=user:admin method=GET route=/vault/folders status=200 bytes=",
		`msg=request user="" method=GET route=/vault/documents/{id} status=401 bytes=`,
		`msg=request user="" method=GET route=none status=404 bytes=`,
	} {
		found := ""
		for line := range strings.Lines(logged) {
			if strings.Contains(line, want) {
				found += line
			}
		}
		if strings.Count(found, "\n") != 1 || !strings.Contains(found, "level=INFO") || !strings.Contains(found, " took=") || !strings.Contains(found, " correlation_id=") || strings.Contains(found, "secret") {
			t.Errorf("lines with %q: got %q, want one; the log is %s", want, found, logged)
		}
	}
}
