package control

import "context"

// NodeLease is the prefix of the names of the leases by which nodes show that they
// run.
const NodeLease = "node/"

// Served reports whether any node serves the shared read models.
func (c *Store) Served(ctx context.Context) (served bool, err error) {
	if !c.Shared() {
		return false, nil
	}
	err = c.db.Row(ctx, `SELECT EXISTS (SELECT 1 FROM leases WHERE name LIKE '`+NodeLease+`%' AND expires > `+c.clock+`)`).Scan(&served)
	return served, err
}
