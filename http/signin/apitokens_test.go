package signin_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/apitoken"
	"annals/http/signin/signintest"
)

func TestAPITokenActsAsAccount(t *testing.T) {
	s := signintest.New(t)
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "root", Admin: true})
	if _, err := s.Accounts.Create(t.Context(), accounts.NewAccount{Name: "ci", Groups: []string{"builders"}, Service: true}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user     string
		scope    apitoken.Scope
		group    string
		admin    bool
		readOnly bool
	}{
		{"ci", apitoken.Read, "group:builders", false, true}, {"ci", apitoken.Write, "group:builders", false, false},
		{"alice", apitoken.Read, "group:staff", false, true}, {"root", apitoken.Read, "", true, true}, {"root", apitoken.Write, "", true, false},
	} {
		token, id := s.Token(t, c.user, c.scope, time.Hour)
		for _, v := range []*signin.Verifier{s.Verifier, s.Verifier.For("http://annals.test/mcp")} {
			user, until, err := v.Verify(t.Context(), token)
			if err != nil || user.Principal.Name() != c.user || user.Admin != c.admin || user.ReadOnly != c.readOnly || user.Token != id || user.Via("vault") != "vault by token "+id {
				t.Errorf("Verify of a token of %s with scope %s = %+v, %v", c.user, c.scope, user, err)
			}
			if c.group != "" && (len(user.Groups) != 1 || string(user.Groups[0]) != c.group) {
				t.Errorf("the groups of %s are %v, want %s", c.user, user.Groups, c.group)
			}
			if d := until.Sub(s.Clock.Now()); d > time.Hour || d < time.Hour-time.Second {
				t.Errorf("the token of %s lasts %v, want an hour", c.user, d)
			}
		}
	}
	if err := s.Accounts.SetGroups(t.Context(), "ci", []string{"testers"}); err != nil {
		t.Fatal(err)
	}
	token, _ := s.Token(t, "ci", apitoken.Read, time.Hour)
	if user, _, err := s.Verifier.Verify(t.Context(), token); err != nil || len(user.Groups) != 1 || user.Groups[0] != "group:testers" {
		t.Errorf("Verify after the groups changed = %+v, %v; want group:testers", user, err)
	}
}

func TestAPITokenEndsOnAllNodes(t *testing.T) {
	s := signintest.New(t)
	ctx := t.Context()
	other := s // a second node on the same accounts
	other.Accounts = accountstest.Open(t, s.Dir)
	issuer, err := signin.NewIssuer(other.Accounts, signin.IssuerOptions{URL: s.Issuer.URL(), Now: s.Clock.Now})
	if err == nil {
		other.Verifier, err = signin.NewVerifier(signin.Options{BuiltIn: issuer, Now: s.Clock.Now})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Verifier.Close)
	for what, end := range map[string]func(id string) error{
		"revocation": func(id string) error { _, err := s.Accounts.RevokeToken(ctx, id); return err },
		"its expiry": func(string) error { s.Clock.Advance(time.Hour); return nil },
		"disabling its account": func(string) error {
			return errors.Join(s.Accounts.Disable(ctx, "alice"), s.Accounts.Enable(ctx, "alice"))
		},
		"a password change": func(string) error { return s.Accounts.SetPassword(ctx, "alice", "battery staple") },
		"deletion of expired rows": func(string) error {
			return s.Accounts.RemoveExpired(ctx, s.Clock.Now().Add(30*24*time.Hour+time.Hour+time.Minute))
		},
	} {
		token, id := s.Token(t, "alice", apitoken.Write, time.Hour)
		for _, node := range []signintest.BuiltIn{s, other} {
			if _, _, err := node.Verifier.Verify(ctx, token); err != nil {
				t.Fatalf("before %s: %v", what, err)
			}
		}
		if err := end(id); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		s.WantEnded(t, "the token after "+what, token)
		other.WantEnded(t, "the token on another node after "+what, token)
	}
	token, id := s.Token(t, "alice", apitoken.Write, time.Hour)
	if err := s.Accounts.Delete(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	s.WantEnded(t, "the token of a deleted account", token)
	_, err = s.Accounts.RevokeToken(ctx, id)
	accountstest.WantKind(t, "RevokeToken of a deleted account's token", err, fault.NotFound)
	_, _, err = s.Accounts.CreateToken(ctx, accounts.NewAPIToken{User: "alice", Scope: apitoken.Read, Lasts: time.Hour}, s.Clock.Now())
	accountstest.WantKind(t, "CreateToken for a deleted account", err, fault.NotFound)
}

func TestAPITokenIsStoredHashed(t *testing.T) {
	s := signintest.New(t)
	token, id := s.Token(t, "alice", apitoken.Read, time.Hour)
	var hash []byte
	if err := accountstest.OpenDB(t, s.Dir).QueryRow(`SELECT hash FROM tokens WHERE id = $1`, id).Scan(&hash); err != nil || len(hash) != 32 || bytes.Contains([]byte(token), hash) {
		t.Fatalf("the stored hash of %s is %x, %v; want 32 bytes that are not part of the token", id, hash, err)
	}
	want, _ := apitoken.Digest(token)
	if !bytes.Equal(hash, want) {
		t.Errorf("the hash is %x, want %x", hash, want)
	}
	stranger, _ := apitoken.New()
	for what, guess := range map[string]string{
		"the id": id, "the hash": base64.RawURLEncoding.EncodeToString(hash), "another token": stranger, "half of it": token[:len(token)/2],
		"more than it": token + "a", "the prefix": "annals_", "a text that is too long": "annals_" + strings.Repeat("a", 1<<20), "NUL": "annals_\x00",
	} {
		s.WantEnded(t, what, guess)
	}
}

func TestCreateTokenRejectsInvalid(t *testing.T) {
	s := signintest.New(t)
	good := accounts.NewAPIToken{User: "alice", Scope: apitoken.Read, Lasts: time.Hour}
	for what, c := range map[string]struct {
		change func(*accounts.NewAPIToken)
		kind   fault.Kind
	}{
		"for an unknown user":      {func(n *accounts.NewAPIToken) { n.User = "bob" }, fault.NotFound},
		"without a scope":          {func(n *accounts.NewAPIToken) { n.Scope = "" }, fault.Invalid},
		"with an unknown scope":    {func(n *accounts.NewAPIToken) { n.Scope = "admin" }, fault.Invalid},
		"with a lifetime too long": {func(n *accounts.NewAPIToken) { n.Lasts = 367 * 24 * time.Hour }, fault.Invalid},
		"without a lifetime":       {func(n *accounts.NewAPIToken) { n.Lasts = 0 }, fault.Invalid},
		"with a long note":         {func(n *accounts.NewAPIToken) { n.Note = strings.Repeat("a", 201) }, fault.Invalid},
		"with a line break":        {func(n *accounts.NewAPIToken) { n.Note = "a\nb" }, fault.Invalid},
		"with hidden characters":   {func(n *accounts.NewAPIToken) { n.Note = "a\u202eb" }, fault.Invalid},
	} {
		n := good
		c.change(&n)
		token, _, err := s.Accounts.CreateToken(t.Context(), n, s.Clock.Now())
		accountstest.WantKind(t, "CreateToken "+what, err, c.kind)
		if token != "" {
			t.Errorf("CreateToken %s returns the token %q with the error", what, token)
		}
	}
	for range accounts.MaxTokens {
		s.Token(t, "alice", apitoken.Read, time.Hour)
	}
	_, _, err := s.Accounts.CreateToken(t.Context(), good, s.Clock.Now())
	accountstest.WantKind(t, "CreateToken for an account with MaxTokens", err, fault.Conflict)
	s.Clock.Advance(2 * time.Hour)
	s.Token(t, "alice", apitoken.Read, time.Hour) // the others have expired
}
