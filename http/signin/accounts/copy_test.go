package accounts_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

func TestCopyTo(t *testing.T) {
	store := accountstest.Open(t, t.TempDir())
	if _, err := store.Create(t.Context(), accounts.NewAccount{Name: "ada", Password: "long enough", Groups: []string{"staff"}}); err != nil {
		t.Fatal(err)
	}
	key, err := store.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, accounts.FileName)
	if err := store.CopyTo(t.Context(), path); err != nil {
		t.Fatalf("CopyTo: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v (%v), want 0600", info.Mode(), err)
	}
	copied := accountstest.OpenFile(t, dir)
	if a, err := copied.Get(t.Context(), "ada"); err != nil || len(a.Groups) != 1 {
		t.Errorf("Get in the copy = %+v, %v; want ada in one group", a, err)
	}
	if got, err := copied.SigningKey(t.Context()); err != nil || got.ID != key.ID {
		t.Errorf("SigningKey in the copy = %s, %v; want %s", got.ID, err, key.ID)
	}
	if err := store.CopyTo(t.Context(), path); err == nil {
		t.Error("CopyTo overwrites an existing file, want an error")
	}
}

func TestCopyInto(t *testing.T) {
	ctx := t.Context()
	file, store := accountstest.OpenFile(t, t.TempDir()), accountstest.Open(t, t.TempDir())
	accountstest.AddUser(t, file, accounts.NewAccount{Name: "ada", Admin: true, Groups: []string{"staff"}})
	accountstest.AddUser(t, file, accounts.NewAccount{Name: "gone"})
	if err := errors.Join(file.Delete(ctx, "gone"), file.Disable(ctx, "ada"), file.AddBrowser(ctx, "cookie", "ada", time.Now())); err != nil {
		t.Fatal(err)
	}
	if _, err := file.ChangeQuota(ctx, "ada", map[string]int64{"bytes": 7}, nil); err != nil {
		t.Fatal(err)
	}
	key, err := file.SigningKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	back := accountstest.OpenFile(t, t.TempDir())
	if err := errors.Join(file.CopyInto(ctx, store), store.CopyInto(ctx, back)); err != nil {
		t.Fatal(err)
	}
	for _, got := range []*accounts.Store{store, back} {
		if q, err := got.Quota(ctx, "user:ada"); err != nil || q["bytes"] != 7 {
			t.Errorf("Quota = %v, %v; want 7 bytes", q, err)
		}
		if a, err := got.Get(ctx, "ada"); err != nil || !a.Admin || !a.Disabled || len(a.Groups) != 1 {
			t.Errorf("Get = %+v, %v; want a disabled administrator in one group", a, err)
		}
		_, err := got.Create(ctx, accounts.NewAccount{Name: "gone", Password: "long enough"})
		accountstest.WantKind(t, "Create of a deleted user's name in the copy", err, fault.Conflict)
		if k, err := got.SigningKey(ctx); err != nil || k.ID != key.ID {
			t.Errorf("SigningKey = %s, %v; want %s", k.ID, err, key.ID)
		}
	}
	accountstest.WantKind(t, "CopyInto a store that has users", file.CopyInto(ctx, store), fault.Conflict)
}
