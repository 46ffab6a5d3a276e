// Package signintest sets up the built-in sign-in for tests: an account store with a user, its
// issuer and a verifier.
package signintest

import (
	"testing"
	"time"

	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/apitoken"
)

// BuiltIn is a built-in sign-in: an account store with the user alice in the group staff, an
// issuer, and a verifier of its tokens.
type BuiltIn struct {
	Dir      string
	Accounts *accounts.Store
	Issuer   *signin.Issuer
	Verifier *signin.Verifier
	Clock    *accountstest.Clock
}

// New returns a BuiltIn with a new store. Its base URL is http://annals.test.
func New(t testing.TB) BuiltIn { return NewAt(t, "http://annals.test") }

// NewAt is New with another base URL.
func NewAt(t testing.TB, host string) BuiltIn {
	t.Helper()
	dir := t.TempDir()
	s := NewOver(t, accountstest.Open(t, dir), host)
	s.Dir = dir
	return s
}

// NewOver is NewAt over a store that the caller has opened and closes.
func NewOver(t testing.TB, store *accounts.Store, host string) BuiltIn {
	t.Helper()
	s := BuiltIn{Accounts: store, Clock: accountstest.NewClock()}
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "alice", Groups: []string{"staff"}})
	var err error
	if s.Issuer, err = signin.NewIssuer(s.Accounts, signin.IssuerOptions{URL: host + "/signin", Tools: host + "/mcp", Now: s.Clock.Now}); err != nil {
		t.Fatal(err)
	}
	if s.Verifier, err = signin.NewVerifier(signin.Options{BuiltIn: s.Issuer, Now: s.Clock.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Verifier.Close)
	return s
}

// Issue issues an ID token for a user.
func (s BuiltIn) Issue(t testing.TB, name string) string {
	t.Helper()
	token, _, err := s.Issuer.Issue(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// Token creates an API token for an account, and returns the token and its id.
func (s BuiltIn) Token(t testing.TB, user string, scope apitoken.Scope, lasts time.Duration) (token, id string) {
	t.Helper()
	token, created, err := s.Accounts.CreateToken(t.Context(), accounts.NewAPIToken{User: user, Scope: scope, Note: "for tests", Lasts: lasts}, s.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token, created.ID
}

// WantEnded checks that neither the services nor the agents' tools accept a token.
func (s BuiltIn) WantEnded(t testing.TB, what, token string) {
	t.Helper()
	for _, v := range []*signin.Verifier{s.Verifier, s.Verifier.For("http://annals.test/mcp")} {
		user, _, err := v.Verify(t.Context(), token)
		accountstest.WantKind(t, what, err, fault.Unauthenticated)
		if user.Principal != "" {
			t.Errorf("Verify(%s) returns %s, want no user", what, user.Principal)
		}
	}
}
