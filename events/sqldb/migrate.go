package sqldb

import (
	"context"
	"database/sql"
	"fmt"

	"annals/events/fault"
)

// Setup runs statements that create tables, and that do nothing if the tables exist.
// Several processes may call it concurrently.
func (db *DB) Setup(ctx context.Context, statements string) error {
	if db.Shared() {
		return db.server.setup(ctx, db.DB, db.schema, statements)
	}
	return db.Classify(ctx, WhileBusy(ctx, func() error {
		_, err := db.ExecContext(ctx, statements)
		return err
	}))
}

// Has reports whether a table or index exists in PostgreSQL. It does not need the right to
// create tables.
func (db *DB) Has(ctx context.Context, name string) (exists bool, err error) {
	err = db.Row(ctx, `SELECT to_regclass($1) IS NOT NULL`, name).Scan(&exists)
	return exists, err
}

// Migrate updates a store to the last of scripts, in one transaction. The version of a
// store is the number of scripts that were run on it; Migrate runs the others. It does
// not write to a store that is up to date. The error is fault.Invalid if the store has a
// later version.
func (db *DB) Migrate(ctx context.Context, scripts []string) error {
	if db.Shared() {
		return db.migrateServer(ctx, scripts)
	}
	return db.Classify(ctx, WhileBusy(ctx, func() error { return db.migrateFile(ctx, scripts) }))
}

// checkVersion returns an error if a newer program has migrated the store.
func checkVersion(version int, scripts []string) error {
	if version > len(scripts) {
		return fault.Errorf(fault.Invalid, "the store has schema version %d, and this program supports up to %d: use a newer version of Annals", version, len(scripts))
	}
	return nil
}

func (db *DB) migrateFile(ctx context.Context, scripts []string) error {
	version, err := fileVersion(ctx, db.DB, scripts)
	if err != nil || version == len(scripts) {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return Immediate(ctx, conn, func() error {
		if version, err = fileVersion(ctx, conn, scripts); err != nil { // read the version again: another process may have migrated the store meanwhile
			return err
		}
		for _, script := range scripts[version:] {
			if _, err := conn.ExecContext(ctx, script); err != nil {
				return err
			}
		}
		_, err := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, len(scripts)))
		return err
	})
}

func fileVersion(ctx context.Context, on interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, scripts []string) (version int, err error) {
	if err := on.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return 0, err
	}
	return version, checkVersion(version, scripts)
}

func (db *DB) migrateServer(ctx context.Context, scripts []string) error {
	version := 0
	there, err := db.Has(ctx, "version")
	if err == nil && there {
		err = db.Row(ctx, serverVersion).Scan(&version)
	}
	if err == nil {
		err = checkVersion(version, scripts)
	}
	if err != nil || version == len(scripts) {
		return err
	}
	return db.Transaction(ctx, func(ctx context.Context, tx *Tx) error {
		// The lock is named after the schema, which may not exist yet.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 1))`, db.server.Schema(db.schema)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+db.server.quoted(db.schema)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS version (version integer NOT NULL)`); err != nil {
			return err
		}
		if err := tx.Row(ctx, serverVersion).Scan(&version); err != nil {
			return err
		}
		if err := checkVersion(version, scripts); err != nil {
			return err
		}
		for i, script := range scripts[version:] {
			if _, err := tx.Exec(ctx, script); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO version (version) VALUES ($1)`, version+i+1); err != nil {
				return err
			}
		}
		return nil
	})
}

const serverVersion = `SELECT coalesce(max(version), 0) FROM version`
