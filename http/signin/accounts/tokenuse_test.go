package accounts_test

import (
	"testing"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/apitoken"
)

func TestFindTokenRecordsUse(t *testing.T) {
	store, clock := accountstest.Open(t, t.TempDir()), accountstest.NewClock()
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "alice"})
	token, made, err := store.CreateToken(t.Context(), accounts.NewAPIToken{User: "alice", Scope: apitoken.Read, Note: "for tests", Lasts: 24 * time.Hour}, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	used := func() time.Time {
		t.Helper()
		store.WaitForUses()
		all, err := store.Tokens(t.Context(), "alice")
		if err != nil || len(all) != 1 || all[0].ID != made.ID || all[0].Scope != apitoken.Read || all[0].Note != "for tests" || all[0].Service {
			t.Fatalf("Tokens = %+v, %v", all, err)
		}
		return all[0].Used
	}
	if u := used(); !u.IsZero() {
		t.Errorf("an unused token has the last use %v, want none", u)
	}
	var last time.Time
	for i, c := range []struct {
		later  time.Duration
		stored bool
	}{{0, true}, {10 * time.Second, false}, {accounts.TokenUses, true}, {accounts.TokenUses / 2, false}} {
		clock.Advance(c.later)
		for range 3 {
			if _, _, found, err := store.FindToken(t.Context(), token, clock.Now()); err != nil || !found {
				t.Fatal(found, err)
			}
		}
		now := used()
		if now.After(last) != c.stored || c.stored && now.Sub(clock.Now()).Abs() > time.Second {
			t.Errorf("after use %d at %v the last use is %v, before it %v; want it stored: %t", i, clock.Now(), now, last, c.stored)
		}
		last = now
	}
}
