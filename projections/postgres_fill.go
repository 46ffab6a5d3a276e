package projections

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"annals/events"
	"annals/schema"
)

func (s *postgresStore) checkpoint(ctx context.Context) (p events.Position, err error) {
	err = s.reads().QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, err
}

// fill does not wait for the disk at commits: a rebuild that loses its last
// events, with their checkpoint, goes on where it is.
func (s *postgresStore) fill(ctx context.Context) error {
	return s.Exec(ctx, "SET synchronous_commit = off")
}

var indexName = regexp.MustCompile(`INDEX IF NOT EXISTS (\w+)`)

// index makes the indexes that readers need, where one is not there yet, and
// tells the planner what the tables hold.
func (s *postgresStore) index(ctx context.Context, model string) error {
	text, err := schema.SQL.ReadFile("sql/postgres/" + model + "-indexes.sql")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	missing := false
	for _, name := range indexName.FindAllSubmatch(text, -1) {
		var there bool
		if err == nil {
			err = s.reads().QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, s.schema+"."+string(name[1])).Scan(&there)
		}
		missing = missing || !there
	}
	if err == nil && missing {
		err = s.Exec(ctx, "SET maintenance_work_mem = '64MB';"+string(text)+"RESET maintenance_work_mem; SET synchronous_commit TO DEFAULT;")
		if err == nil {
			err = s.analyse(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("make the indexes of %s: %w", model, err)
	}
	return nil
}

func (s *postgresStore) analyse(ctx context.Context) error {
	tables, err := Column(ctx, s, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`)
	for _, table := range tables {
		if err == nil {
			err = s.Exec(ctx, "ANALYZE "+table)
		}
	}
	return err
}

// rest has nothing to give back: what a session holds is the server's.
func (s *postgresStore) rest(context.Context) error { return nil }

// inspect leaves that to PostgreSQL.
func (s *postgresStore) inspect(context.Context) error { return nil }
