package describe

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"annals/events/sqldb"

	_ "modernc.org/sqlite" // the engine of the file
)

// File is the name of the store in the data folder.
const File = "descriptions.db"

// schema is the part of the PostgreSQL schema's name that follows the service's prefix.
const schema = "descriptions"

//go:embed sql
var scripts embed.FS

// Store keeps descriptions by content and model. Whatever is lost of it can be made again.
type Store struct{ db *sqldb.DB }

// Open opens the store in a file, and creates it if it does not exist.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := sqldb.MakePrivate(path); err != nil {
		return nil, err
	}
	db, err := sqldb.SQLite{Path: path, Connections: 2, Immediate: true, Pragmas: []string{"journal_mode(WAL)", "synchronous(NORMAL)"}}.OpenDB()
	if err == nil {
		if err = setup(ctx, db); err != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the descriptions of documents %s: %w", path, err)
	}
	return &Store{db}, nil
}

// OpenShared opens the store in a database that several nodes share. If the table does not exist, it
// creates it, or returns nil unless create is set.
func OpenShared(ctx context.Context, d *sqldb.Postgres, create bool) (*Store, error) {
	db := d.OpenDB(schema, 2, map[string]string{"synchronous_commit": "off", "statement_timeout": "20s"})
	there, err := db.HasTable(ctx, "descriptions") // if so, the role needs no permission to create tables
	if err == nil && !there {
		if !create {
			return nil, db.Close()
		}
		err = setup(ctx, db)
	}
	if err != nil {
		return nil, fmt.Errorf("open the descriptions of documents %s: %w", d, errors.Join(err, db.Close()))
	}
	return &Store{db}, nil
}

func setup(ctx context.Context, db *sqldb.DB) error {
	dialect := db.Dialect()
	dialect.ByteOrder = true
	script, err := dialect.Script(scripts, "sql", "descriptions")
	if err != nil {
		return err
	}
	return db.Setup(ctx, script)
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
