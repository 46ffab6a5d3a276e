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

// Bucket is a place in a bucket of S3. What is written is gathered in a
// temporary file first: a segment, or as many originals as are copied at once.
// A backup that begins while another is read takes nothing of it but the
// accounts, which it replaces, and what it prunes: the reader is told so.
type Bucket struct {
	bucket  *s3.Bucket
	scratch string // local folder, while the place is held
}

// NewBucket returns the place below a bucket's prefix.
func NewBucket(b *s3.Bucket) *Bucket { return &Bucket{bucket: b} }

func (b *Bucket) String() string { return b.bucket.String() }

// Hold writes an object that says so, and goes on to as long as it holds the
// place. A place whose holder was killed is free after two minutes, by the
// server's clock.
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

// Share looks whether somebody holds the place.
func (b *Bucket) Share(ctx context.Context) (release func() error, err error) {
	state, err := newLock(b.bucket).look(ctx)
	if err != nil {
		return nil, err
	}
	if state.held() {
		return nil, fault.Errorf(fault.Conflict, "a backup into %s is under way, or was cut off: %s", b, state)
	}
	return func() error { return nil }, nil
}

// Open opens an object.
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

// Write writes a temporary file and puts it to its name.
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

// Remove removes an object.
func (b *Bucket) Remove(ctx context.Context, name string) error { return b.bucket.Remove(ctx, name) }

// Files lists a folder.
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
