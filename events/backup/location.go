package backup

import (
	"context"
	"errors"
	"io"
	"iter"

	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
)

// Location stores a backup: a Folder or an S3 Bucket. File names are paths with slashes.
// A file either exists completely or not at all.
type Location interface {
	// String returns the name that is shown to operators.
	String() string

	// Lock creates the location if it is missing, and excludes other backups until
	// release is called. The returned context is cancelled if the lock is lost;
	// release then returns the reason. The error is fault.Conflict if the location
	// contains other files, or another backup has locked it.
	Lock(ctx context.Context) (held context.Context, release func() error, err error)

	// RLock is called before a backup is read. The error is fault.Conflict while a
	// backup is being written. A Folder excludes new backups until release is called;
	// a Bucket does not.
	RLock(ctx context.Context) (release func() error, err error)

	// Open opens a file for reading until ctx ends. The error is fault.NotFound
	// if the file does not exist.
	Open(ctx context.Context, name string) (io.ReadCloser, error)

	// Write creates or replaces a file with the output of write. The file is
	// durable when Write returns. The caller must hold the lock.
	Write(ctx context.Context, name string, write func(io.Writer) error) error

	// Remove removes a file. It does nothing if the file does not exist.
	Remove(ctx context.Context, name string) error

	// Files returns the sizes of the files directly in a folder, by name. The
	// empty name is the root.
	Files(ctx context.Context, folder string) (map[string]int64, error)

	// Originals opens the store of originals. The caller must hold the lock.
	Originals(ctx context.Context) (originals.Store, error)

	// View opens the store of originals for reading.
	View() originals.Store
}

// page is the maximum number of events in one read of the log or of a backup.
const page = 1000

// LoadManifest returns the manifest of a backup. The error is fault.NotFound if there is
// no complete backup.
func LoadManifest(ctx context.Context, p Location) (*Manifest, error) {
	m, err := readManifest(ctx, p, manifestFile)
	if !fault.Is(err, fault.NotFound) {
		return m, err
	}
	files, err := p.Files(ctx, "")
	if err != nil {
		return nil, err
	}
	if _, started := files[lockFile]; started {
		return nil, fault.Errorf(fault.NotFound, "the backup in %s is incomplete: run annals backup again", p)
	}
	return nil, fault.Errorf(fault.NotFound, "there is no backup in %s", p)
}

// records yields the events of a backup in batches. If the events do not match the
// digests, the last pair of the sequence has an error.
func (m *Manifest) records(ctx context.Context, p Location) iter.Seq2[[]events.Record, error] {
	errStop := errors.New("iteration stopped")
	return func(yield func([]events.Record, error) bool) {
		var before Digest
		for _, s := range m.Segments {
			err := s.read(ctx, p, before, func(batch []events.Record) error {
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
			yield(nil, fault.Errorf(fault.Internal, "the manifest of %s does not match its segments", p))
		}
	}
}
