package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"

	"annals/events/fault"
)

// tries is how often something is tried that may pass.
const tries = 5

// firstWait is about how long is waited before the second try; tests wait less.
var firstWait = 100 * time.Millisecond

// again calls do until its error is none or one that waiting does not help, a
// few times at most, with waits that double.
func again(ctx context.Context, do func() error) error {
	for try, wait := 1, firstWait; ; try, wait = try+1, wait*2 {
		err := do()
		if !passes(err) || try == tries || ctx.Err() != nil {
			return err
		}
		if !pause(ctx, wait) {
			return err
		}
	}
}

// pause waits, half by chance so that many do not come back at once, and
// reports whether it came to the end.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait/2 + rand.N(wait)):
		return true
	case <-ctx.Done():
		return false
	}
}

// passes reports whether an error of the client may be gone a moment later: a
// connection that fails or breaks off, or a server that says so.
func passes(err error) bool {
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

// told gives an error of the client its kind. What only an operator can help
// says so to him, and to others no more than that the store is away.
func (b *Bucket) told(err error) error {
	var reply minio.ErrorResponse
	errors.As(err, &reply)
	switch {
	case err == nil:
		return nil
	case passes(err):
		return fault.Hide(fault.Unavailable, "the S3 store does not answer", fmt.Errorf("%s: %w", b, err))
	case reply.Code == minio.NoSuchBucket:
		return fault.Hide(fault.Unavailable, "the S3 store is away", fmt.Errorf("there is no bucket %s there: make it first", b.name))
	case reply.Code == minio.NoSuchKey:
		return fault.Errorf(fault.NotFound, "%s does not hold it: %w", b, err)
	case reply.StatusCode == http.StatusPreconditionFailed, reply.StatusCode == http.StatusConflict:
		return fault.Errorf(fault.Conflict, "%s holds something else by now: %w", b, err)
	case reply.StatusCode == http.StatusForbidden, reply.StatusCode == http.StatusUnauthorized, reply.Code == minio.InvalidAccessKeyID:
		return fault.Hide(fault.Unavailable, "the S3 store denies access",
			fmt.Errorf("%s: %w (%s): look at the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), and at what they may do there", b, err, reply.Code))
	}
	return fmt.Errorf("%s: %w", b, err)
}
