package signin

import (
	"os"
	"path/filepath"
	"testing"
)

func TestACopyHoldsTheAccountsAndKeys(t *testing.T) {
	accounts := openAccounts(t, t.TempDir())
	if _, err := accounts.Create(t.Context(), NewAccount{Name: "ada", Password: "long enough", Groups: []string{"staff"}}); err != nil {
		t.Fatal(err)
	}
	key, err := accounts.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, AccountsFile)
	if err := accounts.CopyTo(t.Context(), path); err != nil {
		t.Fatalf("CopyTo: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has the mode %v (%v), want 0600", info.Mode(), err)
	}
	copied := openAccounts(t, dir)
	if a, err := copied.Get(t.Context(), "ada"); err != nil || len(a.Groups) != 1 {
		t.Errorf("the copy's account = %+v, %v", a, err)
	}
	if got, err := copied.SigningKey(t.Context()); err != nil || got.ID != key.ID {
		t.Errorf("the copy signs with another key (%v)", err)
	}
	if err := accounts.CopyTo(t.Context(), path); err == nil {
		t.Error("CopyTo overwrites a file")
	}
}
