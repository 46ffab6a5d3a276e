// Package backup copies a log, its originals and the accounts into a folder,
// beside the running service, and gives them back from it.
//
// The folder holds manifest.json; the events in log/, as segments that are
// never changed: gzip of records, each after its length; the originals by the
// SHA-256 of their bytes in originals/; and a copy of the account store. A
// backup into a folder that holds one already adds what is new. Nothing is
// kept in memory that grows with events or documents.
//
// It imports events, events/fault and events/originals, nothing else of ours.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"annals/events"
	"annals/events/fault"
)

// within returns the path of a file that a manifest names.
func within(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }

// page is how many records are read at a time, at most.
const page = 1000

// lockForWriting makes the folder of a backup, unless it is there, and keeps
// everybody else from it until unlock is called. A folder that holds anything
// but a backup is refused.
func lockForWriting(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the backup: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder of the backup: %w", err)
	}
	foreign := false
	for _, e := range entries {
		if e.Name() == lockFile || e.Name() == manifestFile {
			foreign = false
			break
		}
		foreign = foreign || e.Name() != "lost+found" // a file system's own
	}
	if foreign {
		return nil, fault.Errorf(fault.Conflict, "%s is not empty, and holds no backup", dir)
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	if held, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock the folder of the backup: %w", err)
	} else if !held {
		return nil, fault.Errorf(fault.Conflict, "another backup or restore works with %s at this moment", dir)
	}
	return lock.Unlock, nil
}

// lockForReading keeps backups, but not other readers, from a folder. Where
// there is no lock file nobody can be writing: it is the first that a backup
// makes.
func lockForReading(dir string) (unlock func() error, err error) {
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetFlag(os.O_RDONLY))
	held, err := lock.TryRLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() error { return nil }, nil
	case err != nil:
		return nil, fmt.Errorf("lock the folder of the backup: %w", err)
	case !held:
		return nil, fault.Errorf(fault.Conflict, "a backup into %s is under way", dir)
	}
	return lock.Unlock, nil
}

// Look returns what a backup holds, as its manifest tells, and fault.NotFound
// where there is none that is whole.
func Look(dir string) (*Manifest, error) {
	m, err := readManifest(filepath.Join(dir, manifestFile))
	if !fault.Is(err, fault.NotFound) {
		return m, err
	}
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err == nil {
		return nil, fault.Errorf(fault.NotFound, "the backup in %s never came to its end: take it again", dir)
	}
	return nil, fault.Errorf(fault.NotFound, "there is no backup in %s", dir)
}

// records gives the events of a backup in batches, and ends with an error
// where they are not those that were written.
func (m *Manifest) records(ctx context.Context, dir string) iter.Seq2[[]events.Record, error] {
	errStop := errors.New("no more is wanted")
	return func(yield func([]events.Record, error) bool) {
		var before Digest
		for _, s := range m.Segments {
			err := s.read(ctx, within(dir, s.Name), before, func(batch []events.Record) error {
				if !yield(batch, nil) {
					return errStop
				}
				return nil
			})
			if errors.Is(err, errStop) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			before = s.Digest
		}
		if before != m.Digest {
			yield(nil, fault.Errorf(fault.Internal, "the manifest of %s does not fit its segments", dir))
		}
	}
}
