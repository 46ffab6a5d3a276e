package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"annals/events/fault"

	"github.com/cenkalti/backoff/v5"
	"github.com/minio/minio-go/v7"
)

// tries bounds how often a call is made whose error is transient.
const tries = 5

// firstPause is about the pause before the second try; tests wait less.
var firstPause = 100 * time.Millisecond

// retry calls do until it succeeds or fails for good, with pauses that double, at
// random so that many callers do not come back at once.
func retry(ctx context.Context, do func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := do()
		if err != nil && !isTransient(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(0),
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: firstPause, Multiplier: 2, MaxInterval: time.Minute, RandomizationFactor: .5}))
	return err
}

// isTransient reports whether a call that failed may succeed a moment later: the
// connection failed or was cut, or the server says so.
func isTransient(err error) bool {
	var reply minio.ErrorResponse
	var local *fs.PathError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &local):
		return false
	case errors.As(err, &reply):
		return reply.StatusCode >= 500 && reply.StatusCode != http.StatusNotImplemented ||
			reply.StatusCode == http.StatusTooManyRequests || reply.StatusCode == http.StatusRequestTimeout
	}
	return true
}

// classify gives an error of the client its kind. The cause of an error that only
// an operator can mend is for operators alone.
func (b *Bucket) classify(err error) error {
	var reply minio.ErrorResponse
	errors.As(err, &reply)
	switch {
	case err == nil:
		return nil
	case isTransient(err):
		return fault.Hide(fault.Unavailable, "the S3 store does not respond", fmt.Errorf("%s: %w", b, err))
	case reply.Code == minio.NoSuchBucket:
		return fault.Hide(fault.Unavailable, "the S3 store is unavailable", fmt.Errorf("it has no bucket %s: create that first", b.name))
	case reply.Code == minio.NoSuchKey:
		return fault.Errorf(fault.NotFound, "%s has no such object: %w", b, err)
	case reply.StatusCode == http.StatusPreconditionFailed, reply.StatusCode == http.StatusConflict:
		return fault.Errorf(fault.Conflict, "%s holds another object by now: %w", b, err)
	case reply.StatusCode == http.StatusForbidden, reply.StatusCode == http.StatusUnauthorized, reply.Code == minio.InvalidAccessKeyID:
		return fault.Hide(fault.Unavailable, "the S3 store denies access",
			fmt.Errorf("%s: %w (%s): check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) and their rights on the bucket", b, err, reply.Code))
	}
	return fmt.Errorf("%s: %w", b, err)
}
