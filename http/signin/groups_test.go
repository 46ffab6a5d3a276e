package signin

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"annals/events/fault"
)

func TestGroupsAreAddedAndRemoved(t *testing.T) {
	ctx := t.Context()
	accounts := openAccounts(t, t.TempDir())
	addUser(t, accounts, NewAccount{Name: "alice", Groups: []string{"staff", "board"}})
	for _, c := range []struct{ add, remove, want []string }{
		{nil, nil, []string{"board", "staff"}},
		{[]string{" Cafe\u0301 ", "staff"}, nil, []string{"Caf\u00e9", "board", "staff"}},
		{[]string{"archive"}, []string{"staff", "nowhere"}, []string{"Caf\u00e9", "archive", "board"}},
		{nil, []string{"Cafe\u0301", "archive", "board"}, nil},
	} {
		got, err := accounts.ChangeGroups(ctx, "alice", c.add, c.remove)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("ChangeGroups(+%q, -%q) = %q, %v; want %q", c.add, c.remove, got, err, c.want)
		}
		if account, err := accounts.Get(ctx, "alice"); err != nil || !slices.Equal(account.Groups, c.want) {
			t.Errorf("after ChangeGroups(+%q, -%q) alice is in %q, %v; want %q", c.add, c.remove, account.Groups, err, c.want)
		}
	}
	_, err := accounts.ChangeGroups(ctx, "bob", []string{"staff"}, nil)
	wantKind(t, "ChangeGroups of nobody", err, fault.NotFound)
	_, err = accounts.ChangeGroups(ctx, "alice", []string{"a/b"}, nil)
	wantKind(t, "ChangeGroups to a group that cannot be", err, fault.Invalid)
	_, err = accounts.ChangeGroups(ctx, "alice", []string{"staff"}, []string{" staff"})
	wantKind(t, "ChangeGroups that adds and removes a group", err, fault.Invalid)
}

func TestTheNumberOfGroupsIsBoundedWhenSomeAreAdded(t *testing.T) {
	accounts := openAccounts(t, t.TempDir())
	groups := make([]string, maxGroups)
	for i := range groups {
		groups[i] = fmt.Sprintf("group %d", i)
	}
	addUser(t, accounts, NewAccount{Name: "alice", Groups: groups})
	_, err := accounts.ChangeGroups(t.Context(), "alice", []string{"one more"}, nil)
	wantKind(t, "ChangeGroups with one too many", err, fault.Invalid)
	got, err := accounts.ChangeGroups(t.Context(), "alice", []string{"one more"}, []string{"group 7"})
	if err != nil || len(got) != maxGroups || !slices.Contains(got, "one more") {
		t.Errorf("ChangeGroups of one for another = %d groups, %v; want %d", len(got), err, maxGroups)
	}
}

func TestGroupsThatAreAddedAtOnceAreAllKept(t *testing.T) {
	dir := t.TempDir()
	addUser(t, openAccounts(t, dir), NewAccount{Name: "alice"})
	var group sync.WaitGroup
	const each = 8
	for i := range 4 {
		accounts := openAccounts(t, dir)
		group.Go(func() {
			for j := range each {
				if _, err := accounts.ChangeGroups(t.Context(), "alice", []string{fmt.Sprintf("group %d %d", i, j)}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	account, err := openAccounts(t, dir).Get(t.Context(), "alice")
	if err != nil || len(account.Groups) != 4*each {
		t.Errorf("alice is in %d groups, %v; want all %d", len(account.Groups), err, 4*each)
	}
}
