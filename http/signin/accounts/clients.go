package accounts

import (
	"context"
	"time"
)

// Client returns the metadata of a registered client, as passed to AddClient.
func (a *Store) Client(ctx context.Context, id string) (metadata []byte, found bool, err error) {
	err = a.db.Row(ctx, `SELECT metadata FROM clients WHERE id = $1`, id).Scan(&metadata)
	found, err = isFound(err, "read a client")
	return metadata, found, err
}

// MaxClients is the maximum number of registered clients.
const MaxClients = 20_000

// AddClient stores a client that registered itself. If there are already MaxClients, it
// deletes clients that are not in use: first clients to which no user ever signed in, then
// clients without a valid grant. added is false if all clients are in use.
func (a *Store) AddClient(ctx context.Context, id string, metadata []byte, address string, now time.Time) (added bool, err error) {
	origin, err := a.origin(ctx, address)
	if err != nil {
		return false, err
	}
	for _, evictable := range []string{`used = 0`, `NOT EXISTS (SELECT 1 FROM grants WHERE grants.client = clients.id)`, ``} {
		added, err := a.changes(ctx, "store a client", `
			INSERT INTO clients (id, metadata, created, origin) SELECT $1, $2, $3, $4 WHERE (SELECT count(*) FROM clients) < $5`,
			id, string(metadata), now.UnixMicro(), origin, MaxClients)
		if added || evictable == "" || err != nil {
			return added, err
		}
		if _, err := a.evict(ctx, "clients", "id", "created", evictable); err != nil {
			return false, err
		}
	}
	return false, nil
}
