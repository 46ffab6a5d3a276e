package describe

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"annals/events/sqldb"

	_ "modernc.org/sqlite" // the engine of the file
)

// File is the name of the store in the data folder.
const File = "descriptions.db"

//go:embed sql
var scripts embed.FS

var tables = sqldb.Store{Schema: "descriptions", Table: "descriptions", Scripts: scripts, Script: "descriptions", Connections: 2}

// Store keeps descriptions by content and model. Whatever is lost of it can be made again.
type Store struct{ db *sqldb.DB }

// Open opens the store in a file, and creates it if it does not exist.
func Open(ctx context.Context, path string) (*Store, error) {
	db, err := tables.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open the descriptions of documents %s: %w", path, err)
	}
	return &Store{db}, nil
}

// OpenShared opens the store in a database that several nodes share. If the table does not exist, it
// creates it, or returns nil unless create is set.
func OpenShared(ctx context.Context, d *sqldb.Postgres, create bool) (*Store, error) {
	db, err := tables.OpenShared(ctx, d, create)
	switch {
	case err != nil:
		return nil, fmt.Errorf("open the descriptions of documents %s: %w", d, err)
	case db == nil:
		return nil, nil
	}
	return &Store{db}, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }

// Of returns the descriptions of contents by a model. Those that are not known are missing.
func (s *Store) Of(ctx context.Context, model string, contents []string) (map[string]string, error) {
	list, err := json.Marshal(append([]string{}, contents...))
	if err != nil {
		return nil, err
	}
	among := `content IN (SELECT value FROM json_each($2))`
	if s.db.Shared() {
		among = `content IN (SELECT jsonb_array_elements_text($2::text::jsonb))`
	}
	type row struct{ content, description string }
	rows, err := sqldb.List(ctx, s.db, func(r *row) []any { return []any{&r.content, &r.description} },
		`SELECT content, description FROM descriptions WHERE model = $1 AND `+among, model, string(list))
	known := make(map[string]string, len(rows))
	for _, r := range rows {
		known[r.content] = r.description
	}
	return known, err
}

// Put stores a description.
func (s *Store) Put(ctx context.Context, model, content, description string) error {
	_, err := s.db.Exec(ctx, `INSERT INTO descriptions (content, model, description, time) VALUES ($1, $2, $3, $4)
		ON CONFLICT (content, model) DO UPDATE SET description = excluded.description, time = excluded.time`, content, model, description, time.Now().UnixMicro())
	return err
}

// Sweep deletes the descriptions of contents that no document has. refers reports whether one has
// the original with a SHA-256.
func (s *Store) Sweep(ctx context.Context, refers func(ctx context.Context, sha256 string) (bool, error)) error {
	const batch = 500
	for last := ""; ; {
		contents, err := sqldb.List(ctx, s.db, func(c *string) []any { return []any{c} },
			`SELECT DISTINCT content FROM descriptions WHERE content > $1 ORDER BY content LIMIT $2`, last, batch)
		if err != nil || len(contents) == 0 {
			return err
		}
		for _, c := range contents {
			used, err := refers(ctx, hashOf(c))
			if err != nil {
				return err
			}
			if used {
				continue
			}
			if _, err := s.db.Exec(ctx, `DELETE FROM descriptions WHERE content = $1`, c); err != nil {
				return err
			}
		}
		last = contents[len(contents)-1]
	}
}
