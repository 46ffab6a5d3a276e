package accounts_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

func TestChangeGroups(t *testing.T) {
	ctx := t.Context()
	store := accountstest.Open(t, t.TempDir())
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "alice", Groups: []string{"staff", "board"}})
	for _, c := range []struct{ add, remove, want []string }{
		{nil, nil, []string{"board", "staff"}},
		{[]string{" Cafe\u0301 ", "staff"}, nil, []string{"Caf\u00e9", "board", "staff"}},
		{[]string{"archive"}, []string{"staff", "nowhere"}, []string{"Caf\u00e9", "archive", "board"}},
		{nil, []string{"Cafe\u0301", "archive", "board"}, nil},
	} {
		if err := store.ChangeGroups(ctx, "alice", c.add, c.remove); err != nil {
			t.Errorf("ChangeGroups(+%q, -%q): %v", c.add, c.remove, err)
		}
		if account, err := store.Get(ctx, "alice"); err != nil || !slices.Equal(account.Groups, c.want) {
			t.Errorf("after ChangeGroups(+%q, -%q) alice is in %q, %v; want %q", c.add, c.remove, account.Groups, err, c.want)
		}
	}
	for what, c := range map[string]struct {
		name        string
		add, remove []string
		want        fault.Kind
	}{
		"ChangeGroups of an unknown user":            {"bob", []string{"staff"}, nil, fault.NotFound},
		"ChangeGroups to an invalid group":           {"alice", []string{"a/b"}, nil, fault.Invalid},
		"ChangeGroups that adds and removes a group": {"alice", []string{"staff"}, []string{" staff"}, fault.Invalid},
	} {
		accountstest.WantKind(t, what, store.ChangeGroups(ctx, c.name, c.add, c.remove), c.want)
	}
}

func TestChangeGroupsBoundsNumber(t *testing.T) {
	store := accountstest.Open(t, t.TempDir())
	groups := make([]string, accounts.MaxGroups)
	for i := range groups {
		groups[i] = fmt.Sprintf("group %d", i)
	}
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "alice", Groups: groups})
	accountstest.WantKind(t, "ChangeGroups with one too many", store.ChangeGroups(t.Context(), "alice", []string{"one more"}, nil), fault.Invalid)
	if err := store.ChangeGroups(t.Context(), "alice", []string{"one more"}, []string{"group 7"}); err != nil {
		t.Errorf("ChangeGroups that replaces one of the maximum number of groups: %v", err)
	}
	got, err := store.Get(t.Context(), "alice")
	if err != nil || len(got.Groups) != accounts.MaxGroups || !slices.Contains(got.Groups, "one more") || slices.Contains(got.Groups, "group 7") {
		t.Errorf("alice is in %d groups, %v; want %d, with \"one more\" in place of \"group 7\"", len(got.Groups), err, accounts.MaxGroups)
	}
}

func TestConcurrentChangeGroups(t *testing.T) {
	dir := t.TempDir()
	accountstest.AddUser(t, accountstest.Open(t, dir), accounts.NewAccount{Name: "alice"})
	var group sync.WaitGroup
	const each = 8
	for i := range 4 {
		store := accountstest.Open(t, dir)
		group.Go(func() {
			for j := range each {
				if err := store.ChangeGroups(t.Context(), "alice", []string{fmt.Sprintf("group %d %d", i, j)}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	account, err := accountstest.Open(t, dir).Get(t.Context(), "alice")
	if err != nil || len(account.Groups) != 4*each {
		t.Errorf("alice is in %d groups, %v; want all %d", len(account.Groups), err, 4*each)
	}
}
