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

// ErrLocked is returned if another process, usually a server, has locked the folder or
// database.
var ErrLocked = errors.New("a server is running on")

// LockData locks a data folder until unlock is called or the process ends. If the
// folder does not exist, LockData creates it. It is used by servers, and by commands
// that must not run at the same time as a server. If another process has locked the
// folder, the error is ErrLocked.
func LockData(dir string) (unlock func() error, err error) {
	return lock("the data folder", dir, LockFile)
}

// LockFile is the file in a data folder that LockData locks.
const LockFile = "serve.lock"

// lock is like LockData, for any folder dir and lock file in it. what names the folder
// in errors.
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

// RestoringFile is the name of a file that marks a data folder as incompletely
// restored. Servers and commands must not use such a folder.
const RestoringFile = "restoring"

// CheckRestored returns an error if a data folder is incompletely restored.
func CheckRestored(dataDir string) error {
	switch _, err := os.Stat(filepath.Join(dataDir, RestoringFile)); {
	case err == nil:
		return fault.Errorf(fault.Conflict, "the data folder %s is being restored, or its restore was interrupted: run annals restore again", dataDir)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("check whether the data folder is being restored: %w", err)
	}
	return nil
}
