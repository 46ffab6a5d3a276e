package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"annals/events/fault"
)

// SetGroups replaces the groups of a user. The change also takes effect for tokens that were
// issued before.
func (a *Store) SetGroups(ctx context.Context, name string, groups []string) error {
	groups, err := cleanGroups(groups)
	if err != nil {
		return err
	}
	return a.change(ctx, name, `groups = $2`, encodeGroups(groups), groupsChanged(groups))
}

// ChangeGroups adds a user to the groups in add and removes the user from the groups in
// remove. Concurrent calls do not overwrite each other's changes. The change also takes effect
// for tokens that were issued before. The error is Invalid if a group is in both lists.
func (a *Store) ChangeGroups(ctx context.Context, name string, add, remove []string) error {
	add, errAdd := cleanGroups(add)
	remove, errRemove := cleanGroups(remove)
	for _, err := range []error{errAdd, errRemove} {
		if err != nil {
			return err
		}
	}
	for _, g := range add {
		if slices.Contains(remove, g) {
			return fault.Errorf(fault.Invalid, "the group %q cannot be both added and removed", g)
		}
	}
	for {
		account, err := a.Get(ctx, name)
		if err != nil {
			return err
		}
		groups := slices.DeleteFunc(slices.Clone(account.Groups), func(g string) bool { return slices.Contains(remove, g) })
		if groups, err = cleanGroups(append(groups, add...)); err != nil {
			return err
		}
		done, err := a.replaceGroups(ctx, account, groups)
		if done || err != nil {
			return err
		}
	}
}

// replaceGroups sets the groups of a user if the stored groups are still those in account. It
// reports whether it set them.
func (a *Store) replaceGroups(ctx context.Context, account Account, groups []string) (done bool, err error) {
	done, err = a.changes(ctx, fmt.Sprintf("change the groups of user %q", account.Name),
		`UPDATE users SET groups = $1 WHERE name = $2 AND groups = $3 AND NOT deleted`, encodeGroups(groups), account.Name, encodeGroups(account.Groups))
	if err != nil || !done {
		return false, err
	}
	event := groupsChanged(groups)
	event.User = account.Name
	a.Report(ctx, event)
	return true, nil
}

func groupsChanged(groups []string) Event {
	return Event{Kind: UserChanged, Detail: "groups " + encodeGroups(groups)}
}

func encodeGroups(groups []string) string {
	text, err := json.Marshal(groups)
	if err != nil {
		panic(err) // unreachable, because strings can always be encoded
	}
	return string(text)
}
