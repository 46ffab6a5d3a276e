package originals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/s3"
)

// S3 is a Store in a bucket. An object's name is the hash of its bytes, which is known
// only at the end of an upload, and not every server can rename or copy large objects.
// Therefore uploads are staged in a local folder.
//
// S3 has no request that removes an object only if it is old. Delete may therefore
// remove an original that another process commits at the same time. Sweep excludes such
// commits by the Gate, except if a removal times out and the server executes it later.
type S3 struct {
	Gate Gate // shared by all processes that commit to the store; nil if this is the only process

	bucket  *s3.Bucket
	staging string // local folder; empty means the folder for temporary files
	busy    busy
}

// OpenS3 opens the store in a bucket. staging is a local folder for uploads, which is
// created if it is missing. OpenS3 removes uploads that were begun more than a day ago
// from the folder and from the bucket.
func OpenS3(ctx context.Context, bucket *s3.Bucket, staging string) (*S3, error) {
	if err := os.MkdirAll(staging, 0o700); err != nil {
		return nil, fmt.Errorf("create the upload folder: %w", err)
	}
	before := time.Now().Add(-maxStaged)
	if err := sweepStaged(staging, before); err != nil {
		return nil, err
	}
	return &S3{bucket: bucket, staging: staging}, bucket.AbortUploads(ctx, before)
}

// ViewS3 returns the store in a bucket, for reading only.
func ViewS3(bucket *s3.Bucket) *S3 { return &S3{bucket: bucket} }

// Stage streams r to a local file while hashing it.
func (s *S3) Stage(ctx context.Context, r io.Reader, limit int64) (Staged, error) {
	u, err := stage(ctx, s.staging, r, limit)
	if err != nil {
		return nil, err
	}
	return &stagedObject{upload: u, store: s}, nil
}

// Open opens an original for reading until ctx ends.
func (s *S3) Open(ctx context.Context, sha256 string) (Original, error) {
	if err := checkName(sha256); err != nil {
		return nil, err
	}
	o, err := s.bucket.Open(ctx, sha256)
	if err != nil {
		return nil, noOriginal(sha256, err)
	}
	return o, nil
}

// noOriginal returns the error for an object that cannot be opened.
func noOriginal(sha256 string, err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Errorf(fault.NotFound, "there is no original %s", sha256)
	}
	return err
}

// Path downloads an original to a temporary file, which release removes. It returns an
// error if the SHA-256 is wrong.
func (s *S3) Path(ctx context.Context, name string) (path string, release func(), err error) {
	o, err := s.Open(ctx, name)
	if err != nil {
		return "", nil, err
	}
	defer o.Close()
	u, err := stage(ctx, s.staging, o, o.Size())
	if err != nil {
		return "", nil, fmt.Errorf("download the original %s: %w", name, err)
	}
	if u.sha256 != name {
		err := fault.Errorf(fault.Internal, "the original %s is corrupt: its bytes have the SHA-256 %s", name, u.sha256)
		return "", nil, errors.Join(err, u.remove())
	}
	return u.path, func() { _ = u.remove() }, nil // if remove fails, the sweep removes the file
}

// Delete removes an original. See the comment on S3 about concurrent commits by other
// processes.
func (s *S3) Delete(ctx context.Context, sha256 string, before time.Time) (deleted bool, err error) {
	if err := checkName(sha256); err != nil {
		return false, err
	}
	done, ok := s.busy.delete(sha256)
	if !ok {
		return false, nil
	}
	defer done()
	info, err := s.bucket.Stat(ctx, sha256)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	// Add a second, because servers truncate times to seconds.
	if err != nil || !info.Modified.Add(time.Second).Before(before) {
		return false, err
	}
	if err := s.bucket.Remove(ctx, sha256); err != nil {
		return false, err
	}
	failpoint.Here(failpoint.OriginalRemoved)
	return true, nil
}

// List lists the objects. Times are those of the server's clock, on most servers in full
// seconds.
func (s *S3) List(ctx context.Context, each func(sha256 string, size int64, modified time.Time) error) error {
	for o, err := range s.bucket.List(ctx, "", false) {
		if err != nil {
			return fmt.Errorf("list originals: %w", err)
		}
		if checkName(o.Name) != nil {
			continue
		}
		if err := each(o.Name, o.Size, o.Modified); err != nil {
			return err
		}
	}
	return nil
}

// stagedObject is a staged upload of an S3 store.
type stagedObject struct {
	*upload
	store *S3
}

// Commit uploads the file even if the object exists. This repairs a corrupt object, and
// sets the object's date to the time of this commit.
func (s *stagedObject) Commit(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.path
	switch {
	case s.committed: // the local file has been removed
		downloaded, release, err := s.store.Path(ctx, s.sha256)
		if err != nil {
			return err
		}
		defer release()
		path = downloaded
	case s.done:
		return fmt.Errorf("commit upload %s: it was discarded", s.sha256)
	}
	if err := s.store.put(ctx, path, s.sha256, s.size); err != nil {
		return err
	}
	s.done, s.committed = true, true
	return s.remove()
}

// put uploads a local file as an original.
func (s *S3) put(ctx context.Context, path, name string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return diskError(err)
	}
	defer f.Close()
	done, err := s.busy.commit(ctx, name)
	if err != nil {
		return fmt.Errorf("commit upload %s: %w", name, err)
	}
	defer done()
	for exists := false; !exists; {
		exists, err = passing(ctx, s.Gate, func() error { return s.bucket.Put(ctx, name, f, size) })
		if err == nil && !exists {
			exists, err = s.has(ctx, name)
		}
		if err != nil {
			return fmt.Errorf("commit upload %s: %w", name, err)
		}
	}
	failpoint.Here(failpoint.OriginalPlaced)
	return nil
}

func (s *S3) has(ctx context.Context, name string) (bool, error) {
	_, err := s.bucket.Stat(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}
