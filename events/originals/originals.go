// Package originals stores uploaded files unchanged, by the SHA-256 of their bytes, in a
// folder or in an S3 bucket. An upload is staged first, and becomes an original when it
// is committed. Originals never change. It imports events/fault, events/failpoint and
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

// Store stores originals. The tests in originalstest define its contract. The name of an
// original is its SHA-256 in 64 lower-case hex digits. For other names the error is
// fault.Invalid, and for an original that does not exist fault.NotFound. A Store is safe
// for concurrent use, also by several processes.
type Store interface {
	// Stage reads r to its end and stages the bytes. If there are more than limit
	// bytes, the error is fault.TooLarge; an error of r is wrapped. An upload that is
	// neither committed nor discarded is removed after a day.
	Stage(ctx context.Context, r io.Reader, limit int64) (Staged, error)

	// Open opens an original for reading.
	Open(ctx context.Context, sha256 string) (Original, error)

	// Path returns the path of a local file that contains an original. The file must not
	// be changed, and exists until release is called.
	Path(ctx context.Context, sha256 string) (path string, release func(), err error)

	// Delete removes an original if it was last committed before a time, and reports
	// whether it removed the original. It does nothing if the original does not exist, or
	// is being committed.
	Delete(ctx context.Context, sha256 string, before time.Time) (deleted bool, err error)

	// List calls each for every original, in order of name, until each returns an error,
	// and returns that error. modified is the time of the last commit. List may miss
	// originals that are added or deleted meanwhile.
	List(ctx context.Context, each func(sha256 string, size int64, modified time.Time) error) error
}

// Original is an open original.
type Original interface {
	io.ReadSeekCloser
	Size() int64
}

// Staged is an upload that is not committed yet.
type Staged interface {
	SHA256() string
	Size() int64

	// Commit makes the upload an original, which is durable when Commit returns.
	// Uploads with the same bytes become one original. An upload may be committed
	// repeatedly, but not after Discard.
	Commit(ctx context.Context) error

	// Discard removes the upload. After Commit it does nothing.
	Discard() error
}

// grouped is an upload in a store that can commit several uploads together at lower
// cost.
type grouped interface {
	Staged
	commitGroup(ctx context.Context, group []Staged) error
}

// CommitAll commits uploads together if the store supports it, otherwise concurrently.
// After an error some of the uploads may be committed.
func CommitAll(ctx context.Context, staged []Staged) error {
	if len(staged) == 0 {
		return nil
	}
	if g, ok := staged[0].(grouped); ok {
		return g.commitGroup(ctx, staged)
	}
	const concurrency = 16
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, s := range staged {
		group.Go(func() error { return s.Commit(ctx) })
	}
	return group.Wait()
}

// checkName returns an error unless name is a SHA-256 in lower-case hex. Other names,
// such as "../x", must not reach the file system.
func checkName(name string) error {
	if len(name) != 64 || strings.Trim(name, "0123456789abcdef") != "" {
		return fault.Errorf(fault.Invalid, "the name of an original must be a SHA-256 in lower-case hex, not %.80q", name)
	}
	return nil
}
