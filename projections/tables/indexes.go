package tables

import (
	"context"
	"fmt"
	"regexp"

	"annals/events"
	"annals/events/sqldb"
)

// Checkpoint is Store.Checkpoint.
func (s *postgresStore) Checkpoint(ctx context.Context) (p events.Position, err error) {
	err = s.Reads().QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, err
}

// PrepareFill makes commits return before they are on disk. If a crash loses the last
// commits, it also loses their checkpoint, and the rebuild applies the events again.
func (s *postgresStore) PrepareFill(ctx context.Context) error {
	return s.Exec(ctx, "SET synchronous_commit = off")
}

var indexName = regexp.MustCompile(`INDEX IF NOT EXISTS (\w+)`)

// MakeIndexes is Store.MakeIndexes. It also updates the planner's statistics.
func (s *postgresStore) MakeIndexes(ctx context.Context, model string) error {
	text, err := indexesOf(postgresSQL, model)
	missing := false
	for _, name := range indexName.FindAllStringSubmatch(text, -1) {
		var there bool
		if err == nil {
			err = s.Reads().QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, s.schema+"."+name[1]).Scan(&there)
		}
		missing = missing || !there
	}
	if err == nil && missing {
		err = s.Exec(ctx, "SET maintenance_work_mem = '64MB';"+text+"RESET maintenance_work_mem; SET synchronous_commit TO DEFAULT;")
		if err == nil {
			err = s.analyse(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("create the indexes of %s: %w", model, err)
	}
	return nil
}

func (s *postgresStore) analyse(ctx context.Context) error {
	tables, err := sqldb.Column[string](ctx, s, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`)
	for _, table := range tables {
		if err == nil {
			err = s.Exec(ctx, "ANALYZE "+table)
		}
	}
	return err
}

// Shrink does nothing: the server manages the memory of its sessions.
func (s *postgresStore) Shrink(context.Context) error { return nil }

// Check does nothing: PostgreSQL detects corruption itself.
func (s *postgresStore) Check(context.Context) error { return nil }
