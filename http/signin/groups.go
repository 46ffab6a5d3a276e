package signin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"annals/events/fault"
)

// SetGroups replaces the groups of a user; it holds for tokens that are out.
func (a *Accounts) SetGroups(ctx context.Context, name string, groups []string) error {
	groups, err := cleanGroups(groups)
	if err != nil {
		return err
	}
	return a.change(ctx, name, `groups = $2`, encodeGroups(groups), groupsChanged(groups))
}

// ChangeGroups puts a user into groups and takes him out of others; it holds
// for tokens that are out. What others change at the same moment is kept. A
// group on both lists is Invalid.
func (a *Accounts) ChangeGroups(ctx context.Context, name string, add, remove []string) error {
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

// replaceGroups gives a user other groups, unless his are no longer those of
// account.
func (a *Accounts) replaceGroups(ctx context.Context, account Account, groups []string) (done bool, err error) {
	changed, err := a.db.exec(ctx, `UPDATE users SET groups = $1 WHERE name = $2 AND groups = $3 AND NOT deleted`,
		encodeGroups(groups), account.Name, encodeGroups(account.Groups))
	if err != nil {
		return false, fmt.Errorf("change the groups of user %q: %w", account.Name, err)
	}
	if changed == 0 {
		return false, nil
	}
	event := groupsChanged(groups)
	event.User = account.Name
	a.observe(ctx, event)
	return true, nil
}

func groupsChanged(groups []string) Event {
	return Event{Kind: UserChanged, Detail: "groups " + encodeGroups(groups)}
}

func encodeGroups(groups []string) string {
	text, err := json.Marshal(groups)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(text)
}
