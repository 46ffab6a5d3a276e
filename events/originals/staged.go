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

// Commit renames the file to its final path even if the original exists. This repairs a
// corrupt original, and sets the date of the original to the time of this commit.
func (s *stagedFile) Commit(ctx context.Context) error {
	return s.commitGroup(ctx, []Staged{s})
}

// commitGroup commits files of this store. It syncs all files, renames them, and syncs
// their folders. It syncs a few files one by one. For many files it syncs the whole file
// system: the cost does not depend on the number of files, but this sync also waits for
// writes of other programs.
func (s *stagedFile) commitGroup(ctx context.Context, group []Staged) error {
	files := make([]*stagedFile, 0, len(group))
	for _, g := range group {
		f, ok := g.(*stagedFile)
		if !ok || f.dir != s.dir {
			return fmt.Errorf("commit uploads: they belong to different stores")
		}
		files = append(files, f)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("commit uploads: %w", err)
	}
	const few = 4
	whole := canSyncAll && len(files) > few
	paths := make([]string, 0, len(files))
	for _, f := range files {
		if err := f.check(); err != nil {
			return err
		}
		paths = append(paths, f.path)
	}
	if err := syncPaths(s.dir.root, whole, paths); err != nil {
		return err
	}
	failpoint.Here(failpoint.OriginalsSynced)
	changed := make(map[string]bool)
	for _, f := range files {
		if err := f.put(ctx, changed); err != nil {
			return err
		}
	}
	paths = paths[:0]
	for folder := range changed {
		paths = append(paths, folder)
	}
	if err := syncPaths(s.dir.root, whole, paths); err != nil {
		return err
	}
	failpoint.Here(failpoint.OriginalsDurable)
	return nil
}

// check returns an error unless the file can be committed and has the size that was
// hashed.
func (s *stagedFile) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.path
	switch {
	case s.committed:
		path = s.dir.path(s.sha256)
	case s.done:
		return fmt.Errorf("commit upload %s: it was discarded", s.sha256)
	}
	info, err := os.Stat(path)
	if err != nil {
		return diskError(err)
	}
	if info.Size() != s.size {
		return fmt.Errorf("commit upload %s: its file has %d bytes instead of %d", s.sha256, info.Size(), s.size)
	}
	return nil
}

// put renames the file to its final path, and checks that no other process has deleted
// the original meanwhile.
func (s *stagedFile) put(ctx context.Context, changed map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sure, err := passing(ctx, s.dir.Gate, func() error { return s.rename(changed) })
	if err != nil || sure {
		return err
	}
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Unavailable, "another process deleted upload %s as unused: upload it again", s.sha256)
	} else if err != nil {
		return diskError(err)
	}
	return nil
}

// rename sets the date of the file and renames the file to its final path. It adds to
// the set changed the folders that must be synced.
func (s *stagedFile) rename(changed map[string]bool) error {
	s.dir.mu.RLock()
	defer s.dir.mu.RUnlock()
	now := time.Now()
	if err := os.Chtimes(s.path, now, now); err != nil {
		return diskError(err)
	}
	if s.committed {
		return nil
	}
	folder := s.dir.folder(s.sha256)
	switch err := os.Mkdir(folder, 0o700); {
	case err == nil, errors.Is(err, fs.ErrExist):
		// Another process may have created the folder and not synced the parent folder
		// yet.
		changed[filepath.Dir(folder)] = true
	default:
		return diskError(err)
	}
	if err := os.Rename(s.path, s.dir.path(s.sha256)); err != nil {
		return diskError(err)
	}
	failpoint.Here(failpoint.OriginalPlaced)
	changed[folder] = true
	s.done, s.committed = true, true
	s.path = s.dir.path(s.sha256)
	return nil
}

// syncPaths makes files or folders durable, one by one or by syncing the whole file
// system.
func syncPaths(root string, whole bool, paths []string) error {
	if whole {
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
