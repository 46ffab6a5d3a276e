package signin

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"annals/events/fault"
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
	copied := openCopy(t, dir)
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

// openCopy opens a copy, which is a file whatever the store is.
func openCopy(t *testing.T, dir string) *Accounts {
	t.Helper()
	copied, err := OpenAccounts(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { copied.Close() })
	return copied
}

func TestAccountsMoveFromAFileToTheStoreAndBack(t *testing.T) {
	ctx := t.Context()
	file, store := openCopy(t, t.TempDir()), openAccounts(t, t.TempDir())
	addUser(t, file, NewAccount{Name: "ada", Admin: true, Groups: []string{"staff"}})
	addUser(t, file, NewAccount{Name: "gone"})
	if err := errors.Join(file.Delete(ctx, "gone"), file.Disable(ctx, "ada"), file.addBrowser(ctx, "cookie", "ada", time.Now())); err != nil {
		t.Fatal(err)
	}
	if _, err := file.ChangeQuota(ctx, "ada", map[string]int64{"bytes": 7}, nil); err != nil {
		t.Fatal(err)
	}
	key, err := file.SigningKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	back := openCopy(t, t.TempDir())
	if err := errors.Join(file.CopyInto(ctx, store), store.CopyInto(ctx, back)); err != nil {
		t.Fatal(err)
	}
	for _, got := range []*Accounts{store, back} {
		if q, err := got.Quota(ctx, "user:ada"); err != nil || q["bytes"] != 7 {
			t.Errorf("the limits are %v (%v)", q, err)
		}
		if a, err := got.Get(ctx, "ada"); err != nil || !a.Admin || !a.Disabled || len(a.Groups) != 1 {
			t.Errorf("Get = %+v, %v", a, err)
		}
		_, err := got.Create(ctx, NewAccount{Name: "gone", Password: "long enough"})
		wantKind(t, "Create of a name that was given", err, fault.Conflict)
		if k, err := got.SigningKey(ctx); err != nil || k.ID != key.ID {
			t.Errorf("SigningKey = %s, %v; want %s", k.ID, err, key.ID)
		}
	}
	wantKind(t, "CopyInto a store that has users", file.CopyInto(ctx, store), fault.Conflict)
}

func TestACopySignsNobodyIn(t *testing.T) {
	s := newSite(t)
	p, b := s.register(elsewhere), s.browser()
	p.redeem(p.code(b))
	s.gadget()
	dir := t.TempDir()
	if err := s.accounts.CopyTo(t.Context(), filepath.Join(dir, AccountsFile)); err != nil {
		t.Fatalf("CopyTo: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the copy consists of %v, %v; want one file", files, err)
	}
	copied := openCopy(t, dir)
	for table, want := range map[string]int{"sessions": 0, "grants": 0, "devices": 0, "clients": 1, "browsers": 1} {
		var n int
		if err := copied.db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != want {
			t.Errorf("the copy has %d %s (%v), want %d", n, table, err, want)
		}
	}
}
