package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"annals/events/fault"
	"annals/events/s3"

	"github.com/google/uuid"
)

// renewal is the interval at which the lease of a bucket is renewed. Tests set it
// lower.
var renewal = 20 * time.Second

// leaseDuration is the time after which a lease expires unless it is renewed.
const leaseDuration = 2 * time.Minute

// maxTries is how often a write of the lock object is tried if the server does not
// respond.
const maxTries = 3

// maxLockBytes is the maximum size of the lock object.
const maxLockBytes = 64 << 10

// lock is the lease of a bucket, stored in an object that names the holder. A process
// replaces the object only if it still has the ETag that the process has read, so only
// one of two concurrent writers succeeds. To release the lease, the holder marks it as
// free.
type lock struct {
	bucket *s3.Bucket
	owner  uuid.UUID
	etag   string // ETag of the lock object as last written by this process
}

// lease is the content of the lock object.
type lease struct {
	Owner   uuid.UUID `json:"owner"`
	Host    string    `json:"host,omitempty"`
	Process int       `json:"process,omitempty"`
	Time    time.Time `json:"time"` // by the owner's clock; makes the ETag of each write unique
	Free    bool      `json:"free,omitempty"`

	exists bool
	etag   string
	age    time.Duration // time since the last renewal, by the server's clock
}

func (h lease) held() bool { return h.exists && !h.Free && h.age < leaseDuration }

// String describes the holder.
func (h lease) String() string {
	return fmt.Sprintf("process %d on %q renewed its lease %s ago, and it expires after %s", h.Process, h.Host, h.age.Round(time.Second), leaseDuration)
}

func newLock(b *s3.Bucket) *lock { return &lock{bucket: b, owner: uuid.New()} }

// read reads the lease.
func (l *lock) read(ctx context.Context) (h lease, err error) {
	text, info, now, err := l.bucket.Load(ctx, lockFile, maxLockBytes)
	if fault.Is(err, fault.NotFound) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fault.Errorf(fault.Conflict, "%s/%s was not written by a backup: %w", l.bucket, lockFile, err)
	}
	h.exists, h.etag, h.age = true, info.ETag, now.Sub(info.Modified)
	return h, nil
}

// acquire acquires the lease. It returns an error if another process holds the lease, or
// if the prefix has other objects and no backup.
func (l *lock) acquire(ctx context.Context) error {
	for try := 1; ; try++ {
		h, err := l.read(ctx)
		switch {
		case err != nil:
			return err
		case h.exists && h.Owner == l.owner: // this process has written the lease, but the reply was lost
			l.etag = h.etag
			return l.checkConditionalWrites(ctx)
		case h.held():
			return fault.Errorf(fault.Conflict, "another backup is using %s, or was interrupted: %s; wait until it ends, or until the lease expires", l.bucket, h)
		case !h.exists:
			if err := l.refuseForeign(ctx); err != nil {
				return err
			}
		}
		err = l.write(ctx, h.etag, false)
		switch {
		case err == nil:
			return l.checkConditionalWrites(ctx)
		case fault.Is(err, fault.Conflict):
			return fault.Errorf(fault.Conflict, "another backup to %s has just started", l.bucket)
		case !fault.Is(err, fault.Unavailable) || try == maxTries:
			return err
		}
	}
}

// refuseForeign returns an error if the prefix has other objects and no backup.
func (l *lock) refuseForeign(ctx context.Context) error {
	files, err := (&Bucket{bucket: l.bucket}).Files(ctx, "")
	if _, ours := files[manifestFile]; ours || err != nil {
		return err
	}
	for _, err := range l.bucket.List(ctx, "", true) {
		if err == nil {
			err = fault.Errorf(fault.Conflict, "%s is not empty and is not a backup", l.bucket)
		}
		return err
	}
	return nil
}

// checkConditionalWrites returns an error unless the server supports conditional
// writes. Without them two backups could run concurrently.
func (l *lock) checkConditionalWrites(ctx context.Context) error {
	etag := l.etag
	switch err := l.write(ctx, "", false); {
	case fault.Is(err, fault.Conflict):
		l.etag = etag
		return nil
	case err != nil:
		return err
	}
	return errors.Join(
		fault.Errorf(fault.Invalid, "the server of %s ignores conditional writes (If-None-Match), without which two backups could run concurrently: use another server, or back up to a folder", l.bucket),
		l.write(ctx, l.etag, true))
}

// write replaces the lock object if its ETag is still etag. If free is true, it marks
// the lease as free.
func (l *lock) write(ctx context.Context, etag string, free bool) error {
	h := lease{Owner: l.owner, Process: os.Getpid(), Time: time.Now().UTC(), Free: free}
	h.Host, _ = os.Hostname() // only shown to operators
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	etag, err = l.bucket.PutIf(ctx, lockFile, text, etag)
	if err == nil {
		l.etag = etag
	}
	return err
}

// keepRenewing renews the lease until release is called. The returned context is
// cancelled if the lease was lost, or could not be renewed and may expire; release then
// returns the reason.
func (l *lock) keepRenewing(ctx context.Context) (held context.Context, release func() error) {
	held, lose := context.WithCancelCause(ctx)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		lose(l.renew(held, stop))
	}()
	return held, func() error {
		close(stop)
		<-done
		if err := context.Cause(held); err != nil && !errors.Is(err, errReleased) && ctx.Err() == nil {
			return err
		}
		// Release even if ctx has ended, so that the next backup need not wait.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return l.rewrite(ctx, true)
	}
}

var errReleased = errors.New("the lease was released")

// renew renews the lease until stop is closed, ctx ends, or the lease is lost, and returns
// the reason.
func (l *lock) renew(ctx context.Context, stop <-chan struct{}) error {
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-stop:
			return errReleased
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		sent := time.Now() // the renewed lease expires leaseDuration after this, or later
		request, cancel := context.WithTimeout(ctx, leaseDuration/4)
		err := l.rewrite(request, false)
		cancel()
		switch {
		case err == nil:
			last = sent
		case fault.Is(err, fault.Conflict), time.Since(last) > leaseDuration*3/4:
			return fault.Errorf(fault.KindOf(err), "the backup has lost its lease of %s: %w", l.bucket, err)
		}
	}
}

// rewrite writes the lock object again, to renew the lease or, if free is true, to
// release it. It retries if a reply is lost.
func (l *lock) rewrite(ctx context.Context, free bool) error {
	for try := 1; ; try++ {
		err := l.write(ctx, l.etag, free)
		switch {
		case fault.Is(err, fault.Conflict):
			current, errRead := l.read(ctx)
			switch {
			case errRead != nil:
				return errRead
			case current.Owner != l.owner:
				return err
			}
			if l.etag = current.etag; current.Free == free {
				return nil
			}
		case !fault.Is(err, fault.Unavailable):
			return err
		}
		if try == maxTries {
			return err
		}
	}
}
