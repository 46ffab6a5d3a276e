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

// Place is the storage of a backup: a Folder, or a Bucket of S3. Files are named by
// paths with slashes. A file either exists completely or not at all.
type Place interface {
	// String returns the name that is shown to operators.
	String() string

	// Hold creates the place if it is missing, and excludes other backups until
	// release is called. The returned context is cancelled if the exclusion is
	// lost; release then returns the reason. The error is fault.Conflict if the
	// place contains other files, or another backup holds it.
	Hold(ctx context.Context) (held context.Context, release func() error, err error)

	// Share prepares for reading a backup. The error is fault.Conflict while a
	// backup is being written. Whether a new backup may begin before release is
	// called depends on the kind of place.
	Share(ctx context.Context) (release func() error, err error)

	// Open opens a file for reading until ctx ends. The error is fault.NotFound
	// if the file does not exist.
	Open(ctx context.Context, name string) (io.ReadCloser, error)

	// Write creates or replaces a file with the output of write. The file is
	// durable when Write returns. The caller must hold the place.
	Write(ctx context.Context, name string, write func(io.Writer) error) error

	// Remove removes a file. It does nothing if the file does not exist.
	Remove(ctx context.Context, name string) error

	// Files returns the sizes of the files directly in a folder, by name. The
	// empty name is the root of the place.
	Files(ctx context.Context, folder string) (map[string]int64, error)

	// Originals opens the store of originals. The caller must hold the place.
	Originals(ctx context.Context) (originals.Store, error)

	// View opens the store of originals for reading.
	View() originals.Store
}

// page is the maximum number of records per read.
const page = 1000

// Look returns the manifest of a backup. The error is fault.NotFound if the place
// holds no complete backup.
func Look(ctx context.Context, p Place) (*Manifest, error) {
	m, err := readManifest(ctx, p, manifestFile)
	if !fault.Is(err, fault.NotFound) {
		return m, err
	}
	files, err := p.Files(ctx, "")
	if err != nil {
		return nil, err
	}
	if _, begun := files[lockFile]; begun {
		return nil, fault.Errorf(fault.NotFound, "the backup in %s is incomplete: run it again", p)
	}
	return nil, fault.Errorf(fault.NotFound, "%s holds no backup", p)
}

// records yields the events of a backup in batches. The last pair is an error if the
// events are not those that were written.
func (m *Manifest) records(ctx context.Context, p Place) iter.Seq2[[]events.Record, error] {
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
			yield(nil, fault.Errorf(fault.Internal, "the manifest of %s does not fit its segments", p))
		}
	}
}
