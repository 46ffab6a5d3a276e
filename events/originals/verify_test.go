package originals_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/events/fault"
	"annals/events/originals"
)

func TestVerifyReportsCorruptOriginal(t *testing.T) {
	root := t.TempDir()
	store, err := originals.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	staged, err := store.Stage(t.Context(), strings.NewReader("the lamp"), 100)
	if err == nil {
		err = staged.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	name := staged.SHA256()
	path := filepath.Join(root, name[:2], name[2:4], name)
	if err := originals.Verify(t.Context(), store, name, 8, true); err != nil {
		t.Errorf("Verify of an intact original: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		content, want string
		wantNoHash    string
	}{
		{"the lamq", "have the SHA-256", ""},
		{"the lam", "has 7 bytes instead of 8", "has 7 bytes instead of 8"},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := originals.Verify(t.Context(), store, name, 8, true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Verify of %q: got error %v, want %q", c.content, err, c.want)
		}
		err := originals.Verify(t.Context(), store, name, 8, false)
		if (err == nil) != (c.wantNoHash == "") || err != nil && !strings.Contains(err.Error(), c.wantNoHash) {
			t.Errorf("Verify of %q without hashing: got error %v, want %q", c.content, err, c.wantNoHash)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := originals.Verify(t.Context(), store, name, 8, false); !fault.Is(err, fault.NotFound) {
		t.Errorf("Verify of a missing original: got error %v, want kind NotFound", err)
	}
}
