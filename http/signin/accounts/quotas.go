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

// Quota returns the limits that operators have set for a user, keyed by the name of the limit.
// It returns nil if there are none, or if the user belongs to an external issuer.
func (a *Store) Quota(ctx context.Context, user events.Principal) (map[string]int64, error) {
	name := user.Name()
	if !user.IsUser() || strings.Contains(name, "/") { // external issuers' principals contain a slash
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

// ChangeQuota sets the limits in set for a user. The limits named in reset are removed, so
// that the limits for all users apply again. It returns the user's resulting limits.
// Concurrent calls do not overwrite each other's changes.
func (a *Store) ChangeQuota(ctx context.Context, name string, set map[string]int64, reset []string) (limits map[string]int64, err error) {
	account, err := a.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	err = a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Lock(ctx); err != nil {
			return err
		}
		// The INSERT makes sure that there is a row to read and to update.
		if _, err := tx.Exec(ctx, `INSERT INTO quotas ("user", limits) VALUES ($1, '{}') ON CONFLICT DO NOTHING`, account.Name); err != nil {
			return err
		}
		var text string
		if err := tx.Row(ctx, `SELECT limits FROM quotas WHERE "user" = $1`, account.Name).Scan(&text); err != nil {
			return err
		}
		limits = make(map[string]int64)
		if err := json.Unmarshal([]byte(text), &limits); err != nil {
			return err
		}
		maps.Copy(limits, set)
		maps.DeleteFunc(limits, func(kind string, _ int64) bool { return slices.Contains(reset, kind) })
		changed, err := json.Marshal(limits)
		if err == nil {
			_, err = tx.Exec(ctx, `UPDATE quotas SET limits = $2 WHERE "user" = $1`, account.Name, string(changed))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change the limits of user %q: %w", name, err)
	}
	a.Report(ctx, Event{Kind: UserChanged, User: account.Name, Detail: "limits"})
	return limits, nil
}
