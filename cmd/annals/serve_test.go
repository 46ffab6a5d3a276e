package main

import (
	"context"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestServeRefusesSettingsThatCannotBe(t *testing.T) {
	for _, args := range [][]string{
		{"--workers", "0"}, {"--workers", "-1"}, {"--search-limit", "100000"}, {"--max-files", "0"}, {"--extract-memory", "1"}, {"--extract-memory", "201326591"},
		{"--core-url", "http://h/x", "--vault-url", "http://h/x/"}, {"--listen", "nowhere"}, {"--log", "postgres://x/y"}, {"--read-models", "sqlite://h/p"},
		{"--issuer", "alias=x"}, {"--trusted-proxy", "somewhere"}, {"--log-level", "loud"}, {"--vault-url", "ftp://h/"},
		{"--metrics-listen", "nowhere"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var stderr strings.Builder
		args = append([]string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, args...)
		if err := run(ctx, args, strings.NewReader(""), io.Discard, &stderr); err == nil || ctx.Err() != nil {
			t.Errorf("annals %s: %v, %v", strings.Join(args, " "), err, ctx.Err())
		} else if !strings.HasPrefix(stderr.String(), "annals: ") || args[len(args)-2] == "--extract-memory" && !strings.Contains(stderr.String(), "needs 201326592 (192 MiB) at least") {
			t.Errorf("annals %s says %q", strings.Join(args, " "), stderr.String())
		}
		cancel()
	}
}

func TestWhatServeMakesIsItsUsersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd #%41 name")
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", dir}, strings.NewReader(""), in, io.Discard)
		in.Close()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil { // the welcome: all is open
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

func TestAddressesFollowWhatIsListenedOn(t *testing.T) {
	for listening, want := range map[string]string{
		"127.0.0.1:81": "http://127.0.0.1:81/core", "[::]:82": "http://localhost:82/core", "0.0.0.0:83": "http://localhost:83/core", "[::1]:84": "http://[::1]:84/core",
	} {
		addr, err := net.ResolveTCPAddr("tcp", listening)
		if err != nil {
			t.Fatal(err)
		}
		a, err := new(serveConfig).urls(addr)
		if err != nil || a.core.String() != want {
			t.Errorf("listening on %s the core is at %s (%v), want %s", listening, a.core, err, want)
		}
	}
}
