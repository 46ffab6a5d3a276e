package login_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/login"

	"github.com/gofrs/flock"
)

func newStore(t *testing.T) login.Store {
	t.Helper()
	return login.Store{Path: filepath.Join(t.TempDir(), "settings", "annals", "credentials.json")}
}

func TestStoreKeepsSignInsByServer(t *testing.T) {
	s := newStore(t)
	if _, found, err := s.Get("http://a/core"); found || err != nil {
		t.Errorf("Get before there is a file = %v, %v", found, err)
	}
	var all sync.WaitGroup
	const servers = 20
	for i := range servers {
		all.Go(func() {
			if _, found, err := s.Put(t.Context(), fmt.Sprint("http://h/", i), login.Login{User: fmt.Sprint(i)}); found || err != nil {
				t.Errorf("Put = %v, %v", found, err)
			}
		})
	}
	all.Wait()
	if before, found, err := s.Put(t.Context(), "http://h/7", login.Login{User: "another"}); before.User != "7" || !found || err != nil {
		t.Errorf("Put again = %v, %v, %v; want the one before", before, found, err)
	}
	if l, found, err := s.Remove(t.Context(), "http://h/3"); l.User != "3" || !found || err != nil {
		t.Errorf("Remove = %v, %v, %v", l, found, err)
	}
	if _, found, err := s.Remove(t.Context(), "http://h/3"); found || err != nil {
		t.Errorf("Remove again = %v, %v", found, err)
	}
	kept, err := s.All()
	if len(kept) != servers-1 || kept["http://h/7"].User != "another" || kept["http://h/19"].User != "19" || err != nil {
		t.Errorf("All = %v, %v", kept, err)
	}
	left, err := filepath.Glob(s.Path + ".*")
	if len(left) != 1 || err != nil { // only the lock file is left
		t.Errorf("beside the file are %v, %v", left, err)
	}
}

func TestStoreIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing there")
	}
	s := newStore(t)
	if _, _, err := s.Put(t.Context(), "http://a/core", login.Login{User: "alice"}); err != nil {
		t.Fatal(err)
	}
	directory := filepath.Dir(s.Path)
	for path, want := range map[string]os.FileMode{s.Path: 0o600, s.Path + ".lock": 0o600, directory: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	for _, c := range []struct {
		path string
		mode os.FileMode
		says string
	}{
		{s.Path, 0o640, "chmod 600"}, {s.Path, 0o602, "chmod 600"}, {s.Path, 0o600, ""},
		{directory, 0o770, "chmod 700"}, {directory, 0o755, ""},
	} {
		if err := os.Chmod(c.path, c.mode); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Get("http://a/core")
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("Get with %s of mode %#o: %v; want %q", c.path, c.mode, err, c.says)
		}
		if _, _, put := s.Put(t.Context(), "http://b/core", login.Login{}); (put == nil) != (c.says == "") {
			t.Errorf("Put with %s of mode %#o: %v", c.path, c.mode, put)
		}
	}
}

func TestPutKeepsDamagedFile(t *testing.T) {
	s := newStore(t)
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	const damaged = `{"servers": {"http://a/core": {"user": "al`
	if err := os.WriteFile(s.Path, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Put(t.Context(), "http://b/core", login.Login{}); err == nil || !strings.Contains(err.Error(), "remove it and sign in again") {
		t.Errorf("Put = %v, want an error with what to do", err)
	}
	if text, err := os.ReadFile(s.Path); string(text) != damaged || err != nil {
		t.Errorf("the file is %s, %v", text, err)
	}
}

func TestPutCancelledWhileLocked(t *testing.T) {
	s := newStore(t)
	if _, _, err := s.Put(t.Context(), "http://a/core", login.Login{}); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(s.Path + ".lock") // as if another process held the lock
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := s.Put(ctx, "http://b/core", login.Login{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Put while another process holds the lock = %v", err)
	}
}
