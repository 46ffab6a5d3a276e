package usage

import (
	"context"
	"fmt"

	"annals/commands/quota"
	"annals/events"
	"annals/http/signin/accounts"
)

// Settings are the general limits, as serve is started with them.
type Settings struct {
	User, Folder quota.Limits // of one user, and of one top-level folder
	Others       []string     // limits of single principals, as quota.ParseOverride reads them
}

// Principals reads the limits of single principals.
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

// Overrides returns what looks up the limits of single users in their accounts.
func Overrides(store *accounts.Store) func(context.Context, events.Principal) (quota.Override, error) {
	return func(ctx context.Context, user events.Principal) (quota.Override, error) {
		set, err := store.Quota(ctx, user)
		o := make(quota.Override, len(set))
		for name, n := range set {
			if k, ok := quota.ParseKind(name); ok { // a newer program may know more
				o[k] = n
			}
		}
		return o, err
	}
}
