// Package originals stores uploaded files unchanged, by the SHA-256 of their bytes, in a
// folder or in a bucket of S3. An upload is staged first, and becomes an original when
// it is committed; originals never change. It imports events/fault, events/failpoint and
// events/s3, and no other package of this module.
package originals

import (
	"context"
	"io"
	"strings"
	"time"

	"annals/events/fault"

	"golang.org/x/sync/errgroup"
)

// Store stores originals. Its contract is what originalstest checks. An original is
// named by its SHA-256 in 64 lower-case hex digits. The error for any other name is
// fault.Invalid, for an original that does not exist fault.NotFound. A Store is safe for
// concurrent use, also by several processes.
type Store interface {
	// Stage reads r to its end and stages the bytes. More than limit bytes are
	// fault.TooLarge; an error of r is returned wrapped. An upload that is
	// neither committed nor discarded is removed after a day.
	Stage(ctx context.Context, r io.Reader, limit int64) (Staged, error)

	// Open opens an original for reading.
	Open(ctx context.Context, sha256 string) (Original, error)

	// Path returns an original as a local file. It must not be changed, and is
	// valid until release is called.
	Path(ctx context.Context, sha256 string) (path string, release func(), err error)

	// Delete removes an original that was last committed before a time, and
	// reports whether it did. One that is not there is no error. What is
	// committed while Delete runs stays.
	Delete(ctx context.Context, sha256 string, before time.Time) (deleted bool, err error)

	// List calls each with every original, in order of name, until an error of
	// each, which it returns. modified is when the same bytes were last
	// committed. Concurrent changes may be missed.
	List(ctx context.Context, each func(sha256 string, size int64, modified time.Time) error) error
}

// Original is the bytes of one upload.
type Original interface {
	io.ReadSeekCloser
	Size() int64
}

// Staged is an upload that is stored but does not count yet.
type Staged interface {
	SHA256() string
	Size() int64

	// Commit makes the upload an original, durable when it returns. The same
	// bytes committed twice are one original. What was discarded cannot be
	// committed; what was committed may be again.
	Commit(ctx context.Context) error

	// Discard removes the upload. After Commit it does nothing.
	Discard() error
}

// grouped is a Staged whose store commits many at once more cheaply.
type grouped interface {
	Staged
	commitGroup(ctx context.Context, group []Staged) error
}

// CommitAll commits all of staged, concurrently or, if the store can, in one go.
// After an error some of them may be committed.
func CommitAll(ctx context.Context, staged []Staged) error {
	if len(staged) == 0 {
		return nil
	}
	if g, ok := staged[0].(grouped); ok {
		return g.commitGroup(ctx, staged)
	}
	const atOnce = 16
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, s := range staged {
		group.Go(func() error { return s.Commit(ctx) })
	}
	return group.Wait()
}

// checkName returns an error unless name is a SHA-256 in lower-case hex: no other
// name may reach the file system.
func checkName(name string) error {
	if len(name) != 64 || strings.Trim(name, "0123456789abcdef") != "" {
		return fault.Errorf(fault.Invalid, "%.80q is not a SHA-256 in lower-case hex", name)
	}
	return nil
}
