package originals_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/originals"
	"annals/events/originals/originalstest"
	"annals/events/s3/s3test"
)

func openS3(t testing.TB, url, staging string) *originals.S3 {
	t.Helper()
	s, err := originals.OpenS3(t.Context(), s3test.Open(t, url), staging)
	if err != nil {
		t.Fatalf("OpenS3: %v", err)
	}
	return s
}

func TestS3(t *testing.T) {
	t.Parallel()
	const resolution = time.Second // resolution of times on some servers
	originalstest.Run(t, resolution, func(t *testing.T) func() originals.Store {
		url, staging := s3test.URL(t), filepath.Join(t.TempDir(), "staging")
		return func() originals.Store { return openS3(t, url, staging) }
	})
}

func keep(t *testing.T, s originals.Store, content []byte) originals.Staged {
	t.Helper()
	staged, err := s.Stage(t.Context(), bytes.NewReader(content), int64(len(content)))
	if err == nil {
		err = staged.Commit(t.Context())
	}
	if err != nil {
		t.Fatalf("Stage and Commit: %v", err)
	}
	return staged
}

func TestMultipartOriginalIsSeekable(t *testing.T) {
	t.Parallel()
	s := openS3(t, s3test.URL(t), t.TempDir())
	content := bytes.Repeat([]byte("lamp and oil, "), 5<<18) // 17.5 MiB
	name := keep(t, s, content).SHA256()
	if err := originals.Verify(t.Context(), s, name, int64(len(content)), true); err != nil {
		t.Errorf("Verify: %v", err)
	}
	o, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	const at = 15<<20 + 3
	_, err = o.Seek(at, io.SeekStart)
	got, errRead := io.ReadAll(io.LimitReader(o, 2<<20))
	if errors.Join(err, errRead) != nil || !bytes.Equal(got, content[at:at+2<<20]) {
		t.Errorf("Seek and Read: got %d bytes (%v, %v), want 2 MiB from the middle", len(got), err, errRead)
	}
}

func TestUploadLeavesNoLocalFile(t *testing.T) {
	t.Parallel()
	staging := t.TempDir()
	s := openS3(t, s3test.URL(t), staging)
	name := keep(t, s, []byte("kept")).SHA256()
	if _, err := s.Stage(t.Context(), strings.NewReader("too long"), 3); !fault.Is(err, fault.TooLarge) {
		t.Errorf("Stage over the limit: got error %v, want kind TooLarge", err)
	}
	path, release, err := s.Path(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat after release: got error %v, want that the file is removed", err)
	}
	abandoned, err := s.Stage(t.Context(), strings.NewReader("abandoned"), 100)
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(staging, "*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("staging: got %v (%v), want only the staged upload", left, err)
	}
	old := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(left[0], old, old); err != nil {
		t.Fatal(err)
	}
	openS3(t, s3test.URL(t), staging)
	if err := abandoned.Commit(t.Context()); err == nil {
		t.Error("Commit of a swept upload: got no error")
	}
}

func TestPathRefusesCorruptObject(t *testing.T) {
	t.Parallel()
	url := s3test.URL(t)
	s := openS3(t, url, t.TempDir())
	staged := keep(t, s, []byte("intact"))
	if err := s3test.Open(t, url).Put(t.Context(), staged.SHA256(), strings.NewReader("inpact"), 6); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Path(t.Context(), staged.SHA256()); !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "have the SHA-256") {
		t.Errorf("Path of a corrupt object: got error %v, want kind Internal", err)
	}
	keep(t, s, []byte("intact"))
	if err := originals.Verify(t.Context(), s, staged.SHA256(), 6, true); err != nil {
		t.Errorf("Verify after another Commit of the same bytes: %v", err)
	}
}

func TestCommitCanBeRetriedAfterOutage(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	s := openS3(t, server.URL, t.TempDir())
	staged, err := s.Stage(t.Context(), strings.NewReader("kept"), 100)
	if err != nil {
		t.Fatal(err)
	}
	server.Intercept(func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) })
	if err := staged.Commit(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Commit during an outage: got error %v, want kind Unavailable", err)
	}
	if _, err := s.Open(t.Context(), staged.SHA256()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Open during an outage: got error %v, want kind Unavailable", err)
	}
	server.Intercept(nil)
	if err := staged.Commit(t.Context()); err != nil {
		t.Errorf("Commit after the outage: %v", err)
	}
	if err := originals.Verify(t.Context(), s, staged.SHA256(), 4, true); err != nil {
		t.Error(err)
	}
}

// A commit during a deletion of the same original waits and then succeeds. A deletion
// during a commit does nothing.
func TestCommitDuringDeleteSucceeds(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	s := openS3(t, server.URL, t.TempDir())
	name := keep(t, s, []byte("again")).SHA256()
	again, err := s.Stage(t.Context(), strings.NewReader("again"), 100)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var once sync.Once
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodDelete { // Delete has already checked the date
			once.Do(func() {
				wg.Go(func() {
					if err := again.Commit(t.Context()); err != nil {
						t.Errorf("Commit: %v", err)
					}
				})
			})
		}
		next.ServeHTTP(w, r)
	})
	if _, err := s.Delete(t.Context(), name, time.Now().Add(time.Hour)); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	wg.Wait()
	if err := originals.Verify(t.Context(), s, name, 5, true); err != nil {
		t.Error(err)
	}
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut {
			if deleted, err := s.Delete(t.Context(), name, time.Now().Add(time.Hour)); deleted || err != nil {
				t.Errorf("Delete during a commit: got %t, %v, want false", deleted, err)
			}
		}
		next.ServeHTTP(w, r)
	})
	if err := again.Commit(t.Context()); err != nil {
		t.Errorf("Commit: %v", err)
	}
	if err := originals.Verify(t.Context(), s, name, 5, true); err != nil {
		t.Error(err)
	}
}
