package signin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"annals/events/fault"
)

// table is one that copies hold all rows of.
type table struct {
	name, columns string
	fields        func() []any
}

// kept are the tables that a copy holds. Sessions and grants stay behind: whoever was
// signed out since must not be signed in again by a copy that is put in the store's
// place.
var kept = []table{
	{"users", `name, password, admin, groups, disabled, deleted, created, service`, func() []any {
		return []any{new(string), new(string), new(bool), new(string), new(bool), new(bool), new(int64), new(bool)}
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

// moved are those that go along where a store moves, beside the kept ones. They are
// not in backups: what was revoked since must not be good again.
var moved = []table{
	{"tokens", `hash, id, "user", scope, note, created, expires, used`, func() []any {
		return []any{new([]byte), new(string), new(string), new(string), new(string), new(int64), new(int64), new(int64)}
	}},
}

// CopyTo writes the users, keys and programs, without their tokens, as they are at this moment to a new
// file at path, a store that only its owner may read. Others may change them
// meanwhile.
func (a *Accounts) CopyTo(ctx context.Context, path string) (err error) {
	scratch, err := os.MkdirTemp(filepath.Dir(path), "accounts-")
	if err != nil {
		return fmt.Errorf("make a copy of the account store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	file, err := OpenAccounts(ctx, scratch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := a.copyTables(ctx, file, kept); err != nil {
		return err
	}
	if err := restrict(path); err != nil { // SQLite takes an empty file for a new one
		return fmt.Errorf("make a copy of the account store: %w", err)
	}
	if _, err := file.db.exec(ctx, `VACUUM INTO $1`, path); err != nil { // one file, without its log
		return fmt.Errorf("copy the account store: %w", err)
	}
	return nil
}

// CopyInto copies the users, keys, programs and their tokens to another store, all or
// nothing. One that has had users is a Conflict.
func (a *Accounts) CopyInto(ctx context.Context, to *Accounts) error {
	return a.copyTables(ctx, to, slices.Concat(kept, moved))
}

func (a *Accounts) copyTables(ctx context.Context, to *Accounts, tables []table) error {
	if err := to.db.tell(ctx, a.copyInto(ctx, to, tables)); err != nil {
		return fmt.Errorf("copy the account store: %w", err)
	}
	return nil
}

func (a *Accounts) copyInto(ctx context.Context, to *Accounts, tables []table) error {
	from, err := a.db.BeginTx(ctx, a.db.snapshot)
	if err != nil {
		return a.db.tell(ctx, err)
	}
	defer from.Rollback()
	into, err := to.db.begin(ctx)
	if err != nil {
		return err
	}
	defer into.Rollback()
	if err := into.keepOut(ctx); err != nil {
		return err
	}
	var taken bool
	if err := into.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM users)`).Scan(&taken); err != nil {
		return err
	}
	if taken {
		return fault.Errorf(fault.Conflict, "there are users already")
	}
	for _, table := range tables {
		insert := `INSERT INTO ` + table.name + ` (` + table.columns + `) VALUES ($1`
		for i := range len(table.fields()) - 1 {
			insert += fmt.Sprintf(", $%d", i+2)
		}
		rows, err := from.QueryContext(ctx, `SELECT `+table.columns+` FROM `+table.name+` ORDER BY 1`)
		if err == nil {
			err = into.insert(ctx, insert+`)`, rows, table.fields())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", table.name, err)
		}
	}
	return into.Commit()
}

// insert runs a statement with each of rows, which it closes, read by way of fields.
func (t *transaction) insert(ctx context.Context, statement string, rows *sql.Rows, fields []any) error {
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		if _, err := t.ExecContext(ctx, statement, fields...); err != nil {
			return err
		}
	}
	return rows.Err()
}
