package signin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
)

// CopyTo writes the store as it is at this moment to a new file at path, which
// only its owner may read. Others may change the store meanwhile. Sessions and
// grants stay behind: whoever was signed out since must not be signed in again by
// a copy that is put in the store's place.
func (a *Accounts) CopyTo(ctx context.Context, path string) error {
	if err := restrict(path); err != nil { // SQLite takes an empty file for a new one
		return fmt.Errorf("make a copy of the account store: %w", err)
	}
	if _, err := a.db.ExecContext(ctx, `VACUUM INTO $1`, path); err != nil {
		return fmt.Errorf("copy the account store: %w", err)
	}
	if err := signAllOut(ctx, path); err != nil {
		return fmt.Errorf("leave sessions out of a copy of the account store: %w", err)
	}
	return nil
}

// signAllOut ends every session and grant in the store at path.
func signAllOut(ctx context.Context, path string) (err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return err
	}
	query := url.Values{"_pragma": {"secure_delete(ON)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, `DELETE FROM sessions; DELETE FROM grants; DELETE FROM devices; VACUUM`)
	return err
}
