package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"annals/events/failpoint"
)

// Folder keeps each generation in an SQLite file, <generation>.db.
type Folder string

func (f Folder) path(generation string) string {
	return filepath.Join(string(f), generation+".db")
}

// Describe is Home.Describe.
func (f Folder) Describe(generation string) string {
	if generation == "" {
		return "the folder " + string(f)
	}
	return "the file " + f.path(generation)
}

// Exists is Home.Exists.
func (f Folder) Exists(_ context.Context, generation string) error {
	_, err := os.Stat(f.path(generation))
	return err
}

// View is Home.View.
func (f Folder) View(ctx context.Context, generation string) (*Reader, error) {
	if err := f.Exists(ctx, generation); err != nil {
		return nil, err
	}
	file := sqliteFile(f.path(generation), viewers, "query_only(1)", "cache_size(-4000)")
	file.Existing = true
	db, err := file.Open()
	if err != nil {
		return nil, err
	}
	return &Reader{from: db, db: db}, nil
}

// Remove is Home.Remove.
func (f Folder) Remove(_ context.Context, generation string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(f.path(generation) + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		failpoint.Here(failpoint.GenerationRemoved)
	}
	return errors.Join(errs...)
}

// Open is Home.Open.
func (f Folder) Open(ctx context.Context, generation, model string) (Store, error) {
	path := f.path(generation)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of read models: %w", err)
	}
	s := &sqliteStore{stmts: make(map[string]*sql.Stmt), inserts: make(map[string]string)}
	if err := s.openFile(ctx, path, model); err != nil {
		return nil, errors.Join(fmt.Errorf("open read model %s: %w", path, err), s.Close())
	}
	return s, nil
}
