package sqlite

import "context"

// OpenWith is Open with another pragma on the writer's connection.
func OpenWith(ctx context.Context, path, pragma string) (*Driver, error) {
	d, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	_, err = d.writer.conn.ExecContext(ctx, "PRAGMA "+pragma)
	return d, err
}

// QueryOfTypes is what ReadAll asks for n types.
var QueryOfTypes = queryOfTypes

// QueryHeldTypes is how ReadAll knows which types there are.
const QueryHeldTypes = queryHeldTypes
