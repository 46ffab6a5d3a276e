package sqlite

import "context"

// OpenWith is Open with an additional pragma on the writer's connection.
func OpenWith(ctx context.Context, path, pragma string) (*Driver, error) {
	d, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	_, err = d.writer.conn.ExecContext(ctx, "PRAGMA "+pragma)
	return d, err
}

// QueryOfTypes returns the query of ReadAll for n types.
var QueryOfTypes = queryOfTypes

// QueryTypes is the query for all event types in the log.
const QueryTypes = queryTypes
