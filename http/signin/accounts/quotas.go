package accounts

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
	"annals/events/sqldb"
)

// Quota returns the limits that were set for a user, by name. It returns none for users
// without limits of their own and for principals of other issuers.
func (a *Store) Quota(ctx context.Context, user events.Principal) (map[string]int64, error) {
	name := user.Name()
	if !user.IsUser() || strings.Contains(name, "/") { // as those of other issuers have
		return nil, nil
	}
	var text string
	err := a.db.Row(ctx, `SELECT limits FROM quotas WHERE "user" = $1`, name).Scan(&text)
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

// ChangeQuota sets limits of a user, and resets those in back to the general ones. Concurrent
// changes are kept. It returns all limits of the user.
func (a *Store) ChangeQuota(ctx context.Context, name string, set map[string]int64, back []string) (now map[string]int64, err error) {
	account, err := a.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	err = a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Lock(ctx); err != nil {
			return err
		}
		// The write locks the row until the end of the transaction.
		if _, err := tx.Exec(ctx, `INSERT INTO quotas ("user", limits) VALUES ($1, '{}') ON CONFLICT DO NOTHING`, account.Name); err != nil {
			return err
		}
		var text string
		if err := tx.Row(ctx, `SELECT limits FROM quotas WHERE "user" = $1`, account.Name).Scan(&text); err != nil {
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
			_, err = tx.Exec(ctx, `UPDATE quotas SET limits = $2 WHERE "user" = $1`, account.Name, string(changed))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change the limits of user %q: %w", name, err)
	}
	a.Report(ctx, Event{Kind: UserChanged, User: account.Name, Detail: "limits"})
	return now, nil
}
