package engine_test

import (
	"strings"
	"testing"

	"annals/cmd/annals/engine"
	"annals/http/signin/accounts"
	"annals/queries/accesslog"
)

// A failed sign-in is recorded with the name that was entered but without an actor,
// because anybody can enter that name.
func TestSignInAccess(t *testing.T) {
	for kind, actor := range map[accounts.EventKind]string{accounts.SignedIn: "user:bob", accounts.SignInFailed: "", accounts.SignInRefused: "", accounts.FactorAdded: "user:bob"} {
		a := engine.SignInAccess(accounts.Event{Kind: kind, User: "bob", Address: "192.0.2.1", Detail: "x"}, "c")
		if string(a.User.Principal) != actor || a.Place != "user:bob" || a.Address != "192.0.2.1" || a.Correlation != "c" {
			t.Errorf("SignInAccess of %s = %+v", kind, a)
		}
	}
	if a := engine.SignInAccess(accounts.Event{Kind: accounts.SignInFailed, Address: "192.0.2.1"}, ""); a.Place != "" || a.Name != "" {
		t.Errorf("SignInAccess of an unknown name = %+v", a)
	}
	for _, kind := range []accounts.EventKind{accounts.SignedIn, accounts.SignInFailed, accounts.SignInRefused, accounts.SignedOut, accounts.ProgramAllowed, accounts.ProgramDenied,
		accounts.ProgramEnded, accounts.ProgramMisused, accounts.TokenIssued, accounts.TokenCreated, accounts.TokenRevoked, accounts.UserCreated, accounts.UserChanged, accounts.PasswordChanged, accounts.LinkCreated,
		accounts.FactorAdded, accounts.FactorRemoved, accounts.FactorsReset, accounts.FactorsRequired, accounts.RecoveryUsed, accounts.KeyAdded, accounts.KeyDeleted} {
		r := accesslog.Record{Kind: accesslog.KindOf(string(kind)), Count: 1, Name: "bob"}
		if said := r.Words(); said == strings.ToLower(said) && strings.HasSuffix(said, `: "bob"`) {
			t.Errorf("%s has no sentence: %q", kind, said)
		}
	}
}
