package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"annals/events/fault"
	"annals/events/originals"
	"annals/events/s3"
)

// Bucket is a Location in an S3 bucket. Segments and originals are written to a
// temporary file before they are uploaded. A backup may begin while another process
// reads the Location. That process then fails if it needs a copy of the accounts that
// the backup replaces, or originals that the backup prunes.
type Bucket struct {
	bucket  *s3.Bucket
	scratch string // temporary folder while the lease is held
}

// NewBucket returns the Location below the prefix of b.
func NewBucket(b *s3.Bucket) *Bucket { return &Bucket{bucket: b} }

func (b *Bucket) String() string { return b.bucket.String() }

// Lock acquires a lease, which is stored in an object, and renews it until release. The
// lease of a killed process expires two minutes after the last renewal, by the server's
// clock.
func (b *Bucket) Lock(ctx context.Context) (held context.Context, release func() error, err error) {
	l := newLock(b.bucket)
	if err := l.acquire(ctx); err != nil {
		return nil, nil, err
	}
	held, free := l.keepRenewing(ctx)
	if b.scratch, err = os.MkdirTemp("", "annals-backup-"); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("create a temporary folder: %w", err), free())
	}
	return held, func() error { return errors.Join(os.RemoveAll(b.scratch), free()) }, nil
}

// RLock checks that no backup is in progress.
func (b *Bucket) RLock(ctx context.Context) (release func() error, err error) {
	current, err := newLock(b.bucket).read(ctx)
	if err != nil {
		return nil, err
	}
	if current.held() {
		return nil, fault.Errorf(fault.Conflict, "a backup to %s is in progress, or was interrupted: %s; wait until it ends, or until the lease expires", b, current)
	}
	return func() error { return nil }, nil
}

// Open opens an object for reading.
func (b *Bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	o, err := b.bucket.Open(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.Errorf(fault.NotFound, "there is no %s/%s", b, name)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Write uploads the output of write, via a temporary file.
func (b *Bucket) Write(ctx context.Context, name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(b.scratch, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if err := write(f); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return b.bucket.Put(ctx, name, f, info.Size())
}

// Remove deletes an object.
func (b *Bucket) Remove(ctx context.Context, name string) error { return b.bucket.Remove(ctx, name) }

// Files returns the sizes of the objects of a folder by their names.
func (b *Bucket) Files(ctx context.Context, folder string) (map[string]int64, error) {
	sizes := make(map[string]int64)
	for o, err := range b.bucket.List(ctx, folder, false) {
		if err != nil {
			return nil, err
		}
		sizes[o.Name] = o.Size
	}
	return sizes, nil
}

// Originals opens the store of originals.
func (b *Bucket) Originals(ctx context.Context) (originals.Store, error) {
	return originals.OpenS3(ctx, b.bucket.Below(originalsDir), b.scratch)
}

// View opens the store of originals for reading.
func (b *Bucket) View() originals.Store { return originals.ViewS3(b.bucket.Below(originalsDir)) }
