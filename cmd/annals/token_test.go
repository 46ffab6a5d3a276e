package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"annals/events/fault"
)

// tokens runs annals token or annals user on a data folder. out is the standard output,
// told the standard error.
func tokens(t *testing.T, dir string, args ...string) (out, told string, err error) {
	t.Helper()
	root := rootCommand()
	var stdout, stderr bytes.Buffer
	root.SetIn(strings.NewReader("correct horse\n"))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(append([]string{"--data", dir}, args...))
	err = root.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func TestAPITokenCommands(t *testing.T) {
	dir, verifier := signinFolder(t)
	form := regexp.MustCompile(`^annals_[0-9A-Za-z]{40}\n$`)
	if _, _, err := tokens(t, dir, "user", "add", "alice", "--admin"); err != nil {
		t.Fatal(err)
	}
	out, told, err := tokens(t, dir, "token", "create", "ci", "--for", "service", "--scope", "write", "--expires", "30d", "--note", "nightly upload")
	if err != nil || !form.MatchString(out) || !strings.Contains(told, "created service ci") || !strings.Contains(told, "scope write") || strings.Contains(told, strings.TrimSpace(out)) {
		t.Fatalf("token create = %q, %q, %v", out, told, err)
	}
	write := strings.TrimSpace(out)
	if user, _, err := verifier.Verify(t.Context(), write); err != nil || user.Principal != "user:ci" || user.ReadOnly {
		t.Errorf("Verify of the token = %+v, %v", user, err)
	}
	out, told, err = tokens(t, dir, "token", "create", "alice")
	if err != nil || !form.MatchString(out) || !strings.Contains(told, "scope read") || !strings.Contains(told, "is an administrator") {
		t.Fatalf("token create of a user = %q, %q, %v", out, told, err)
	}
	if user, _, err := verifier.Verify(t.Context(), strings.TrimSpace(out)); err != nil || !user.Admin || !user.ReadOnly {
		t.Errorf("Verify of the token = %+v, %v", user, err)
	}
	list, _, err := tokens(t, dir, "token", "list")
	if lines := strings.Split(strings.TrimSpace(list), "\n"); err != nil || len(lines) != 3 || strings.Contains(list, "annals_") || !strings.Contains(lines[2], "service") || !strings.Contains(lines[2], "nightly upload") {
		t.Errorf("token list = %s, %v", list, err)
	}
	if users, _, err := tokens(t, dir, "user", "list"); err != nil || !regexp.MustCompile(`(?m)^ci +service +enabled`).MatchString(users) {
		t.Errorf("user list = %s, %v", users, err)
	}
	list, _, err = tokens(t, dir, "token", "list", "ci", "--json")
	var shown struct {
		ID, Name, Scope  string
		Service, Expired bool
	}
	if err != nil || json.Unmarshal([]byte(list), &shown) != nil || shown.Name != "ci" || !shown.Service || shown.Scope != "write" || shown.Expired {
		t.Fatalf("token list --json = %s, %v", list, err)
	}
	if out, _, err = tokens(t, dir, "token", "revoke", shown.ID); err != nil || !strings.Contains(out, "revoked token "+shown.ID+" of ci") {
		t.Errorf("token revoke = %q, %v", out, err)
	}
	if _, _, err := verifier.Verify(t.Context(), write); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a token that was revoked: %v", err)
	}
}

// annals token NAME must work even if a user has the name of a subcommand of token.
func TestTokenOfUserNamedAsCommand(t *testing.T) {
	dir, verifier := signinFolder(t)
	for _, name := range []string{"create", "list", "revoke"} {
		if _, _, err := tokens(t, dir, "user", "add", name); err != nil {
			t.Fatal(err)
		}
		out, _, err := tokens(t, dir, "token", "--", name)
		if err != nil {
			t.Errorf("token -- %s: %v", name, err)
			continue
		}
		if user, _, err := verifier.Verify(t.Context(), strings.TrimSpace(out)); err != nil || user.Principal.Name() != name {
			t.Errorf("token -- %s: got a token of %+v, %v", name, user, err)
		}
		if out, _, err = tokens(t, dir, "token", "create", name); err != nil || !strings.HasPrefix(out, "annals_") {
			t.Errorf("token create %s = %q, %v", name, out, err)
		}
	}
}

func TestTokenCommandErrors(t *testing.T) {
	dir, _ := signinFolder(t)
	for _, args := range []string{"user add alice", "token create ci --for service"} {
		if _, _, err := tokens(t, dir, strings.Fields(args)...); err != nil {
			t.Fatal(err)
		}
	}
	for args, says := range map[string]string{
		"token create bob":                                     "--for service creates a service account for a program",
		"token create alice --for service":                     "is a user, not a service",
		"token create ci":                                      "add --for service",
		"token create alice --for robot":                       "must be user or service",
		"token create alice --scope admin":                     "neither read nor write",
		"token create alice --expires never":                   "every token expires",
		"token create alice --expires 367d":                    "from 1m to 366d",
		"token create alice --expires soon":                    "is not a duration",
		"token create a/b --for service":                       `cannot contain "/"`,
		"token list bob":                                       `no user "bob"`,
		"token revoke t-none":                                  "annals token list",
		"token revoke annals_" + "x":                           "not its id",
		"user password ci":                                     "which has no password",
		"user link ci":                                         "which has no password",
		"token":                                                "NAME is missing: annals token NAME",
		"token create":                                         "NAME is missing: annals token create NAME",
		"token creat bob":                                      `unexpected argument "bob": annals token NAME; did you mean annals token create?`,
		"token create alice --note \u202efor-evil":             "must be a line of text",
		"token create svc --for service --note \u202efor-evil": "must be a line of text",
	} {
		if out, _, err := tokens(t, dir, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), says) || out != "" {
			t.Errorf("%s = %q, %v; want an error saying %q", args, out, err, says)
		}
	}
	if users, _, err := tokens(t, dir, "user", "list"); err != nil || strings.Contains(users, "svc") {
		t.Errorf("users after a failed token create: got %s, %v, want no new service account", users, err)
	}
}
