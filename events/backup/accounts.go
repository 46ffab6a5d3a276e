package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"annals/events/fault"
)

// accountsPrefix is the prefix of the names of account store copies. The rest of
// the name is a digest of the copy's bytes, so a new copy never overwrites the one
// that the manifest names.
const accountsPrefix = "accounts-"

// copyAccounts copies the account store. It writes to a temporary file first,
// because the name of the copy depends on its bytes.
func (t *taking) copyAccounts(ctx context.Context) (err error) {
	t.now.Accounts = nil
	if t.Accounts == nil {
		return nil
	}
	scratch, err := os.MkdirTemp("", "annals-accounts-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	path := filepath.Join(scratch, "accounts.db")
	if err := t.Accounts(ctx, path); err != nil {
		return fmt.Errorf("copy the accounts: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("copy the accounts: %w", err)
	}
	defer f.Close()
	made, err := sumOf(f, io.Discard)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("copy the accounts: %w", err)
	}
	made.Name = accountsPrefix + made.SHA256[:16] + ".db"
	err = t.Place.Write(ctx, made.Name, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
	if err == nil {
		err = made.copyTo(ctx, t.Place, io.Discard)
	}
	if err != nil {
		return fmt.Errorf("copy the accounts: %w", err)
	}
	t.now.Accounts = &made
	return nil
}

// removeOldAccounts removes earlier copies: deleted users must not stay in a
// backup.
func (t *taking) removeOldAccounts(ctx context.Context) error {
	files, err := t.Place.Files(ctx, "")
	for name := range files {
		if !strings.HasPrefix(name, accountsPrefix) || t.now.Accounts != nil && name == t.now.Accounts.Name {
			continue
		}
		err = errors.Join(err, t.Place.Remove(ctx, name))
	}
	return err
}

// copyTo copies a file of the backup to w, and returns an error if it is corrupt.
func (f *File) copyTo(ctx context.Context, p Place, w io.Writer) error {
	in, err := p.Open(ctx, f.Name)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	defer in.Close()
	got, err := sumOf(in, w)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	if got.Bytes != f.Bytes || got.SHA256 != f.SHA256 {
		return fault.Errorf(fault.Internal, "the bytes of %s are not those that were written", f.Name)
	}
	return nil
}

// sumOf copies r to w and returns its size and digest.
func sumOf(r io.Reader, w io.Writer) (sum File, err error) {
	hash := sha256.New()
	sum.Bytes, err = io.Copy(io.MultiWriter(w, hash), r)
	sum.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return sum, err
}
