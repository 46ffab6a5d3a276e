package originals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"annals/events/failpoint"
	"annals/events/fault"
)

// Dir is a Store in a folder. Originals are in ab/cd/<sha256>, where abcd are the first
// digits of the name; staged uploads are in staging/.
type Dir struct {
	Gate Gate // shared by all processes that commit to the store; nil if this is the only process

	root string
	// mu is read-locked while a commit sets the date of a file and renames the file, and
	// locked while a deletion checks the date of a file and removes the file.
	mu sync.RWMutex
}

const stagingDir = "staging"

// OpenDir opens the store in a folder, and creates the folder if it is missing. It
// removes uploads that were staged more than a day ago.
func OpenDir(root string) (*Dir, error) {
	d := &Dir{root: root}
	if err := os.MkdirAll(d.staging(), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of originals: %w", err)
	}
	for i := range 256 {
		err := os.Mkdir(filepath.Join(root, fmt.Sprintf("%02x", i)), 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("create the folders of originals: %w", err)
		}
		failpoint.Here(failpoint.OriginalsFolder)
	}
	if err := errors.Join(syncPath(root), syncPath(filepath.Dir(root))); err != nil {
		return nil, err
	}
	return d, sweepStaged(d.staging(), time.Now().Add(-maxStaged))
}

// ViewDir returns the store in an existing folder, for reading only.
func ViewDir(root string) *Dir { return &Dir{root: root} }

func (d *Dir) staging() string             { return filepath.Join(d.root, stagingDir) }
func (d *Dir) folder(sha256 string) string { return filepath.Join(d.root, sha256[:2], sha256[2:4]) }
func (d *Dir) path(sha256 string) string   { return filepath.Join(d.folder(sha256), sha256) }

// Stage streams r to a file while hashing it.
func (d *Dir) Stage(ctx context.Context, r io.Reader, limit int64) (Staged, error) {
	u, err := stage(ctx, d.staging(), r, limit)
	if err != nil {
		return nil, err
	}
	return &stagedFile{dir: d, upload: u}, nil
}

// Open opens the file of an original.
func (d *Dir) Open(_ context.Context, sha256 string) (Original, error) {
	if err := checkName(sha256); err != nil {
		return nil, err
	}
	f, err := os.Open(d.path(sha256))
	if err != nil {
		return nil, d.missing(sha256, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(diskError(err), f.Close())
	}
	return original{f, info.Size()}, nil
}

type original struct {
	*os.File
	size int64
}

func (o original) Size() int64 { return o.size }

// Path returns the path of the original itself; release does nothing.
func (d *Dir) Path(_ context.Context, sha256 string) (string, func(), error) {
	if err := checkName(sha256); err != nil {
		return "", nil, err
	}
	path := d.path(sha256)
	if _, err := os.Stat(path); err != nil {
		return "", nil, d.missing(sha256, err)
	}
	return path, func() {}, nil
}

// Delete removes the file of an original. It does not exclude commits by other
// processes. Sweep, which calls it, does.
func (d *Dir) Delete(_ context.Context, sha256 string, before time.Time) (deleted bool, err error) {
	if err := checkName(sha256); err != nil {
		return false, err
	}
	if deleted, err = d.removeOld(d.path(sha256), before); err != nil || !deleted {
		return false, err
	}
	failpoint.Here(failpoint.OriginalRemoved)
	return true, syncPath(d.folder(sha256))
}

func (d *Dir) removeOld(path string, before time.Time) (removed bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Stat(path)
	if err == nil && info.ModTime().Before(before) {
		err, removed = os.Remove(path), true
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return removed && err == nil, diskError(err)
}

// List walks the folders.
func (d *Dir) List(ctx context.Context, each func(sha256 string, size int64, modified time.Time) error) error {
	for i := range 256 {
		first := filepath.Join(d.root, fmt.Sprintf("%02x", i))
		seconds, err := os.ReadDir(first)
		if err != nil {
			return diskError(err)
		}
		for _, second := range seconds {
			if !second.IsDir() { // skip files such as .DS_Store, which desktops create
				continue
			}
			if err := listFolder(ctx, filepath.Join(first, second.Name()), each); err != nil {
				return err
			}
		}
	}
	return nil
}

func listFolder(ctx context.Context, path string, each func(string, int64, time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("list originals: %w", err)
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return diskError(err)
	}
	for _, file := range files {
		info, err := file.Info()
		if errors.Is(err, fs.ErrNotExist) || checkName(file.Name()) != nil {
			continue
		}
		if err != nil {
			return diskError(err)
		}
		if err := each(file.Name(), info.Size(), info.ModTime()); err != nil {
			return err
		}
	}
	return nil
}

// missing returns the error for a file that cannot be opened: fault.NotFound if the
// original does not exist, fault.Unavailable if the whole folder is missing, for example
// because its disk is not mounted.
func (d *Dir) missing(sha256 string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(d.staging()); err != nil {
			return fault.Errorf(fault.Unavailable, "the store of originals is unavailable: its folder is missing")
		}
		return fault.Errorf(fault.NotFound, "there is no original %s", sha256)
	}
	return diskError(err)
}

// diskError adds the kind to an error of the file system. The error for a full disk is
// reported to clients, without a path. Other errors are internal.
func diskError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.Hide(fault.Unavailable, "the store of originals is full", err)
	}
	return fmt.Errorf("access the store of originals: %w", err)
}
