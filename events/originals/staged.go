package originals

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"annals/events/failpoint"
	"annals/events/fault"
)

// stagedFile is an upload in the staging folder of a Dir.
type stagedFile struct {
	*upload
	dir *Dir
}

// Commit moves the file to its final path even if the original exists. That repairs a
// corrupt file, and updates its date to the time of the last commit.
func (s *stagedFile) Commit(ctx context.Context) error {
	return s.commitGroup(ctx, []Staged{s})
}

// commitGroup commits files of this store: their bytes are durable before the
// first is moved, and the moves before it returns. A few files are synced one
// by one; many by syncing the file system twice, which costs the same for any
// number of files but waits for whatever else is being written to it.
func (s *stagedFile) commitGroup(ctx context.Context, group []Staged) error {
	files := make([]*stagedFile, 0, len(group))
	for _, g := range group {
		f, ok := g.(*stagedFile)
		if !ok || f.dir != s.dir {
			return fmt.Errorf("commit uploads of different stores at once")
		}
		files = append(files, f)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("commit uploads: %w", err)
	}
	const few = 4
	everything := canSyncAll && len(files) > few
	paths := make([]string, 0, len(files))
	for _, f := range files {
		if err := f.check(); err != nil {
			return err
		}
		paths = append(paths, f.path)
	}
	if err := syncPaths(s.dir.root, everything, paths); err != nil {
		return err
	}
	failpoint.Here(failpoint.OriginalsSynced)
	touched := make(map[string]bool)
	for _, f := range files {
		if err := f.put(ctx, touched); err != nil {
			return err
		}
	}
	paths = paths[:0]
	for folder := range touched {
		paths = append(paths, folder)
	}
	if err := syncPaths(s.dir.root, everything, paths); err != nil {
		return err
	}
	failpoint.Here(failpoint.OriginalsDurable)
	return nil
}

// check returns an error unless the file can be committed and is as long as
// what was hashed.
func (s *stagedFile) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.path
	switch {
	case s.kept:
		path = s.dir.path(s.sha256)
	case s.done:
		return fmt.Errorf("commit upload %s, which was discarded", s.sha256)
	}
	info, err := os.Stat(path)
	if err != nil {
		return diskError(err)
	}
	if info.Size() != s.size {
		return fmt.Errorf("upload %s has %d bytes on disk, not %d", s.sha256, info.Size(), s.size)
	}
	return nil
}

// put places the file while other processes may delete.
func (s *stagedFile) put(ctx context.Context, touched map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sure, err := beside(ctx, s.dir.Gate, func() error { return s.place(touched) })
	if err != nil || sure {
		return err
	}
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Unavailable, "upload %s was deleted by another process as unused: send it again", s.sha256)
	} else if err != nil {
		return diskError(err)
	}
	return nil
}

// place dates the file, moves it to its place and adds the folders that changed
// to touched.
func (s *stagedFile) place(touched map[string]bool) error {
	s.dir.placing.RLock()
	defer s.dir.placing.RUnlock()
	now := time.Now()
	if err := os.Chtimes(s.path, now, now); err != nil {
		return diskError(err)
	}
	if s.kept {
		return nil
	}
	folder := s.dir.folder(s.sha256)
	switch err := os.Mkdir(folder, 0o700); {
	case err == nil, errors.Is(err, fs.ErrExist):
		// Whoever made it may not have synced the folder above yet.
		touched[filepath.Dir(folder)] = true
	default:
		return diskError(err)
	}
	if err := os.Rename(s.path, s.dir.path(s.sha256)); err != nil {
		return diskError(err)
	}
	failpoint.Here(failpoint.OriginalPlaced)
	touched[folder] = true
	s.done, s.kept = true, true
	s.path = s.dir.path(s.sha256)
	return nil
}

// syncPaths makes files or folders durable, one by one or with everything
// else on their file system.
func syncPaths(root string, everything bool, paths []string) error {
	if everything {
		return syncAll(root)
	}
	for _, path := range paths {
		if err := syncPath(path); err != nil {
			return err
		}
	}
	return nil
}

// syncPath makes a file's bytes or a folder's entries durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return diskError(err)
	}
	return diskError(errors.Join(f.Sync(), f.Close()))
}
