package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"annals/events/fault"
	"annals/events/sqldb"
)

// table describes a table that is copied row by row.
type table struct {
	name, columns string
	fields        func() []any // returns variables into which a row is scanned
}

// backedUp are the tables in a backup. It omits sessions and grants: otherwise restoring an
// old backup would restore sign-ins that have ended since.
var backedUp = []table{
	{"users", `name, password, admin, groups, disabled, deleted, created, service, signed_in`, func() []any {
		return []any{new(string), new(string), new(bool), new(string), new(bool), new(bool), new(int64), new(bool), new(int64)}
	}},
	{"keys", `id, private, created`, func() []any { return []any{new(string), new([]byte), new(int64)} }},
	{"clients", `id, metadata, created, used`, func() []any { return []any{new(string), new(string), new(int64), new(int64)} }},
	{"browsers", `cookie, "user", created`, func() []any { return []any{new([]byte), new(string), new(int64)} }},
	{"factors", `"user", required, handle, secret, step`, func() []any {
		return []any{new(string), new(bool), new([]byte), new(string), new(int64)}
	}},
	{"passkeys", `id, "user", name, credential, created, used`, func() []any {
		return []any{new([]byte), new(string), new(string), new(string), new(int64), new(int64)}
	}},
	{"quotas", `"user", limits`, func() []any { return []any{new(string), new(string)} }},
	{"recovery", `code, "user"`, func() []any { return []any{new([]byte), new(string)} }},
}

// moved are the tables that are copied in addition to backedUp when accounts are moved to
// another store. A backup omits them: otherwise restoring it would restore API tokens that
// were revoked since.
var moved = []table{
	{"tokens", `hash, id, "user", scope, note, created, expires, used`, func() []any {
		return []any{new([]byte), new(string), new(string), new(string), new(string), new(int64), new(int64), new(int64)}
	}},
}

// CopyTo writes a backup to a new file at path: users, keys and clients, but no sessions,
// grants and API tokens. Only the owner of the file may read it. The backup is consistent even
// if other processes write to the store meanwhile.
func (a *Store) CopyTo(ctx context.Context, path string) (err error) {
	scratch, err := os.MkdirTemp(filepath.Dir(path), "accounts-")
	if err != nil {
		return fmt.Errorf("copy the account store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	file, err := Open(ctx, scratch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := a.copyTables(ctx, file, backedUp); err != nil {
		return err
	}
	if err := sqldb.MakePrivate(path); err != nil { // creates an empty file, which VACUUM INTO accepts
		return fmt.Errorf("copy the account store: %w", err)
	}
	if _, err := file.db.Exec(ctx, `VACUUM INTO $1`, path); err != nil { // writes a single file, without a WAL
		return fmt.Errorf("copy the account store: %w", err)
	}
	return nil
}

// CopyInto copies users, keys, clients and API tokens to the store to, in one transaction. The
// error is Conflict if to contains any users, even deleted ones.
func (a *Store) CopyInto(ctx context.Context, to *Store) error {
	return a.copyTables(ctx, to, slices.Concat(backedUp, moved))
}

func (a *Store) copyTables(ctx context.Context, to *Store, tables []table) error {
	if err := to.db.Classify(ctx, a.copyInto(ctx, to, tables)); err != nil {
		return fmt.Errorf("copy the account store: %w", err)
	}
	return nil
}

func (a *Store) copyInto(ctx context.Context, to *Store, tables []table) error {
	from, err := a.db.BeginTx(ctx, a.db.Snapshot())
	if err != nil {
		return a.db.Classify(ctx, err)
	}
	defer from.Rollback()
	into, err := to.db.Begin(ctx)
	if err != nil {
		return err
	}
	defer into.Rollback()
	if err := into.Lock(ctx); err != nil {
		return err
	}
	var taken bool
	if err := into.Row(ctx, `SELECT EXISTS (SELECT 1 FROM users)`).Scan(&taken); err != nil {
		return err
	}
	if taken {
		return fault.Errorf(fault.Conflict, "the other store already contains users")
	}
	for _, table := range tables {
		insert := `INSERT INTO ` + table.name + ` (` + table.columns + `) VALUES ($1`
		for i := range len(table.fields()) - 1 {
			insert += fmt.Sprintf(", $%d", i+2)
		}
		rows, err := from.QueryContext(ctx, `SELECT `+table.columns+` FROM `+table.name+` ORDER BY 1`)
		if err == nil {
			err = copyRows(ctx, into, insert+`)`, rows, table.fields())
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", table.name, err)
		}
	}
	return into.Commit()
}

// copyRows scans each row into fields, executes statement with the fields as arguments, and
// closes rows.
func copyRows(ctx context.Context, into *sqldb.Tx, statement string, rows *sql.Rows, fields []any) error {
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		if _, err := into.ExecContext(ctx, statement, fields...); err != nil {
			return err
		}
	}
	return rows.Err()
}
