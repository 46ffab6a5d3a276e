// Package projections keeps the registered read models up to date with the log, and
// serves reads of them. A Set has one Runner for each read model, which applies events in
// a loop, lets readers wait for a position, and switches to new generations.
//
// The package imports the packages below it and events, but not commands.
package projections

import (
	"context"

	"annals/events/sqldb"
	"annals/projections/readmodel"
	"annals/projections/tables"
)

// List returns all rows of a query. fields returns the scan destinations of a row.
func List[T any](ctx context.Context, from readmodel.Queryer, fields func(*T) []any, query string, args ...any) ([]T, error) {
	db, served := from.(*DB)
	var serving int
	if served {
		serving = db.r.Generation() // read before the query, so that corruption of an old generation is not attributed to a later one
	}
	all, err := sqldb.List(ctx, from, fields, query, args...)
	if served {
		db.r.notice(serving, err)
	}
	return all, tables.Classify(err)
}

// Column returns the text column of all rows of a query.
func Column(ctx context.Context, from readmodel.Queryer, query string, args ...any) ([]string, error) {
	return List(ctx, from, func(s *string) []any { return []any{s} }, query, args...)
}
