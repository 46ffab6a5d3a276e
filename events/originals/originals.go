// Package originals keeps the uploaded files, exactly as they came, under the
// SHA-256 of their bytes. What is staged counts for nothing until it is
// committed; what is committed is never changed. They lie in a folder, or in a
// bucket of S3. It imports events/fault, events/failpoint and events/s3, and
// nothing else of ours.
package originals

import (
	"context"
	"io"
	"time"

	"annals/events/fault"

	"golang.org/x/sync/errgroup"
)

// Store keeps originals. What a store promises is what originalstest checks.
// A SHA-256 is named by 64 lower-case hex digits; a name of another shape is
// fault.Invalid, one that is not there fault.NotFound. A Store is safe for use
// by several goroutines, and by several processes at once.
type Store interface {
	// Stage reads r to its end and keeps the bytes aside. More than limit
	// bytes are fault.TooLarge; an error of r is returned wrapped. Whatever
	// is neither committed nor discarded goes away by itself after a day.
	Stage(ctx context.Context, r io.Reader, limit int64) (Staged, error)

	// Open opens an original for reading.
	Open(ctx context.Context, sha256 string) (Original, error)

	// Path gives an original as a local file, for readers that need one. The
	// file must not be changed, and holds until release is called.
	Path(ctx context.Context, sha256 string) (path string, release func(), err error)

	// Delete removes an original that was last committed before a time, and
	// reports whether it did. One that is not there is no error. What is
	// committed while Delete runs stays.
	Delete(ctx context.Context, sha256 string, before time.Time) (deleted bool, err error)

	// List calls each with every original, in order of name, until an error
	// of each, which it returns. modified is when the same bytes were last
	// committed. What is added or removed meanwhile may be missed.
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

	// Discard throws the upload away. After Commit it does nothing.
	Discard() error
}

// grouped is a Staged whose store commits many at once for less than one by
// one.
type grouped interface {
	Staged
	commitGroup(ctx context.Context, group []Staged) error
}

// CommitAll commits all of staged, side by side or, where the store can, in
// one go. After an error some of them may be committed.
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

// checkName returns an error unless name is a SHA-256 in lower-case hex, so
// that no name can lead out of a store.
func checkName(name string) error {
	ok := len(name) == 64
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
	}
	if !ok {
		return fault.Errorf(fault.Invalid, "%.80q is not a SHA-256 in lower-case hex", name)
	}
	return nil
}
