// Package originalstest tests stores of originals: its tests define the contract of
// originals.Store. The test of a store calls Run.
package originalstest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"annals/events/fault"
	"annals/events/originals"
)

// Run tests a store. start creates an empty store and returns the function open. Each
// call of open opens the store again, as another process would. resolution is the
// resolution of the times that the store keeps.
func Run(t *testing.T, resolution time.Duration, start func(t *testing.T) (open func() originals.Store)) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open func() originals.Store)
	}{
		{"committed uploads are read back", readBack},
		{"uncommitted uploads cannot be read", uncommitted},
		{"equal uploads become one original", sameBytes},
		{"uploads over the limit are rejected", overLimit},
		{"interrupted uploads leave nothing", interrupted},
		{"staging ends with its context", endedContext},
		{"invalid names are rejected", invalidNames},
		{"originals can be deleted", deleted},
		{"the list is complete and ordered", listed},
		{"the list has the time of the last commit", dated(resolution)},
		{"many uploads are committed together", commitAll},
		{"concurrent commits create one original", concurrent},
		{"paths lead to the bytes", pathed},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, start(t)) })
	}
}

const mib = 1 << 20

func stage(t *testing.T, s originals.Store, data []byte) originals.Staged {
	t.Helper()
	staged, err := s.Stage(t.Context(), bytes.NewReader(data), 64*mib)
	if err != nil {
		t.Fatalf("Stage: %v", err)
	}
	return staged
}

func put(t *testing.T, s originals.Store, data []byte) string {
	t.Helper()
	staged := stage(t, s, data)
	if err := staged.Commit(t.Context()); err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return staged.SHA256()
}

func get(t *testing.T, s originals.Store, name string) []byte {
	t.Helper()
	o, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatalf("Open(%s): %v", name, err)
	}
	data, err := io.ReadAll(o)
	if err := errors.Join(err, o.Close()); err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	if o.Size() != int64(len(data)) {
		t.Errorf("Size: got %d, read %d bytes", o.Size(), len(data))
	}
	return data
}

func wantKind(t *testing.T, call string, err error, want fault.Kind) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("%s: got error %v, want kind %v", call, err, want)
	}
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func list(t *testing.T, s originals.Store) (names []string) {
	t.Helper()
	err := s.List(t.Context(), func(name string, _ int64, _ time.Time) error {
		names = append(names, name)
		return nil
	})
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	return names
}

func readBack(t *testing.T, open func() originals.Store) {
	s, other := open(), open()
	for _, data := range [][]byte{{}, []byte("one"), bytes.Repeat([]byte("0123456789abcdef"), mib/8)} {
		name := put(t, s, data)
		if want := hash(data); name != want {
			t.Errorf("SHA256: got %s, want %s", name, want)
		}
		for _, from := range []originals.Store{s, other} {
			if got := get(t, from, name); !bytes.Equal(got, data) {
				t.Errorf("Open: got %d bytes, want the %d that were stored", len(got), len(data))
			}
		}
	}
	name := put(t, s, []byte("a story with a middle"))
	o, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := o.Seek(-6, io.SeekEnd); err != nil {
		t.Fatalf("Seek: %v", err)
	}
	if got, _ := io.ReadAll(o); string(got) != "middle" {
		t.Errorf("Read after Seek: got %q, want %q", got, "middle")
	}
}

func uncommitted(t *testing.T, open func() originals.Store) {
	s := open()
	staged := stage(t, s, []byte("maybe"))
	if staged.Size() != 5 {
		t.Errorf("Size: got %d, want 5", staged.Size())
	}
	_, err := s.Open(t.Context(), staged.SHA256())
	wantKind(t, "Open before Commit", err, fault.NotFound)
	_, _, err = s.Path(t.Context(), staged.SHA256())
	wantKind(t, "Path before Commit", err, fault.NotFound)
	if got := list(t, s); len(got) != 0 {
		t.Errorf("List before Commit: got %v, want none", got)
	}
	for range 2 {
		if err := staged.Discard(); err != nil {
			t.Fatalf("Discard: %v", err)
		}
	}
	if err := staged.Commit(t.Context()); err == nil {
		t.Error("Commit after Discard: got no error")
	}
	_, err = s.Open(t.Context(), staged.SHA256())
	wantKind(t, "Open after Discard", err, fault.NotFound)
}

func sameBytes(t *testing.T, open func() originals.Store) {
	s := open()
	data := []byte("twice")
	first, second := stage(t, s, data), stage(t, s, data)
	for _, staged := range []originals.Staged{first, second, first} {
		if err := staged.Commit(t.Context()); err != nil {
			t.Fatalf("Commit: %v", err)
		}
	}
	if err := second.Discard(); err != nil {
		t.Fatalf("Discard after Commit: %v", err)
	}
	if got := list(t, s); len(got) != 1 || got[0] != hash(data) {
		t.Errorf("List: got %v, want one original", got)
	}
	if got := get(t, s, hash(data)); !bytes.Equal(got, data) {
		t.Errorf("Open: got %q, want %q", got, data)
	}
}

func overLimit(t *testing.T, open func() originals.Store) {
	s := open()
	data := make([]byte, mib)
	staged, err := s.Stage(t.Context(), bytes.NewReader(data), mib)
	if err != nil {
		t.Fatalf("Stage of limit bytes: %v", err)
	}
	if err := staged.Discard(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Stage(t.Context(), bytes.NewReader(data), mib-1)
	wantKind(t, "Stage of limit+1 bytes", err, fault.TooLarge)
}

func interrupted(t *testing.T, open func() originals.Store) {
	s := open()
	errClient := errors.New("the client disconnected")
	_, err := s.Stage(t.Context(), io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errClient)), mib)
	if !errors.Is(err, errClient) {
		t.Errorf("Stage: got error %v, want %v", err, errClient)
	}
	if got := list(t, s); len(got) != 0 {
		t.Errorf("List: got %v, want none", got)
	}
}

func endedContext(t *testing.T, open func() originals.Store) {
	s := open()
	ctx, cancel := context.WithCancel(t.Context())
	endless := readerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	_, err := s.Stage(ctx, endless, 1<<40)
	wantKind(t, "Stage", err, fault.Canceled)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func invalidNames(t *testing.T, open func() originals.Store) {
	s := open()
	valid := hash(nil)
	for _, name := range []string{
		"", "ab", valid[:63], valid + "0", strings.ToUpper(valid),
		"../" + valid[3:], "../../../../../../../../../../../../../../../../../../../etc/shadow",
		"/" + valid[1:], valid[:62] + "/.", valid[:62] + "\x00a", strings.Repeat("g", 64),
	} {
		_, err := s.Open(t.Context(), name)
		wantKind(t, fmt.Sprintf("Open(%q)", name), err, fault.Invalid)
		_, _, err = s.Path(t.Context(), name)
		wantKind(t, fmt.Sprintf("Path(%q)", name), err, fault.Invalid)
		_, err = s.Delete(t.Context(), name, time.Now())
		wantKind(t, fmt.Sprintf("Delete(%q)", name), err, fault.Invalid)
	}
}

func deleted(t *testing.T, open func() originals.Store) {
	s := open()
	name, kept := put(t, s, []byte("deleted")), put(t, s, []byte("kept"))
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for i, want := range []bool{false, true, false} {
		before := future
		if i == 0 {
			before = past
		}
		if got, err := s.Delete(t.Context(), name, before); got != want || err != nil {
			t.Fatalf("call %d of Delete before %v: got %v, %v, want %v", i, before, got, err, want)
		}
	}
	_, err := s.Open(t.Context(), name)
	wantKind(t, "Open after Delete", err, fault.NotFound)
	if got := list(t, s); !slices.Equal(got, []string{kept}) {
		t.Errorf("List: got %v, want only %s", got, kept)
	}
	if again := put(t, s, []byte("deleted")); string(get(t, s, again)) != "deleted" {
		t.Error("Open of an original stored again after Delete: got other bytes")
	}
}

func listed(t *testing.T, open func() originals.Store) {
	s := open()
	before := time.Now().Add(-time.Minute) // a minute ago, because the clock of the store may differ
	var want []string
	for i := range 50 {
		want = append(want, put(t, s, bytes.Repeat([]byte{'x'}, i)))
	}
	slices.Sort(want)
	if got := list(t, s); !slices.Equal(got, want) {
		t.Errorf("List: got %d names %v, want %d", len(got), got, len(want))
	}
	stop := errors.New("enough")
	calls := 0
	err := s.List(t.Context(), func(name string, size int64, modified time.Time) error {
		if calls++; size != int64(len(get(t, s, name))) || modified.Before(before) {
			t.Errorf("List of %s: got size %d and time %v", name, size, modified)
		}
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("List: got error %v after %d calls, want %v after one", err, calls, stop)
	}
}

func dated(resolution time.Duration) func(*testing.T, func() originals.Store) {
	return func(t *testing.T, open func() originals.Store) { committedLast(t, open(), resolution) }
}

func committedLast(t *testing.T, s originals.Store, resolution time.Duration) {
	data := []byte("committed, and again")
	modified := func() (at time.Time) {
		err := s.List(t.Context(), func(_ string, _ int64, modified time.Time) error {
			at = modified
			return nil
		})
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		return at
	}
	wantSince := func(step string, start time.Time) {
		t.Helper()
		if got := modified(); got.Before(start.Truncate(resolution)) || got.After(time.Now()) {
			t.Errorf("List after the %s: got time %v, want that of the commit, which began at %v", step, got, start)
		}
	}
	first, other := stage(t, s, data), stage(t, s, data)
	for _, step := range []struct {
		name   string
		staged originals.Staged
	}{
		{"first commit", first},
		{"second commit", first},
		{"commit of an equal upload", other},
	} {
		time.Sleep(resolution)
		start := time.Now()
		if err := step.staged.Commit(t.Context()); err != nil {
			t.Fatalf("Commit: %v", err)
		}
		wantSince(step.name, start)
	}
}

func commitAll(t *testing.T, open func() originals.Store) {
	s := open()
	if err := originals.CommitAll(t.Context(), nil); err != nil {
		t.Errorf("CommitAll without uploads: %v", err)
	}
	var staged []originals.Staged
	for i := range 100 {
		staged = append(staged, stage(t, s, fmt.Append(nil, i%90)))
	}
	if err := originals.CommitAll(t.Context(), staged); err != nil {
		t.Fatalf("CommitAll: %v", err)
	}
	for i := range 90 {
		data := fmt.Append(nil, i)
		if got := get(t, s, hash(data)); !bytes.Equal(got, data) {
			t.Errorf("Open: got %q, want %q", got, data)
		}
	}
	if got := list(t, s); len(got) != 90 {
		t.Errorf("List: got %d originals, want 90", len(got))
	}
	discarded := stage(t, s, []byte("discarded"))
	if err := discarded.Discard(); err != nil {
		t.Fatal(err)
	}
	if err := originals.CommitAll(t.Context(), []originals.Staged{stage(t, s, []byte("staged")), discarded}); err == nil {
		t.Error("CommitAll with a discarded upload: got no error")
	}
}

func concurrent(t *testing.T, open func() originals.Store) {
	stores := []originals.Store{open(), open()}
	data := bytes.Repeat([]byte("race"), 50_000)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			staged, err := stores[i%2].Stage(t.Context(), bytes.NewReader(data), mib)
			if err == nil {
				err = staged.Commit(t.Context())
			}
			if err != nil {
				t.Errorf("concurrent Stage and Commit: %v", err)
				return
			}
			o, err := stores[(i+1)%2].Open(t.Context(), staged.SHA256())
			if err != nil {
				t.Errorf("Open after Commit: %v", err)
				return
			}
			got, err := io.ReadAll(o)
			if err := errors.Join(err, o.Close()); err != nil || !bytes.Equal(got, data) {
				t.Errorf("Open: got %d bytes (%v), want %d", len(got), err, len(data))
			}
		})
	}
	wg.Wait()
	if got := list(t, stores[0]); len(got) != 1 {
		t.Errorf("List: got %d originals, want 1", len(got))
	}
}

func pathed(t *testing.T, open func() originals.Store) {
	s := open()
	name := put(t, s, []byte("on disk"))
	path, release, err := s.Path(t.Context(), name)
	if err != nil {
		t.Fatalf("Path: %v", err)
	}
	defer release()
	if got, err := os.ReadFile(path); err != nil || string(got) != "on disk" {
		t.Errorf("file at Path: got %q (%v), want %q", got, err, "on disk")
	}
}
