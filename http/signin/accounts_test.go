package signin

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

	"go.uber.org/goleak"

	"annals/events/fault"
)

// createIn makes the test binary a second process that creates a user, given
// as "folder|name".
const createIn = "ANNALS_TEST_CREATE_IN"

func TestMain(m *testing.M) {
	if task := os.Getenv(createIn); task != "" {
		if err := createFromOutside(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Tests sign in often, and none is about what hashing costs.
	defaultCost = cost{memory: 64, time: 1, lanes: 1}
	goleak.VerifyTestMain(m)
}

func createFromOutside(task string) error {
	dir, name, _ := strings.Cut(task, "|")
	ctx := context.Background()
	accounts, err := openEngine(ctx, dir)
	if err != nil {
		return err
	}
	_, err = accounts.Create(ctx, NewAccount{Name: name, Password: "from outside"})
	if err == nil {
		_, err = accounts.SigningKey(ctx)
	}
	return errors.Join(err, accounts.Close())
}

func openAccounts(t testing.TB, dir string) *Accounts {
	t.Helper()
	makeEngine(t, dir)
	accounts, err := openEngine(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := accounts.Close(); err != nil {
			t.Error(err)
		}
	})
	return accounts
}

func addUser(t testing.TB, accounts *Accounts, n NewAccount) Account {
	t.Helper()
	if n.Password == "" {
		n.Password = "correct horse"
	}
	account, err := accounts.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return account
}

func wantKind(t testing.TB, what string, err error, want fault.Kind) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("%s: got error %v (%v), want one that is %v", what, err, fault.KindOf(err), want)
	}
}

func TestAccountIsReadBackAsCreated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%41&e")
	accounts := openAccounts(t, dir)
	if _, err := os.Stat(filepath.Join(dir, AccountsFile+"-wal")); !onPostgres() && err != nil {
		t.Fatal(err)
	}
	made := addUser(t, accounts, NewAccount{Name: " Zoe\u0308 ", Admin: true, Groups: []string{"staff", "archive", "staff"}})
	if want := "Zo\u00eb"; made.Name != want {
		t.Errorf("Create stored the name %q, want %q", made.Name, want)
	}
	got, err := openAccounts(t, dir).Get(t.Context(), "Zoe\u0308")
	if err != nil {
		t.Fatal(err)
	}
	if !got.Admin || got.Disabled || !got.Created.Equal(made.Created) || !slices.Equal(got.Groups, []string{"archive", "staff"}) {
		t.Errorf("Get = %+v, want %+v", got, made)
	}
}

func TestStoreIsForItsOwnerAlone(t *testing.T) {
	inFiles(t)
	dir := t.TempDir()
	path := filepath.Join(dir, AccountsFile)
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	accounts := openAccounts(t, dir)
	addUser(t, accounts, NewAccount{Name: "alice"})
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

func TestNamesThatCannotBe(t *testing.T) {
	accounts := openAccounts(t, t.TempDir())
	for _, name := range []string{"", "  ", ".", "..", "a/b", "a:b", "a\nb", "a\x00b", "a\u202eb", "a\u200bb", "\xff", strings.Repeat("x", 129), strings.Repeat("x", 1<<20)} {
		_, err := accounts.Create(t.Context(), NewAccount{Name: name, Password: "correct horse"})
		wantKind(t, fmt.Sprintf("Create(%.20q)", name), err, fault.Invalid)
		_, err = accounts.Create(t.Context(), NewAccount{Name: "alice", Password: "correct horse", Groups: []string{name}})
		wantKind(t, fmt.Sprintf("Create with group %.20q", name), err, fault.Invalid)
	}
	addUser(t, accounts, NewAccount{Name: strings.Repeat("x", 128)})
}

// A user's name is in principals, folders and answers: nobody gets one that is
// taken for another's.
func TestNamesThatLookLikeAnothers(t *testing.T) {
	accounts := openAccounts(t, t.TempDir())
	for _, name := range []string{"alice", "Петя", "al1ce", "alíce"} {
		addUser(t, accounts, NewAccount{Name: name})
	}
	for _, name := range []string{"аliсе", "ａlice", "Πетя", "Пeтя"} {
		_, err := accounts.Create(t.Context(), NewAccount{Name: name, Password: "correct horse"})
		wantKind(t, fmt.Sprintf("Create(%s)", name), err, fault.Conflict)
	}
}

func TestPasswordsThatCannotBe(t *testing.T) {
	accounts := openAccounts(t, t.TempDir())
	for _, password := range []string{"", "seven77", strings.Repeat("x", 1025), "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		_, err := accounts.Create(t.Context(), NewAccount{Name: "alice", Password: password})
		wantKind(t, fmt.Sprintf("Create with password %.20q", password), err, fault.Invalid)
	}
}

func TestNamesAreNeverGivenTwice(t *testing.T) {
	accounts := openAccounts(t, t.TempDir())
	addUser(t, accounts, NewAccount{Name: "alice", Groups: []string{"staff"}})
	_, err := accounts.Create(t.Context(), NewAccount{Name: "alice", Password: "another one"})
	wantKind(t, "Create of a taken name", err, fault.Conflict)
	if err := accounts.Delete(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	_, err = accounts.Create(t.Context(), NewAccount{Name: "alice", Password: "another one"})
	wantKind(t, "Create of a deleted user's name", err, fault.Conflict)
	_, err = accounts.Get(t.Context(), "alice")
	wantKind(t, "Get of a deleted user", err, fault.NotFound)
	_, err = accounts.Authenticate(t.Context(), "alice", "correct horse")
	wantKind(t, "Authenticate of a deleted user", err, fault.Unauthenticated)
	wantKind(t, "Enable of a deleted user", accounts.Enable(t.Context(), "alice"), fault.NotFound)
}

func TestAuthenticate(t *testing.T) {
	ctx := t.Context()
	accounts := openAccounts(t, t.TempDir())
	addUser(t, accounts, NewAccount{Name: "alice", Password: "caf\u00e9 au lait"})
	if account, err := accounts.Authenticate(ctx, "alice", "cafe\u0301 au lait"); err != nil || account.Name != "alice" {
		t.Errorf("Authenticate with the password composed otherwise = %v, %v; want alice", account, err)
	}
	_, wrong := accounts.Authenticate(ctx, "alice", "cafe au lait")
	wantKind(t, "wrong password", wrong, fault.Unauthenticated)
	for _, c := range []struct{ name, password string }{{"bob", "caf\u00e9 au lait"}, {"alice", ""}, {"", ""}, {"alice", strings.Repeat("x", 1<<20)}} {
		_, err := accounts.Authenticate(ctx, c.name, c.password)
		wantKind(t, fmt.Sprintf("Authenticate(%q, %.20q)", c.name, c.password), err, fault.Unauthenticated)
		if err != nil && err.Error() != wrong.Error() {
			t.Errorf("Authenticate(%q, %.20q) says %q, a wrong password %q: want the same", c.name, c.password, err, wrong)
		}
	}
	if err := accounts.Disable(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	_, err := accounts.Authenticate(ctx, "alice", "caf\u00e9 au lait")
	wantKind(t, "disabled user", err, fault.Unauthenticated)
	if err := accounts.Enable(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	if err := accounts.SetPassword(ctx, "alice", "another one"); err != nil {
		t.Fatal(err)
	}
	_, err = accounts.Authenticate(ctx, "alice", "caf\u00e9 au lait")
	wantKind(t, "old password", err, fault.Unauthenticated)
	if _, err := accounts.Authenticate(ctx, "alice", "another one"); err != nil {
		t.Errorf("Authenticate with the new password: %v", err)
	}
	wantKind(t, "SetPassword of nobody", accounts.SetPassword(ctx, "bob", "another one"), fault.NotFound)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = accounts.Authenticate(canceled, "alice", "another one")
	wantKind(t, "Authenticate after the context ended", err, fault.Canceled)
}

func TestOneAdminIsEnsured(t *testing.T) {
	dir := t.TempDir()
	var (
		group     sync.WaitGroup
		mu        sync.Mutex
		passwords []string
	)
	for range 4 {
		accounts := openAccounts(t, dir)
		group.Go(func() {
			password, created, err := accounts.EnsureAdmin(t.Context(), nil)
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
	accounts := openAccounts(t, dir)
	admin, err := accounts.Authenticate(t.Context(), "admin", passwords[0])
	if err != nil || !admin.Admin {
		t.Errorf("Authenticate with the password given = %+v, %v; want an administrator", admin, err)
	}
	if _, created, err := accounts.EnsureAdmin(t.Context(), nil); err != nil || created {
		t.Errorf("EnsureAdmin again = created %v, %v; want nothing done", created, err)
	}
}

func TestProcessesShareOneStore(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 4 { // all open a store that is not there yet
		group.Go(func() {
			command := exec.CommandContext(t.Context(), os.Args[0])
			command.Env = append(os.Environ(), fmt.Sprintf("%s=%s|user%d", createIn, dir, i))
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
		})
	}
	accounts := openAccounts(t, dir)
	addUser(t, accounts, NewAccount{Name: "user4"})
	group.Wait()
	all, err := accounts.List(t.Context())
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
	if keys, err := accounts.Keys(t.Context()); err != nil || len(keys) != 1 {
		t.Errorf("Keys = %d keys, %v; want the one that the processes agreed on", len(keys), err)
	}
}

func TestNewestKeySignsAndOldOnesStay(t *testing.T) {
	ctx := t.Context()
	accounts := openAccounts(t, t.TempDir())
	first, err := accounts.SigningKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, err := accounts.AddKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := accounts.SigningKey(ctx); err != nil || got.ID != second.ID || !got.Private.Equal(second.Private) {
		t.Errorf("SigningKey = %s, %v; want the newer %s", got.ID, err, second.ID)
	}
	keys, err := accounts.Keys(ctx)
	if err != nil || len(keys) != 2 || keys[1].ID != first.ID {
		t.Errorf("Keys = %d keys, %v; want both, the newest first", len(keys), err)
	}
	if err := accounts.DeleteKey(ctx, first.ID); err != nil {
		t.Error(err)
	}
	wantKind(t, "DeleteKey again", accounts.DeleteKey(ctx, first.ID), fault.NotFound)
}

func TestNewerStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	accounts := openAccounts(t, dir)
	setVersion := `PRAGMA user_version = 99`
	if onPostgres() {
		setVersion = `UPDATE version SET version = 99`
	}
	if _, err := accounts.db.ExecContext(t.Context(), setVersion); err != nil {
		t.Fatal(err)
	}
	_, err := openEngine(t.Context(), dir)
	wantKind(t, "OpenAccounts of a newer store", err, fault.Invalid)
}

func TestURLsAreReadBack(t *testing.T) {
	dir := t.TempDir()
	unset := DefaultURLs("h:1")
	if got, err := ReadURLs(dir, unset); err != nil || got != unset || got.Issuer != "http://h:1/signin" {
		t.Errorf("ReadURLs of an empty folder = %+v, %v; want the defaults", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, URLsFile+".new"), []byte("cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := URLs{Core: "http://h/core", Vault: "http://h/vault", MCP: "http://h/mcp", Issuer: "http://h/signin", Audience: "x"}
	if err := WriteURLs(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadURLs(dir, unset); err != nil || got != want {
		t.Errorf("ReadURLs = %+v, %v; want %+v", got, err, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("there are %v (%v), want one file", left, err)
	}
	if err := os.WriteFile(filepath.Join(dir, URLsFile), []byte(`{"core"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadURLs(dir, unset); err == nil {
		t.Errorf("ReadURLs of a damaged file = %+v, want an error", got)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	accounts := openAccounts(b, b.TempDir())
	addUser(b, accounts, NewAccount{Name: "alice"})
	for b.Loop() {
		if _, err := accounts.Authenticate(b.Context(), "alice", "correct horse"); err != nil {
			b.Fatal(err)
		}
	}
}
