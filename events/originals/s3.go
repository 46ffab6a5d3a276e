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

// S3 is a Store in a bucket: originals by their names below its prefix. Uploads are
// staged in a local folder: an object's name is the hash of its bytes, which is
// only known at their end, and not every server can rename or copy large objects.
//
// Another process may commit what Delete removes at the same moment: no server can
// remove an object only if it is not newer. Delete is for what has been unused for
// long; Sweep excludes the commits of all processes that share its Gate, except
// when a removal timed out and the server carries it out later.
type S3 struct {
	Gate Gate // between processes that commit there; nil: this is the only one

	bucket  *s3.Bucket
	staging string // local folder; if empty, that for temporary files
	busy    busy
}

// OpenS3 opens the store in a bucket. What is staged lies in a local folder,
// which is made if it is missing; OpenS3 removes from it, and from the bucket,
// what was begun more than a day ago and never committed.
func OpenS3(ctx context.Context, bucket *s3.Bucket, staging string) (*S3, error) {
	if err := os.MkdirAll(staging, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of uploads: %w", err)
	}
	before := time.Now().Add(-leftover)
	if err := sweepStaged(staging, before); err != nil {
		return nil, err
	}
	return &S3{bucket: bucket, staging: staging}, bucket.AbortUploads(ctx, before)
}

// ViewS3 returns the store in a bucket for reading: nothing there is changed.
func ViewS3(bucket *s3.Bucket) *S3 { return &S3{bucket: bucket} }

// Stage streams r to a local file while hashing it.
func (s *S3) Stage(ctx context.Context, r io.Reader, limit int64) (Staged, error) {
	u, err := stage(ctx, s.staging, r, limit)
	if err != nil {
		return nil, err
	}
	return &stagedObject{upload: u, store: s}, nil
}

// Open opens an original. It is fetched as it is read, while ctx lasts.
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

// noOriginal names the original in an error of a missing object.
func noOriginal(sha256 string, err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Errorf(fault.NotFound, "no original %s", sha256)
	}
	return err
}

// Path fetches an original to a temporary file, which release removes. Bytes
// that are not those of its name are an error.
func (s *S3) Path(ctx context.Context, name string) (path string, release func(), err error) {
	o, err := s.Open(ctx, name)
	if err != nil {
		return "", nil, err
	}
	defer o.Close()
	u, err := stage(ctx, s.staging, o, o.Size())
	if err != nil {
		return "", nil, fmt.Errorf("fetch the original %s: %w", name, err)
	}
	if u.sha256 != name {
		err := fault.Errorf(fault.Internal, "the bytes of the original %s have the SHA-256 %s", name, u.sha256)
		return "", nil, errors.Join(err, u.remove())
	}
	return u.path, func() { _ = u.remove() }, nil // what stays is swept
}

// Delete removes an original. See S3 for what other processes do meanwhile.
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
	// Servers truncate to seconds.
	if err != nil || !info.Modified.Add(time.Second).Before(before) {
		return false, err
	}
	if err := s.bucket.Remove(ctx, sha256); err != nil {
		return false, err
	}
	failpoint.Here(failpoint.OriginalRemoved)
	return true, nil
}

// List lists the objects. Their times are those of the server's clock, in full
// seconds with most.
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

// stagedObject is an upload that is to become an object.
type stagedObject struct {
	*upload
	store *S3
}

// Commit uploads the file under its name even if the object exists. That repairs a
// corrupt object, and updates its date to the time of the last commit.
func (s *stagedObject) Commit(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.path
	switch {
	case s.kept: // and the file is gone
		fetched, release, err := s.store.Path(ctx, s.sha256)
		if err != nil {
			return err
		}
		defer release()
		path = fetched
	case s.done:
		return fmt.Errorf("commit upload %s, which was discarded", s.sha256)
	}
	if err := s.store.put(ctx, path, s.sha256, s.size); err != nil {
		return err
	}
	s.done, s.kept = true, true
	return s.remove()
}

// put makes a local file an original.
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
	for there := false; !there; {
		there, err = beside(ctx, s.Gate, func() error { return s.bucket.Put(ctx, name, f, size) })
		if err == nil && !there {
			there, err = s.has(ctx, name)
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
