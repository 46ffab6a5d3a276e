package usage

import (
	"context"
	"fmt"

	"annals/commands/quota"
	"annals/events"
	"annals/http/signin/accounts"
)

// Settings are the general limits, as set by flags.
type Settings struct {
	User, Folder quota.Limits // limits of each user, and of each top-level folder
	Others       []string     // limits of single users of other issuers; see quota.ParseOverride
}

// Principals parses Others.
func (s *Settings) Principals() (map[events.Principal]quota.Override, error) {
	all := make(map[events.Principal]quota.Override)
	for _, text := range s.Others {
		p, o, err := quota.ParseOverride(text)
		if err != nil {
			return nil, fmt.Errorf("--quota-for: %w", err)
		}
		all[p] = o
	}
	return all, nil
}

// Overrides returns a function that reads the limits that are set in a user's account.
func Overrides(store *accounts.Store) func(context.Context, events.Principal) (quota.Override, error) {
	return func(ctx context.Context, user events.Principal) (quota.Override, error) {
		set, err := store.Quota(ctx, user)
		o := make(quota.Override, len(set))
		for name, n := range set {
			if k, ok := quota.ParseKind(name); ok { // ignore kinds that only a newer version knows
				o[k] = n
			}
		}
		return o, err
	}
}
