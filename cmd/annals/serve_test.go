package main

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestServeRejectsInvalidSettings(t *testing.T) {
	for _, args := range [][]string{
		{"--workers", "0"}, {"--workers", "-1"}, {"--search-limit", "100000"}, {"--max-files", "0"}, {"--page-cache-bytes", "-1"}, {"--page-cache-bytes", "much"}, {"--extract-memory", "1"}, {"--extract-memory", "201326591"},
		{"--core-url", "http://h/x", "--vault-url", "http://h/x/"}, {"--listen", "nowhere"}, {"--log", "postgres://x/y"}, {"--read-models", "sqlite://h/p"},
		{"--issuer", "alias=x"}, {"--trusted-proxy", "somewhere"}, {"--log-level", "loud"}, {"--vault-url", "ftp://h/"},
		{"--metrics-listen", "nowhere"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var stderr strings.Builder
		args = append([]string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, args...)
		if err := run(ctx, args, strings.NewReader(""), io.Discard, &stderr); err == nil || ctx.Err() != nil {
			t.Errorf("annals %s: %v, %v", strings.Join(args, " "), err, ctx.Err())
		} else if !strings.HasPrefix(stderr.String(), "annals: ") || args[len(args)-2] == "--extract-memory" && !strings.Contains(stderr.String(), "needs at least 201326592 (192 MiB)") {
			t.Errorf("annals %s printed %q", strings.Join(args, " "), stderr.String())
		}
		cancel()
	}
}

func TestServeRejectsMisleadingSettings(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--admin", "group:staff", "such as user:corp/alice"},
		{"--admin", "user:", "such as user:corp/alice"}, {"--admin", "user:corp/", "such as user:corp/alice"},
		{"--admin", "user:corp/alice, user:corp/bob", "such as user:corp/alice"},
		{"--cors-origin", "foo", "such as https://app.example"}, {"--cors-origin", "https://app.example/", "as browsers send it: https://app.example"},
		{"--cors-origin", "https://App.example:443", "as browsers send it: https://app.example"}, {"--cors-origin", "https://me@app.example", "such as https://app.example"},
		{"--audience", "", "must not be empty"}, {"--audience", " ", "must not be empty"},
		{"--vault-url", "https://a/b?x=1", "query or a fragment"}, {"--core-url", "https://a/b#c", "query or a fragment"},
		{"--mcp-url", "https://a/b?", "query or a fragment"}, {"--issuer-url", "https://a/b/#", "query or a fragment"},
		{"--vault-url", "https://me:secret@a/b", "user or a password"}, {"--vault-url", "https://:80/b", "with a host"}, {"--vault-url", "https://a:70000/b", "port"},
		{"--drain", "-5s", "negative"}, {"--drain", "-1ns", "negative"}, {"--stall", "-1s", "at least 1s"}, {"--max-upload-bytes", "-1", "from 1"},
		{"--quota-bytes", "-1", "is not a limit"}, {"--quota-search", "-1s", "is not a limit"}, {"--access-log-retention", "-1h", "is not a duration"}, {"--rotate-keys", "-48h", "at least 24h"},
		{"--search", "nonsense", "--search: the value is not a URL: write it as bleve:///folder or meilisearch://"},
		{"--search", "postgres://me:secret@host", `--search: the scheme "postgres" is not supported: write it as bleve:///folder or meilisearch://`},
		{"--console-issuer", "https://login.example", "needs --console-client-id"}, {"--console-client-id", "x", "no effect without --console-issuer"},
		{"--read-models", "nonsense", "the value is not a URL: use sqlite:///path or postgres://host/database"},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var stderr strings.Builder
		err := run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", dir, c.flag + "=" + c.value}, strings.NewReader(""), io.Discard, &stderr)
		if got := stderr.String(); err == nil || ctx.Err() != nil || !strings.Contains(got, c.flag) || !strings.Contains(got, c.want) || strings.Contains(got, "secret") {
			t.Errorf("annals serve %s %q printed %q (%v), want the flag and %q", c.flag, c.value, got, ctx.Err(), c.want)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("annals serve %s %q made its data folder", c.flag, c.value)
		}
		if ctx.Err() != nil {
			t.FailNow() // otherwise serve accepts the settings and runs until it is stopped
		}
		cancel()
	}
}

func TestDataFolderIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd #%41 name")
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", dir}, strings.NewReader(""), in, io.Discard)
		in.Close()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil { // serve prints its welcome only after all stores are open
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	cancel()
	<-ended
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files in the data folder (%v)", files, err)
	}
}
