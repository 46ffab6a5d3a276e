package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// Store keeps one sign-in for each server, in a file that only its user can read.
// Several processes may use it at the same time; a file lock serializes changes.
type Store struct{ Path string }

// UserStore returns the store of the user who runs this program.
func UserStore() (Store, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		return Store{}, fmt.Errorf("find the directory for sign-ins: %w", err)
	}
	return Store{filepath.Join(config, "annals", "credentials.json")}, nil
}

// file is the content of the file in JSON.
type file struct {
	Servers map[string]Login `json:"servers"` // by URL of the service at /core
}

// All returns all sign-ins, keyed by the URL of their server.
func (s Store) All() (map[string]Login, error) {
	f, err := os.Open(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read sign-ins: %w", err)
	}
	defer f.Close()
	if err := s.checkPrivate(f); err != nil {
		return nil, err
	}
	var all file
	if err := json.NewDecoder(f).Decode(&all); err != nil {
		return nil, fmt.Errorf("read sign-ins: %s is damaged (%w): remove it and sign in again", s.Path, err)
	}
	return all.Servers, nil
}

// Get returns the sign-in to a server. found is false if there is none.
func (s Store) Get(server string) (l Login, found bool, err error) {
	all, err := s.All()
	l, found = all[server]
	return l, found, err
}

// checkPrivate returns an error if another user can read the file, or could have
// written it.
func (s Store) checkPrivate(f *os.File) error {
	if runtime.GOOS == "windows" { // Windows has no file modes; only the user can access the directory
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read sign-ins: %w", err)
	}
	directory, err := os.Stat(filepath.Dir(s.Path))
	if err != nil {
		return fmt.Errorf("read sign-ins: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("read sign-ins: %s is not a regular file", s.Path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("read sign-ins: other users have access to %s (mode %#o): run chmod 600 on it; if someone may have read it, remove it and sign in again", s.Path, info.Mode().Perm())
	case directory.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("read sign-ins: other users can write to the directory %s (mode %#o): run chmod 700 on it", filepath.Dir(s.Path), directory.Mode().Perm())
	}
	return nil
}

// Put stores the sign-in to a server. before is the sign-in that it replaces; found is
// false if there was none.
func (s Store) Put(ctx context.Context, server string, l Login) (before Login, found bool, err error) {
	err = s.change(ctx, func(all map[string]Login) error {
		before, found = all[server]
		all[server] = l
		return nil
	})
	return before, found, err
}

// Remove removes the sign-in to a server and returns it. found is false if there was
// none.
func (s Store) Remove(ctx context.Context, server string) (l Login, found bool, err error) {
	err = s.change(ctx, func(all map[string]Login) error {
		if l, found = all[server]; !found {
			return errUnchanged
		}
		delete(all, server)
		return nil
	})
	return l, found, err
}

// errUnchanged is returned by the function passed to change if it changed nothing. Then
// change returns nil without writing the file.
var errUnchanged = errors.New("nothing is changed")

// change locks the store, calls f with all sign-ins, and writes them to the file if f
// returns nil.
func (s Store) change(ctx context.Context, f func(all map[string]Login) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return fmt.Errorf("create the directory for sign-ins: %w", err)
	}
	lock := flock.New(s.Path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("lock sign-ins: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	all, err := s.All()
	if err != nil {
		return err
	}
	if all == nil {
		all = map[string]Login{}
	}
	switch err := f(all); {
	case errors.Is(err, errUnchanged):
		return nil
	case err != nil:
		return err
	}
	return s.write(all)
}

// write replaces the file atomically.
func (s Store) write(all map[string]Login) error {
	text, err := json.MarshalIndent(file{all}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode sign-ins: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(s.Path), filepath.Base(s.Path)+".*") // has mode 0600
	if err != nil {
		return fmt.Errorf("write sign-ins: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.Path)
	}
	if err != nil {
		return fmt.Errorf("write sign-ins: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
