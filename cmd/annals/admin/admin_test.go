package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/engine"
	"annals/events/fault"
	"annals/http/signin/accounts"
)

// openAccounts returns the accounts in a new data folder, with the user alice.
func openAccounts(t *testing.T) (*accounts.Store, engine.URLs) {
	t.Helper()
	urls := engine.URLs{Data: t.TempDir()}
	store, err := urls.OpenAccounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := store.Create(t.Context(), accounts.NewAccount{Name: "alice", Password: "correct horse", Groups: []string{"staff"}}); err != nil {
		t.Fatal(err)
	}
	return store, urls
}

func TestDoNeedsAccounts(t *testing.T) {
	_, urls := openAccounts(t)
	called := false
	note := func(_ context.Context, store *accounts.Store) error { called = store != nil; return nil }
	if err := (admin.Accounts{URLs: urls, Warn: io.Discard}).Do(t.Context(), note); err != nil || !called {
		t.Errorf("Do = %v, called %t; want a call", err, called)
	}
	for name, missing := range map[string]engine.URLs{
		"there are no accounts in the data folder": {Data: t.TempDir()},
		"there is no data folder at":               {Data: urls.Data + "/missing"},
		"there are no accounts at sqlite:":         {Data: urls.Data, Accounts: "sqlite://" + urls.Data + "/missing.db"},
	} {
		called = false
		if err := (admin.Accounts{URLs: missing, Warn: io.Discard}).Do(t.Context(), note); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), name) || called {
			t.Errorf("Do = %v, called %t; want a NotFound that printed %q", err, called, name)
		}
	}
}

func TestReadPasswordReadsFirstLine(t *testing.T) {
	for input, want := range map[string]string{"correct horse": "correct horse", "correct horse\r\nmore\n": "correct horse", " blanks \n": " blanks "} {
		if got, err := admin.ReadPassword(t.Context(), strings.NewReader(input), io.Discard); got != want || err != nil {
			t.Errorf("ReadPassword of %q = %q, %v; want %q", input, got, err, want)
		}
	}
	for _, input := range []string{"", "\ncorrect horse\n"} {
		if got, err := admin.ReadPassword(t.Context(), strings.NewReader(input), io.Discard); !fault.Is(err, fault.Invalid) {
			t.Errorf("ReadPassword of %q = %q, %v; want Invalid", input, got, err)
		}
	}
}

func TestCreateTokenChecksKindOfAccount(t *testing.T) {
	store, _ := openAccounts(t)
	token := accounts.NewAPIToken{Scope: "read", Lasts: time.Hour}
	var out, messages bytes.Buffer
	create := func(name string, service bool) error {
		out.Reset()
		messages.Reset()
		return admin.CreateToken(t.Context(), store, name, service, token, &out, &messages)
	}
	if err := create("ci", true); err != nil || !strings.HasPrefix(out.String(), "annals_") || !strings.HasPrefix(messages.String(), "created service ci\n") {
		t.Errorf("CreateToken of a new service = %v, printed %q and %q", err, &out, &messages)
	}
	for _, c := range []struct {
		name    string
		service bool
		want    fault.Kind
	}{{"bob", false, fault.NotFound}, {"alice", true, fault.Conflict}, {"ci", false, fault.Conflict}} {
		if err := create(c.name, c.service); !fault.Is(err, c.want) || out.Len() > 0 {
			t.Errorf("CreateToken(%q, service %t) = %v, printed %q; want %v", c.name, c.service, err, &out, c.want)
		}
	}
	all, err := store.Tokens(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	var shown struct {
		Name    string
		Expired bool
		Used    *time.Time `json:"last_used"`
	}
	if err := admin.PrintTokens(&out, all, time.Now().Add(2*time.Hour), true); err != nil || json.Unmarshal(out.Bytes(), &shown) != nil || shown.Name != "ci" || !shown.Expired || shown.Used != nil {
		t.Errorf("PrintTokens = %v, printed %q; want the expired, unused token of ci", err, &out)
	}
}

func TestChangeLimitsPrintsLimitsOfUser(t *testing.T) {
	store, _ := openAccounts(t)
	for _, c := range []struct {
		set   map[string]int64
		reset []string
		want  string
	}{
		{nil, nil, "user alice has the general limits; to show them: annals user show alice\n"},
		{map[string]int64{"bytes": 16 << 10, "folders": 0}, nil, "bytes    16 KiB\nfolders  unlimited\n"},
		{nil, []string{"folders"}, "bytes  16 KiB\n"},
	} {
		var out bytes.Buffer
		if err := admin.ChangeLimits(t.Context(), store, "alice", c.set, c.reset, &out); err != nil || out.String() != c.want {
			t.Errorf("ChangeLimits(%v, %v) = %v, printed %q; want %q", c.set, c.reset, err, &out, c.want)
		}
	}
	if err := admin.ChangeLimits(t.Context(), store, "bob", nil, nil, io.Discard); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "annals user list") {
		t.Errorf("ChangeLimits of a missing user = %v, want a NotFound with a hint", err)
	}
}

func TestFindUserOfOtherIssuer(t *testing.T) {
	store, _ := openAccounts(t)
	if u, err := admin.FindUser(t.Context(), store, "user:alice"); err != nil || u.Name != "alice" || u.Principal != "user:alice" || len(u.Groups) != 1 || u.Factors == nil {
		t.Errorf("FindUser(user:alice) = %+v, %v; want the account", u, err)
	}
	if u, err := admin.FindUser(t.Context(), store, "user:corp/eve"); err != nil || u.Name != "" || u.Principal != "user:corp/eve" || u.Factors != nil {
		t.Errorf("FindUser(user:corp/eve) = %+v, %v; want only the principal", u, err)
	}
	if u, err := admin.FindUser(t.Context(), store, "bob"); !fault.Is(err, fault.NotFound) {
		t.Errorf("FindUser(bob) = %+v, %v; want NotFound", u, err)
	}
}

func TestListUsersShowsRoles(t *testing.T) {
	store, _ := openAccounts(t)
	if err := store.RequireFactor(t.Context(), "alice", true); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), accounts.NewAccount{Name: "ci", Service: true}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := admin.ListUsers(t.Context(), store, &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) > 4 {
			got = append(got, strings.Join([]string{f[0], f[1], f[2], f[4]}, " "))
		}
	}
	if want := "alice user enabled required, ci service enabled none"; !strings.Contains(strings.Join(got, ", "), want) {
		t.Errorf("ListUsers printed\n%s\nwant %s", &out, want)
	}
}
