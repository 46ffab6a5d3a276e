package signin

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"annals/events"
)

// Quota returns the limits that were set for a user, by their names; none for
// users who have the general ones, and for principals of other issuers.
func (a *Accounts) Quota(ctx context.Context, user events.Principal) (map[string]int64, error) {
	name := user.Name()
	if !user.IsUser() || strings.Contains(name, "/") { // as those of other issuers have
		return nil, nil
	}
	var text string
	err := a.db.row(ctx, `SELECT limits FROM quotas WHERE "user" = $1`, name).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var limits map[string]int64
	if err == nil {
		err = json.Unmarshal([]byte(text), &limits)
	}
	if err != nil {
		return nil, fmt.Errorf("read the limits of user %q: %w", name, err)
	}
	return limits, nil
}

// ChangeQuota sets limits of a user, and takes others back, which are the
// general ones then. What others change at the same moment is kept.
func (a *Accounts) ChangeQuota(ctx context.Context, name string, set map[string]int64, back []string) (now map[string]int64, err error) {
	account, err := a.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	err = a.db.together(ctx, func(ctx context.Context, tx *transaction) error {
		if err := tx.keepOut(ctx); err != nil {
			return err
		}
		// Written first, so that nobody else changes it until the end.
		if _, err := tx.exec(ctx, `INSERT INTO quotas ("user", limits) VALUES ($1, '{}') ON CONFLICT DO NOTHING`, account.Name); err != nil {
			return err
		}
		var text string
		if err := tx.QueryRowContext(ctx, `SELECT limits FROM quotas WHERE "user" = $1`, account.Name).Scan(&text); err != nil {
			return err
		}
		now = make(map[string]int64)
		if err := json.Unmarshal([]byte(text), &now); err != nil {
			return err
		}
		maps.Copy(now, set)
		maps.DeleteFunc(now, func(kind string, _ int64) bool { return slices.Contains(back, kind) })
		changed, err := json.Marshal(now)
		if err == nil {
			_, err = tx.exec(ctx, `UPDATE quotas SET limits = $2 WHERE "user" = $1`, account.Name, string(changed))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change the limits of user %q: %w", name, err)
	}
	a.observe(ctx, Event{Kind: UserChanged, User: account.Name, Detail: "limits"})
	return now, nil
}
