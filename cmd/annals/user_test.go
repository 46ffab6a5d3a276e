package main

import (
	"bytes"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
)

// account runs a command that changes accounts, such as annals user, on a data folder.
func account(t *testing.T, dir, input string, args ...string) (string, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetIn(strings.NewReader(input))
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append([]string{"--data", dir}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// signinFolder returns a data folder with the accounts of a stopped server, and a
// verifier of the tokens that the server issues.
func signinFolder(t *testing.T) (dir string, verifier *signin.Verifier) {
	t.Helper()
	dir = t.TempDir()
	store, err := accounts.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	urls := signin.URLs{Issuer: "http://annals.test/signin", Audience: "tests"}
	if err := signin.WriteURLs(dir, urls); err != nil {
		t.Fatal(err)
	}
	issuer, err := signin.NewIssuer(store, signin.IssuerOptions{URL: urls.Issuer, Audience: urls.Audience})
	if err != nil {
		t.Fatal(err)
	}
	if verifier, err = signin.NewVerifier(signin.Options{BuiltIn: issuer}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(verifier.Close)
	return dir, verifier
}

func TestUserCommands(t *testing.T) {
	dir, verifier := signinFolder(t)
	if _, err := account(t, dir, "correct horse\n", "user", "add", "alice", "--admin", "--group", "staff", "--group", "board"); err != nil {
		t.Fatal(err)
	}
	out, err := account(t, dir, "", "token", "alice")
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSuffix(out, "\n")
	user, _, err := verifier.Verify(t.Context(), token)
	if err != nil || user.Principal != "user:alice" || !user.Admin || len(user.Groups) != 2 {
		t.Errorf("Verify of the token = %+v, %v; want the administrator alice with two groups", user, err)
	}
	if out, err = account(t, dir, "", "user", "list"); err != nil || !strings.Contains(out, "alice") || !strings.Contains(out, "board, staff") {
		t.Errorf("user list = %q, %v; want alice with her groups", out, err)
	}
	if _, err := account(t, dir, "", "user", "disable", "alice"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := verifier.Verify(t.Context(), token); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("the token of a disabled user: %v, want it refused", err)
	}
	if _, err := account(t, dir, "", "token", "alice"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("token of a disabled user: %v, want forbidden", err)
	}
	if _, err := account(t, dir, "", "user", "enable", "alice"); err != nil {
		t.Fatal(err)
	}
	if _, err := account(t, dir, "battery staple\r\n", "user", "password", "alice"); err != nil {
		t.Fatal(err)
	}
	store, err := accounts.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Authenticate(t.Context(), "alice", "battery staple"); err != nil {
		t.Errorf("Authenticate with the new password: %v", err)
	}
}

func TestUserRightsChangeAtOnce(t *testing.T) {
	dir, verifier := signinFolder(t)
	if _, err := account(t, dir, "correct horse\n", "user", "add", "alice", "--group", "staff"); err != nil {
		t.Fatal(err)
	}
	out, err := account(t, dir, "", "token", "alice")
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSuffix(out, "\n")
	for _, c := range []struct {
		args, prints string
		want         events.User
	}{
		{"user groups alice", "staff\n", events.User{Groups: []events.Principal{"group:staff"}}},
		{"user groups alice board auditors", "auditors\nboard\n", events.User{Groups: []events.Principal{"group:auditors", "group:board"}}},
		{"user groups alice --add staff --remove board --remove auditors", "staff\n", events.User{Groups: []events.Principal{"group:staff"}}},
		{"user admin alice on", "user alice is an administrator now\n", events.User{Groups: []events.Principal{"group:staff"}, Admin: true}},
		{"user groups alice --remove staff", "", events.User{Admin: true}},
		{"user admin alice off", "user alice is an ordinary user now\n", events.User{}},
	} {
		c.want.Principal = "user:alice"
		if out, err := account(t, dir, "", strings.Fields(c.args)...); err != nil || out != c.prints {
			t.Errorf("%s prints %q, %v; want %q", c.args, out, err, c.prints)
		}
		if got, _, err := verifier.Verify(t.Context(), token); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("Verify after %s = %+v, %v; want %+v", c.args, got, err, c.want)
		}
	}
	if _, err := account(t, dir, "", "user", "delete", "alice"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := verifier.Verify(t.Context(), token); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("the token of a deleted user: %v, want it refused", err)
	}
	if _, err := account(t, dir, "correct horse\n", "user", "add", "alice"); !fault.Is(err, fault.Conflict) {
		t.Errorf("add of a deleted user: %v, want conflict", err)
	}
}

func TestUserCommandErrors(t *testing.T) {
	dir, _ := signinFolder(t)
	if _, err := account(t, dir, "correct horse", "user", "add", "alice"); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "nowhere")
	for _, c := range []struct {
		dir, input string
		args       string
		kind       fault.Kind
		says       string
	}{
		{missing, "correct horse", "user add bob", fault.NotFound, "run serve first, or pass --data"},
		{missing, "", "token alice", fault.NotFound, "run serve first, or pass --data"},
		{dir, "short", "user add bob", fault.Invalid, "at least 8 characters"},
		{dir, "", "user add bob", fault.Invalid, "the first line of standard input is empty"},
		{dir, "correct horse", "user add alice", fault.Conflict, "taken"},
		{dir, "correct horse", "user add a/b", fault.Invalid, `cannot contain "/"`},
		{dir, "", "user disable bob", fault.NotFound, `no user "bob"`},
		{dir, "", "user enable bob", fault.NotFound, "annals user list"},
		{dir, "correct horse", "user password bob", fault.NotFound, `no user "bob"`},
		{dir, "", "user groups bob", fault.NotFound, `no user "bob"`},
		{dir, "", "user groups bob staff", fault.NotFound, "annals user list"},
		{dir, "", "user groups bob --add staff", fault.NotFound, "annals user list"},
		{dir, "", "user groups alice --add a/b", fault.Invalid, `cannot contain "/"`},
		{dir, "", "user groups alice staff --add board", fault.Invalid, "either all groups of alice, or --add and --remove"},
		{dir, "", "user admin bob on", fault.NotFound, `no user "bob"`},
		{dir, "", "user admin alice yes", fault.Invalid, `"yes": must be on or off`},
		{dir, "", "user delete bob", fault.NotFound, `no user "bob"`},
		{dir, "", "token bob", fault.NotFound, `no user "bob"`},
	} {
		out, err := account(t, c.dir, c.input, strings.Fields(c.args)...)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v (%v), want %v saying %q", c.args, err, fault.KindOf(err), c.kind, c.says)
		}
		if out != "" {
			t.Errorf("%s prints %q, want only the error", c.args, out)
		}
	}
}
