package accounts

import (
	"context"
	"encoding/json"
	"time"
)

// Bearer is what the store knows about the claims of a token: the user's account, the signing
// key and the grant.
type Bearer struct {
	Account
	KeyKnown   bool // whether the key that signed the token still exists
	GrantValid bool // whether the grant or API token that the token was issued for still exists; true if the token names none
}

// lookup is the query of the method Bearer. It runs for every request.
const lookup = `
	SELECT admin, groups, disabled, EXISTS (SELECT 1 FROM keys WHERE id = $2),
		$3 = '' OR EXISTS (SELECT 1 FROM grants WHERE id = $3) OR EXISTS (SELECT 1 FROM tokens WHERE id = $3 AND "user" = $1 AND expires > $4)
	FROM users WHERE name = $1 AND NOT deleted`

// Bearer returns the account of the user name, and whether the signing key and the grant of a
// token still exist. found is false if there is no such user.
func (a *Store) Bearer(ctx context.Context, name, keyID, grant string, now time.Time) (s Bearer, found bool, err error) {
	var groups []byte
	s.Name = name
	err = a.lookup.Row(ctx, name, keyID, grant, now.UnixMicro()).Scan(&s.Admin, &groups, &s.Disabled, &s.KeyKnown, &s.GrantValid)
	if err == nil {
		err = json.Unmarshal(groups, &s.Groups)
	}
	found, err = isFound(err, "look up user "+name)
	return s, found, err
}
