package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"annals/events/failpoint"
)

// Folder keeps each generation in an SQLite file of a folder, <generation>.db.
type Folder string

func (f Folder) path(generation string) string {
	return filepath.Join(string(f), generation+".db")
}

func (f Folder) name(generation string) string {
	if generation == "" {
		return "the folder " + string(f)
	}
	return "the file " + f.path(generation)
}

func (f Folder) there(_ context.Context, generation string) error {
	_, err := os.Stat(f.path(generation))
	return err
}

func (f Folder) view(ctx context.Context, generation string) (*reader, error) {
	if err := f.there(ctx, generation); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(f.path(generation), "query_only(1)", "cache_size(-4000)")+"&mode=rw")
	if err != nil {
		return nil, err
	}
	return &reader{from: db, db: db}, nil
}

func (f Folder) remove(_ context.Context, generation string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(f.path(generation) + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		failpoint.Here(failpoint.GenerationRemoved)
	}
	return errors.Join(errs...)
}

func (f Folder) open(ctx context.Context, generation, model string) (store, error) {
	path := f.path(generation)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of read models: %w", err)
	}
	s := &sqliteStore{stmts: make(map[string]*sql.Stmt), inserts: make(map[string]string)}
	if err := s.open(ctx, path, model); err != nil {
		return nil, errors.Join(fmt.Errorf("open read model %s: %w", path, err), s.close())
	}
	return s, nil
}
