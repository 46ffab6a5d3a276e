package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"annals/events/fault"

	"github.com/gofrs/flock"
)

// ErrLocked is returned if a server has locked the folder or database.
var ErrLocked = errors.New("a server is running on")

// LockData creates a data folder if it does not exist, and locks it until unlock is
// called or the process ends. Servers and commands that must not run beside a server lock
// it. If the folder is locked, the error is ErrLocked.
func LockData(dir string) (unlock func() error, err error) {
	return lock("the data folder", dir, LockFile)
}

// LockFile is the file in a data folder that LockData locks.
const LockFile = "serve.lock"

// lock is LockData for any folder and lock file. what names the folder in errors.
func lock(what, dir, file string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create %s: %w", what, err)
	}
	l := flock.New(filepath.Join(dir, file))
	if locked, err := l.TryLock(); err != nil {
		return nil, fmt.Errorf("lock %s %s: %w", what, dir, err)
	} else if !locked {
		return nil, fmt.Errorf("%w %s %s", ErrLocked, what, dir)
	}
	return l.Unlock, nil
}

// RestoringFile marks a data folder whose restore is incomplete. Nothing in such a
// folder may be used.
const RestoringFile = "restoring"

// CheckRestored returns an error for a data folder whose restore is incomplete.
func CheckRestored(dataDir string) error {
	switch _, err := os.Stat(filepath.Join(dataDir, RestoringFile)); {
	case err == nil:
		return fault.Errorf(fault.Conflict, "the data folder %s is being restored, or its restore was interrupted: run annals restore again", dataDir)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("check whether the data folder is being restored: %w", err)
	}
	return nil
}
