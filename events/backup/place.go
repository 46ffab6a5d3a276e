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

// Place is where a backup lies: a Folder, or a Bucket of S3. Its files have
// paths with slashes for names; one is there whole or not at all.
type Place interface {
	// String names the place to people.
	String() string

	// Hold makes the place, unless it is there, and keeps other backups from it
	// until release is called. The context that it returns ends where that can
	// no longer be promised, and release then tells why. A place that holds
	// anything but a backup, or that another backup holds, is fault.Conflict.
	Hold(ctx context.Context) (held context.Context, release func() error, err error)

	// Share is for reading a backup. While another is under way it is
	// fault.Conflict; whether one may begin before release is up to the place.
	Share(ctx context.Context) (release func() error, err error)

	// Open opens a file for reading, as long as ctx lasts. One that is not
	// there is fault.NotFound.
	Open(ctx context.Context, name string) (io.ReadCloser, error)

	// Write makes what write writes a file, over one of that name, durable when
	// it returns. It is for who holds the place.
	Write(ctx context.Context, name string, write func(io.Writer) error) error

	// Remove removes a file; one that is not there is no error.
	Remove(ctx context.Context, name string) error

	// Files returns the sizes of the files in a folder, without those of the
	// folders in it. The name of the place itself is empty.
	Files(ctx context.Context, folder string) (map[string]int64, error)

	// Originals opens the store of originals for who holds the place.
	Originals(ctx context.Context) (originals.Store, error)

	// View gives the store of originals for reading.
	View() originals.Store
}

// page is how many records are read at a time, at most.
const page = 1000

// Look returns what a backup holds, as its manifest tells, and fault.NotFound
// where there is none that is whole.
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
		return nil, fault.Errorf(fault.NotFound, "the backup in %s never came to its end: take it again", p)
	}
	return nil, fault.Errorf(fault.NotFound, "there is no backup in %s", p)
}

// records gives the events of a backup in batches, and ends with an error
// where they are not those that were written.
func (m *Manifest) records(ctx context.Context, p Place) iter.Seq2[[]events.Record, error] {
	errStop := errors.New("no more is wanted")
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
