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

// accountsPrefix is the prefix of the file names of account store copies. The rest of
// the name is a digest of the copy. So a new copy never overwrites the copy that the
// current manifest lists.
const accountsPrefix = "accounts-"

// copyAccounts copies the account store, via a temporary file, because the name of the
// copy depends on its bytes.
func (t *run) copyAccounts(ctx context.Context) (err error) {
	t.manifest.Accounts = nil
	if t.Accounts == nil {
		return nil
	}
	scratch, err := os.MkdirTemp("", "annals-accounts-")
	if err != nil {
		return fmt.Errorf("create a temporary folder: %w", err)
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
	file, err := digestOf(f, io.Discard)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("copy the accounts: %w", err)
	}
	file.Name = accountsPrefix + file.SHA256[:16] + ".db"
	err = t.Location.Write(ctx, file.Name, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
	if err == nil {
		err = file.copyTo(ctx, t.Location, io.Discard)
	}
	if err != nil {
		return fmt.Errorf("copy the accounts: %w", err)
	}
	t.manifest.Accounts = &file
	return nil
}

// removeOldAccounts removes earlier copies of the account store, because deleted users
// must not stay in a backup.
func (t *run) removeOldAccounts(ctx context.Context) error {
	files, err := t.Location.Files(ctx, "")
	for name := range files {
		if !strings.HasPrefix(name, accountsPrefix) || t.manifest.Accounts != nil && name == t.manifest.Accounts.Name {
			continue
		}
		err = errors.Join(err, t.Location.Remove(ctx, name))
	}
	return err
}

// copyTo copies a file of the backup to w, and returns an error if the file is corrupt.
func (f *File) copyTo(ctx context.Context, p Location, w io.Writer) error {
	in, err := p.Open(ctx, f.Name)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	defer in.Close()
	got, err := digestOf(in, w)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	if got.Bytes != f.Bytes || got.SHA256 != f.SHA256 {
		return fault.Errorf(fault.Internal, "%s is corrupt: its size or SHA-256 differs from the manifest", f.Name)
	}
	return nil
}

// digestOf copies r to w and returns its size and digest.
func digestOf(r io.Reader, w io.Writer) (f File, err error) {
	hash := sha256.New()
	f.Bytes, err = io.Copy(io.MultiWriter(w, hash), r)
	f.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return f, err
}
