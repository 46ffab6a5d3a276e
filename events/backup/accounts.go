package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"annals/events/fault"
)

// accountsPrefix begins the names of copies of the account store. The rest hangs
// on their bytes, so that a new one comes beside the one that the manifest
// names.
const accountsPrefix = "accounts-"

// copyAccounts copies the account store.
func (t *taking) copyAccounts(ctx context.Context) error {
	t.now.Accounts = nil
	if t.Accounts == nil {
		return nil
	}
	partial := t.path(accountsPrefix + "partial")
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := t.Accounts(ctx, partial); err != nil {
		return fmt.Errorf("copy the accounts: %w", err)
	}
	if err := errors.Join(os.Chmod(partial, 0o600), syncPath(partial)); err != nil {
		return fmt.Errorf("copy the accounts: %w", err)
	}
	made, err := sumFile(partial, io.Discard)
	if err != nil {
		return fmt.Errorf("read the copy of the accounts: %w", err)
	}
	made.Name = accountsPrefix + made.SHA256[:16] + ".db"
	t.now.Accounts = &made
	return rename(partial, t.path(made.Name))
}

// removeOldAccounts removes the copies before this one: who was deleted from
// the accounts is to be forgotten.
func (t *taking) removeOldAccounts() error {
	entries, err := os.ReadDir(t.Dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), accountsPrefix) || t.now.Accounts != nil && e.Name() == t.now.Accounts.Name {
			continue
		}
		err = errors.Join(err, os.Remove(t.path(e.Name())))
	}
	return err
}

// copyTo copies a file of the backup in dir to w and returns an error unless
// it is as it was written.
func (f *File) copyTo(dir string, w io.Writer) error {
	got, err := sumFile(within(dir, f.Name), w)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	if got.Bytes != f.Bytes || got.SHA256 != f.SHA256 {
		return fault.Errorf(fault.Internal, "the bytes of %s are not those that were written", f.Name)
	}
	return nil
}

// sumFile copies a file to w and returns its size and digest.
func sumFile(path string, w io.Writer) (sum File, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	hash := sha256.New()
	sum.Bytes, err = io.Copy(io.MultiWriter(w, hash), f)
	sum.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return sum, err
}
