package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"annals/events/fault"
	"annals/events/originals"

	"github.com/gofrs/flock"
)

// Folder is the path of a Location in the file system. A backup cannot begin while a
// reader holds the read lock.
type Folder string

func (f Folder) String() string { return string(f) }

func (f Folder) within(name string) string {
	return filepath.Join(string(f), filepath.FromSlash(name))
}

// Lock locks a file in the folder.
func (f Folder) Lock(ctx context.Context) (held context.Context, release func() error, err error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, nil, fmt.Errorf("create the backup folder: %w", err)
	}
	if err := f.refuseForeign(); err != nil {
		return nil, nil, err
	}
	lock := flock.New(f.within(lockFile))
	if held, err := lock.TryLock(); err != nil {
		return nil, nil, fmt.Errorf("lock the backup folder: %w", err)
	} else if !held {
		return nil, nil, fault.Errorf(fault.Conflict, "another backup or restore is using %s: wait until it ends", f)
	}
	if err := os.MkdirAll(f.within(logDir), 0o700); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("create the segment folder: %w", err), lock.Unlock())
	}
	return ctx, lock.Unlock, nil
}

// refuseForeign returns an error if the folder is not empty and has no backup.
func (f Folder) refuseForeign() error {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return fmt.Errorf("read the backup folder: %w", err)
	}
	foreign := false
	for _, e := range entries {
		if e.Name() == lockFile || e.Name() == manifestFile {
			return nil
		}
		foreign = foreign || e.Name() != "lost+found" // exists in the root folder of some file systems
	}
	if foreign {
		return fault.Errorf(fault.Conflict, "%s is not empty and is not a backup", f)
	}
	return nil
}

// RLock excludes backups, but not other readers. If the lock file does not exist, no
// backup is running, because a backup creates the lock file first.
func (f Folder) RLock(context.Context) (release func() error, err error) {
	lock := flock.New(f.within(lockFile), flock.SetFlag(os.O_RDONLY))
	held, err := lock.TryRLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() error { return nil }, nil
	case err != nil:
		return nil, fmt.Errorf("lock the backup folder: %w", err)
	case !held:
		return nil, fault.Errorf(fault.Conflict, "a backup to %s is in progress: wait until it ends", f)
	}
	return lock.Unlock, nil
}

// Open opens a file for reading.
func (f Folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := os.Open(f.within(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Errorf(fault.NotFound, "there is no %s", f.within(name))
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Write writes a temporary file in the same folder, and renames it.
func (f Folder) Write(_ context.Context, name string, write func(io.Writer) error) error {
	partial := f.within(name) + ".partial"
	file, err := os.OpenFile(partial, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	if err := os.Rename(partial, f.within(name)); err != nil {
		return err
	}
	return f.sync(path.Dir(name))
}

// sync makes a folder's entries durable.
func (f Folder) sync(folder string) error {
	file, err := os.Open(f.within(folder))
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Remove deletes a file.
func (f Folder) Remove(_ context.Context, name string) error {
	if err := os.Remove(f.within(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Files returns the sizes of the files of a folder by their names.
func (f Folder) Files(_ context.Context, folder string) (map[string]int64, error) {
	entries, err := os.ReadDir(f.within(folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	sizes := make(map[string]int64)
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case info.Mode().IsRegular():
			sizes[path.Join(folder, e.Name())] = info.Size()
		}
	}
	return sizes, nil
}

// Originals opens the store of originals.
func (f Folder) Originals(context.Context) (originals.Store, error) {
	store, err := originals.OpenDir(f.within(originalsDir))
	if err != nil {
		return nil, err
	}
	return store, f.sync("")
}

// View opens the store of originals for reading.
func (f Folder) View() originals.Store { return originals.ViewDir(f.within(originalsDir)) }
