package originals_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/originals"
)

func TestSweepDeletesUnreferencedUploads(t *testing.T) {
	store, err := originals.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	commit := func(text string) string {
		staged, err := store.Stage(t.Context(), strings.NewReader(text), 100)
		if err == nil {
			err = staged.Commit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return staged.SHA256()
	}
	used, unused := commit("used"), commit("unused")
	referred := func(_ context.Context, sha256 string) (bool, error) { return sha256 == used, nil }
	if n, err := originals.Sweep(t.Context(), store, nil, time.Now().Add(-time.Hour), referred); n != 0 || err != nil {
		t.Errorf("Sweep of originals older than an hour: got %d deleted (%v), want 0", n, err)
	}
	if n, err := originals.Sweep(t.Context(), store, nil, time.Now().Add(time.Hour), referred); n != 1 || err != nil {
		t.Errorf("Sweep: got %d deleted (%v), want 1", n, err)
	}
	if _, err := store.Open(t.Context(), unused); !fault.Is(err, fault.NotFound) {
		t.Errorf("Open of the unused original: got error %v, want kind NotFound", err)
	}
	f, err := store.Open(t.Context(), used)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestSweepKeepsOriginalUploadedAgain(t *testing.T) {
	store, err := originals.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	upload := func() string {
		staged, err := store.Stage(t.Context(), strings.NewReader("again"), 100)
		if err == nil {
			err = staged.Commit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return staged.SHA256()
	}
	first := upload()
	before := time.Now()
	n, err := originals.Sweep(t.Context(), store, nil, before, func(context.Context, string) (bool, error) {
		upload() // between Sweep's calls of List and Delete
		return false, nil
	})
	if n != 0 || err != nil {
		t.Errorf("Sweep: got %d deleted, %v, want 0", n, err)
	}
	f, err := store.Open(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
