package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/engine"
)

// The default address of tests must not be that of README. Otherwise a test could call,
// or conflict with, a server that somebody runs on this machine.
func TestNoTestUsesTheDefaultAddress(t *testing.T) {
	if _, port, err := net.SplitHostPort(defaultListen); err != nil || port != "0" {
		t.Errorf("tests run with the default address %s: TestMain must set one whose port is 0", defaultListen)
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) < 10 {
		t.Fatalf("found the scripts %v (%v)", scripts, err)
	}
	tests, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	here := regexp.MustCompile(`(127\.0\.0\.1|localhost|\]|0\.0\.0\.0|["' =]):8080`)
	for _, name := range append(scripts, tests...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if here.MatchString(line) {
				t.Errorf("%s:%d names the default port, where a server may run: use a free port instead (serve in scripts does)", name, i+1)
			}
		}
	}
}

func TestServeReportsSettingsBeforeTakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	occupied := filepath.Join(dir, "occupied")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(flags ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := run(ctx, append([]string{"serve", "--data", data, "--listen", taken.Addr().String()}, flags...), nil, io.Discard, io.Discard)
		if err == nil {
			t.Fatalf("serve %v on an address in use: got no error", flags)
		}
		return err.Error()
	}
	for _, flags := range [][]string{
		{"--read-models", "mysql://host/database"},
		{"--read-models", "postgres://annals@127.0.0.1:1/annals?connect_timeout=1"},
		{"--read-models", "sqlite://" + occupied},
		{"--search", "elastic://host"},
		{"--search", "meilisearch://key:more@host"},
		{"--log", "mysql://host"},
		{"--log", "esdb://host?tsl=false"},
		{"--originals", "ftp://host"},
		{"--originals", "file://" + occupied},
		{"--accounts", "mysql://host"},
		{"--accounts", "postgres://annals@127.0.0.1:1/annals?connect_timeout=1"},
		{"--admin-password-file", filepath.Join(dir, "missing")},
		{"--admin-password-file", short},
		{"--issuer", "url=https://login.example"},
		{"--trusted-proxy", "here"},
		{"--core-url", "core"},
		{"--mcp-ingest-root", filepath.Join(dir, "missing")},
		{"--mcp-prefix", "a b"},
		{"--log-level", "loud"},
	} {
		got := start(flags...)
		if strings.Contains(got, "address already in use") || strings.Contains(got, "bind:") {
			t.Errorf("serve %s %s printed %q, want an error about this setting", flags[0], flags[1], got)
		}
	}

	// If all settings are valid but the address is in use, serve reports the address.
	// It must not have created the user admin before, because nobody would have seen
	// the password.
	if got := start(); !strings.Contains(got, "--listen "+taken.Addr().String()) {
		t.Errorf("serve on an address in use printed %q, want the flag and the address", got)
	}
	fresh := filepath.Join(dir, "fresh")
	if got := start("--data", fresh); !strings.Contains(got, "--listen ") {
		t.Errorf("first start on an address in use printed %q", got)
	}
	if _, err := os.Lstat(fresh); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("first start on an address in use: the data folder still exists (%v)", err)
	}
	mine := filepath.Join(dir, "mine")
	if err := os.Mkdir(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	start("--data", mine)
	if _, err := os.Lstat(mine); err != nil {
		t.Errorf("start on an address in use: an existing folder was removed: %v", err)
	}
	accounts, err := engine.URLs{Data: data}.OpenAccounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer accounts.Close()
	if exist, err := accounts.Exist(t.Context()); exist || err != nil {
		t.Errorf("users after a failed start: got %v (%v), want none", exist, err)
	}
}
