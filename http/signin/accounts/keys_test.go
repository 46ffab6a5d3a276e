package accounts_test

import (
	"testing"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

func TestNodesAgreeOnSigningKey(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	nodes := []*accounts.Store{accountstest.Open(t, dir), accountstest.Open(t, dir)}
	var first [2]accounts.Key
	sign := func(i int) func() (bool, error) {
		return func() (_ bool, err error) {
			first[i], err = nodes[i].SigningKey(ctx)
			return true, err
		}
	}
	if accountstest.AtOnce(t, sign(0), sign(1)); first[0].ID != first[1].ID {
		t.Errorf("two nodes sign with %s and %s, want the same key", first[0].ID, first[1].ID)
	}
	// The key was created by another node whose clock is 20 s ahead.
	if _, err := accountstest.OpenDB(t, dir).ExecContext(ctx, `UPDATE keys SET created = created + 20000000`); err != nil {
		t.Fatal(err)
	}
	added, err := nodes[1].AddKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := nodes[0].SigningKey(ctx); err != nil || got.ID != added.ID {
		t.Errorf("SigningKey = %s, %v; want the key that was added last, %s", got.ID, err, added.ID)
	}
}
