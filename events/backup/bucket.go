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

// Bucket is a Place in a bucket of S3. Everything is written to a temporary file
// first: one segment, or one batch of originals. A backup may begin while another
// process reads the Place. It removes only the accounts, which it replaces, and the
// originals that it prunes; a reader that needs those fails.
type Bucket struct {
	bucket  *s3.Bucket
	scratch string // local folder while the lease is held
}

// NewBucket returns the Place below a bucket's prefix.
func NewBucket(b *s3.Bucket) *Bucket { return &Bucket{bucket: b} }

func (b *Bucket) String() string { return b.bucket.String() }

// Hold acquires a lease, kept in an object, and renews it until release. The lease of
// a killed process expires after two minutes by the server's clock.
func (b *Bucket) Hold(ctx context.Context) (held context.Context, release func() error, err error) {
	l := newLock(b.bucket)
	if err := l.take(ctx); err != nil {
		return nil, nil, err
	}
	held, free := l.keep(ctx)
	if b.scratch, err = os.MkdirTemp("", "annals-backup-"); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a temporary folder: %w", err), free())
	}
	return held, func() error { return errors.Join(os.RemoveAll(b.scratch), free()) }, nil
}

// Share checks that no backup is in progress.
func (b *Bucket) Share(ctx context.Context) (release func() error, err error) {
	state, err := newLock(b.bucket).look(ctx)
	if err != nil {
		return nil, err
	}
	if state.held() {
		return nil, fault.Errorf(fault.Conflict, "a backup into %s is in progress, or was interrupted: %s", b, state)
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

// Write writes a temporary file and uploads it.
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

// Originals opens the prefix of originals.
func (b *Bucket) Originals(ctx context.Context) (originals.Store, error) {
	return originals.OpenS3(ctx, b.bucket.Below(originalsDir), b.scratch)
}

// View reads the prefix of originals.
func (b *Bucket) View() originals.Store { return originals.ViewS3(b.bucket.Below(originalsDir)) }
