package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

// createIn is an environment variable. If it is set to "folder|name", the test binary runs no
// tests but creates the named user in the store in that folder. Tests use this as a second
// process.
const createIn = "ANNALS_TEST_CREATE_IN"

func TestMain(m *testing.M) {
	if task := os.Getenv(createIn); task != "" {
		if err := createFromOutside(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	accountstest.Run(m)
}

func createFromOutside(task string) error {
	dir, name, _ := strings.Cut(task, "|")
	ctx := context.Background()
	store, err := accountstest.OpenEngine(ctx, dir)
	if err != nil {
		return err
	}
	_, err = store.Create(ctx, accounts.NewAccount{Name: name, Password: "from outside"})
	if err == nil {
		_, err = store.SigningKey(ctx)
	}
	return errors.Join(err, store.Close())
}

func TestCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%41&e")
	store := accountstest.Open(t, dir)
	if _, err := os.Stat(filepath.Join(dir, accounts.FileName+"-wal")); !accountstest.OnPostgres() && err != nil {
		t.Fatal(err)
	}
	made := accountstest.AddUser(t, store, accounts.NewAccount{Name: " Zoe\u0308 ", Admin: true, Groups: []string{"staff", "archive", "staff"}})
	if want := "Zo\u00eb"; made.Name != want {
		t.Errorf("Create stored the name %q, want %q", made.Name, want)
	}
	got, err := accountstest.Open(t, dir).Get(t.Context(), "Zoe\u0308")
	if err != nil {
		t.Fatal(err)
	}
	if !got.Admin || got.Disabled || !got.Created.Equal(made.Created) || !slices.Equal(got.Groups, []string{"archive", "staff"}) {
		t.Errorf("Get = %+v, want %+v", got, made)
	}
}

func TestFileIsPrivate(t *testing.T) {
	accountstest.InFiles(t)
	dir := t.TempDir()
	path := filepath.Join(dir, accounts.FileName)
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	store := accountstest.Open(t, dir)
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "alice"})
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("the store has the files %v (%v), want the database and its log", files, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", filepath.Base(f), info.Mode().Perm())
		}
	}
}

func TestCreateRejectsInvalidNames(t *testing.T) {
	store := accountstest.Open(t, t.TempDir())
	for _, name := range []string{"", "  ", ".", "..", "a/b", "a:b", "a\nb", "a\x00b", "a\u202eb", "a\u200bb", "\xff", strings.Repeat("x", 129), strings.Repeat("x", 1<<20)} {
		_, err := store.Create(t.Context(), accounts.NewAccount{Name: name, Password: "correct horse"})
		accountstest.WantKind(t, fmt.Sprintf("Create(%.20q)", name), err, fault.Invalid)
		_, err = store.Create(t.Context(), accounts.NewAccount{Name: "alice", Password: "correct horse", Groups: []string{name}})
		accountstest.WantKind(t, fmt.Sprintf("Create with group %.20q", name), err, fault.Invalid)
	}
	accountstest.AddUser(t, store, accounts.NewAccount{Name: strings.Repeat("x", 128)})
}

// Two user names must not look alike, because they appear in principals, folder paths and
// responses.
func TestCreateRejectsSimilarNames(t *testing.T) {
	store := accountstest.Open(t, t.TempDir())
	for _, name := range []string{"alice", "Петя", "al1ce", "alíce"} {
		accountstest.AddUser(t, store, accounts.NewAccount{Name: name})
	}
	for _, name := range []string{"аliсе", "ａlice", "Πетя", "Пeтя"} {
		_, err := store.Create(t.Context(), accounts.NewAccount{Name: name, Password: "correct horse"})
		accountstest.WantKind(t, fmt.Sprintf("Create(%s)", name), err, fault.Conflict)
	}
}

func TestCreateRejectsInvalidPasswords(t *testing.T) {
	store := accountstest.Open(t, t.TempDir())
	for _, password := range []string{"", "seven77", strings.Repeat("x", 1025), "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		_, err := store.Create(t.Context(), accounts.NewAccount{Name: "alice", Password: password})
		accountstest.WantKind(t, fmt.Sprintf("Create with password %.20q", password), err, fault.Invalid)
	}
}

func TestDeletedNamesStayTaken(t *testing.T) {
	store := accountstest.Open(t, t.TempDir())
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "alice", Groups: []string{"staff"}})
	_, err := store.Create(t.Context(), accounts.NewAccount{Name: "alice", Password: "another one"})
	accountstest.WantKind(t, "Create of a taken name", err, fault.Conflict)
	if err := store.Delete(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	_, err = store.Create(t.Context(), accounts.NewAccount{Name: "alice", Password: "another one"})
	accountstest.WantKind(t, "Create of a deleted user's name", err, fault.Conflict)
	_, err = store.Get(t.Context(), "alice")
	accountstest.WantKind(t, "Get of a deleted user", err, fault.NotFound)
	_, err = store.Authenticate(t.Context(), "alice", "correct horse")
	accountstest.WantKind(t, "Authenticate of a deleted user", err, fault.Unauthenticated)
	accountstest.WantKind(t, "Enable of a deleted user", store.Enable(t.Context(), "alice"), fault.NotFound)
}

func TestAuthenticate(t *testing.T) {
	ctx := t.Context()
	store := accountstest.Open(t, t.TempDir())
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "alice", Password: "caf\u00e9 au lait"})
	if account, err := store.Authenticate(ctx, "alice", "cafe\u0301 au lait"); err != nil || account.Name != "alice" {
		t.Errorf("Authenticate with the password in another normal form = %v, %v; want alice", account, err)
	}
	_, wrong := store.Authenticate(ctx, "alice", "cafe au lait")
	accountstest.WantKind(t, "wrong password", wrong, fault.Unauthenticated)
	for _, c := range []struct{ name, password string }{{"bob", "caf\u00e9 au lait"}, {"alice", ""}, {"", ""}, {"alice", strings.Repeat("x", 1<<20)}} {
		_, err := store.Authenticate(ctx, c.name, c.password)
		accountstest.WantKind(t, fmt.Sprintf("Authenticate(%q, %.20q)", c.name, c.password), err, fault.Unauthenticated)
		if err != nil && err.Error() != wrong.Error() {
			t.Errorf("Authenticate(%q, %.20q) = %q, want the error of a wrong password, %q", c.name, c.password, err, wrong)
		}
	}
	if err := store.Disable(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	_, err := store.Authenticate(ctx, "alice", "caf\u00e9 au lait")
	accountstest.WantKind(t, "disabled user", err, fault.Unauthenticated)
	if err := store.Enable(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	if err := store.SetPassword(ctx, "alice", "another one"); err != nil {
		t.Fatal(err)
	}
	_, err = store.Authenticate(ctx, "alice", "caf\u00e9 au lait")
	accountstest.WantKind(t, "old password", err, fault.Unauthenticated)
	if _, err := store.Authenticate(ctx, "alice", "another one"); err != nil {
		t.Errorf("Authenticate with the new password: %v", err)
	}
	accountstest.WantKind(t, "SetPassword of an unknown user", store.SetPassword(ctx, "bob", "another one"), fault.NotFound)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = store.Authenticate(canceled, "alice", "another one")
	accountstest.WantKind(t, "Authenticate after the context ended", err, fault.Canceled)
}

func TestEnsureAdmin(t *testing.T) {
	dir := t.TempDir()
	var (
		group     sync.WaitGroup
		mu        sync.Mutex
		passwords []string
	)
	for range 4 {
		store := accountstest.Open(t, dir)
		group.Go(func() {
			password, created, err := store.EnsureAdmin(t.Context(), nil)
			if err != nil {
				t.Error(err)
			}
			if created {
				mu.Lock()
				passwords = append(passwords, password)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(passwords) != 1 {
		t.Fatalf("%d callers created the admin, want 1", len(passwords))
	}
	store := accountstest.Open(t, dir)
	admin, err := store.Authenticate(t.Context(), "admin", passwords[0])
	if err != nil || !admin.Admin {
		t.Errorf("Authenticate with the password given = %+v, %v; want an administrator", admin, err)
	}
	if _, created, err := store.EnsureAdmin(t.Context(), nil); err != nil || created {
		t.Errorf("the second EnsureAdmin = created %v, %v; want false", created, err)
	}
}

func TestProcessesShareStore(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 4 { // four processes concurrently open a store that does not exist yet
		group.Go(func() {
			command := exec.CommandContext(t.Context(), os.Args[0])
			command.Env = append(os.Environ(), fmt.Sprintf("%s=%s|user%d", createIn, dir, i))
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
		})
	}
	store := accountstest.Open(t, dir)
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "user4"})
	group.Wait()
	all, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range all {
		names = append(names, a.Name)
	}
	if want := []string{"user0", "user1", "user2", "user3", "user4"}; !slices.Equal(names, want) {
		t.Errorf("List = %v, want %v", names, want)
	}
	if keys, err := store.Keys(t.Context()); err != nil || len(keys) != 1 {
		t.Errorf("Keys = %d keys, %v; want one that all processes use", len(keys), err)
	}
}

func TestNewestKeySigns(t *testing.T) {
	ctx := t.Context()
	store := accountstest.Open(t, t.TempDir())
	first, err := store.SigningKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, err := store.AddKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := store.SigningKey(ctx); err != nil || got.ID != second.ID || !got.Private.Equal(second.Private) {
		t.Errorf("SigningKey = %s, %v; want the newer %s", got.ID, err, second.ID)
	}
	keys, err := store.Keys(ctx)
	if err != nil || len(keys) != 2 || keys[1].ID != first.ID {
		t.Errorf("Keys = %d keys, %v; want both, the newest first", len(keys), err)
	}
	if err := store.DeleteKey(ctx, first.ID); err != nil {
		t.Error(err)
	}
	accountstest.WantKind(t, "DeleteKey again", store.DeleteKey(ctx, first.ID), fault.NotFound)
}

func TestOpenRejectsNewerStore(t *testing.T) {
	dir := t.TempDir()
	accountstest.Open(t, dir)
	setVersion := `PRAGMA user_version = 99`
	if accountstest.OnPostgres() {
		setVersion = `UPDATE version SET version = 99`
	}
	if _, err := accountstest.OpenDB(t, dir).ExecContext(t.Context(), setVersion); err != nil {
		t.Fatal(err)
	}
	_, err := accountstest.OpenEngine(t.Context(), dir)
	accountstest.WantKind(t, "Open of a store with a newer version", err, fault.Invalid)
}

func BenchmarkAuthenticate(b *testing.B) {
	store := accountstest.Open(b, b.TempDir())
	accountstest.AddUser(b, store, accounts.NewAccount{Name: "alice"})
	for b.Loop() {
		if _, err := store.Authenticate(b.Context(), "alice", "correct horse"); err != nil {
			b.Fatal(err)
		}
	}
}
