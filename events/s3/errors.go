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

// maxTries is how often a call is tried if its errors are transient.
const maxTries = 5

// firstPause is the approximate pause before the first retry. Tests set a shorter pause.
var firstPause = 100 * time.Millisecond

// retry calls do until it succeeds or fails permanently, with exponential, randomised
// backoff.
func retry(ctx context.Context, do func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := do()
		if err != nil && !isTransient(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(0),
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: firstPause, Multiplier: 2, MaxInterval: time.Minute, RandomizationFactor: .5}))
	return err
}

// isTransient reports whether a retry may succeed: the connection failed, or the server
// replied with a transient error.
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

// classify adds the kind to an error of the client library. The cause is hidden from
// clients if only an operator can fix it.
func (b *Bucket) classify(err error) error {
	var reply minio.ErrorResponse
	errors.As(err, &reply)
	switch {
	case err == nil:
		return nil
	case isTransient(err):
		return fault.Hide(fault.Unavailable, "the S3 store does not respond", fmt.Errorf("%s: %w", b, err))
	case reply.Code == minio.NoSuchBucket:
		return fault.Hide(fault.Unavailable, "the S3 store is unavailable", fmt.Errorf("the bucket %s does not exist: create it", b.name))
	case reply.Code == minio.NoSuchKey:
		return fault.Errorf(fault.NotFound, "the object does not exist in %s: %w", b, err)
	case reply.StatusCode == http.StatusPreconditionFailed, reply.StatusCode == http.StatusConflict:
		return fault.Errorf(fault.Conflict, "another process has changed the object in %s: %w", b, err)
	case reply.StatusCode == http.StatusForbidden, reply.StatusCode == http.StatusUnauthorized, reply.Code == minio.InvalidAccessKeyID:
		return fault.Hide(fault.Unavailable, "the S3 store denies access",
			fmt.Errorf("%s: %w (%s): check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) and their permissions for the bucket", b, err, reply.Code))
	}
	return fmt.Errorf("%s: %w", b, err)
}
