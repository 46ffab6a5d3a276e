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

// stale is the time after the last renewal at which the lease expires.
const stale = 2 * time.Minute

// tries is how many times a write of the object is attempted if the server does not
// reply.
const tries = 3

// maxLock bounds the object that holds the lease.
const maxLock = 64 << 10

// lock is a lease of a bucket, kept in an object that names the holder. The object
// is only replaced if its ETag matches, so only one of two concurrent writers
// succeeds. Release marks the bucket as free in the object.
type lock struct {
	bucket *s3.Bucket
	owner  uuid.UUID
	etag   string // of the object as this process wrote it
}

// holding is the content of the object.
type holding struct {
	Owner   uuid.UUID `json:"owner"`
	Host    string    `json:"host,omitempty"`
	Process int       `json:"process,omitempty"`
	Time    time.Time `json:"time"` // by the owner's clock; gives each write its own ETag
	Free    bool      `json:"free,omitempty"`

	there bool
	etag  string
	age   time.Duration // by the server's clock
}

func (h holding) held() bool { return h.there && !h.Free && h.age < stale }

// String describes the holder.
func (h holding) String() string {
	return fmt.Sprintf("process %d on %q renewed its lease %s ago, which expires after %s", h.Process, h.Host, h.age.Round(time.Second), stale)
}

func newLock(b *s3.Bucket) *lock { return &lock{bucket: b, owner: uuid.New()} }

// look reads the lease.
func (l *lock) look(ctx context.Context) (h holding, err error) {
	text, info, now, err := l.bucket.Load(ctx, lockFile, maxLock)
	if fault.Is(err, fault.NotFound) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fault.Errorf(fault.Conflict, "%s/%s was not written by a backup: %w", l.bucket, lockFile, err)
	}
	h.there, h.etag, h.age = true, info.ETag, now.Sub(info.Modified)
	return h, nil
}

// take acquires the lease, unless another process holds it or the bucket contains
// anything but a backup.
func (l *lock) take(ctx context.Context) error {
	for try := 1; ; try++ {
		h, err := l.look(ctx)
		switch {
		case err != nil:
			return err
		case h.there && h.Owner == l.owner: // this process wrote it, but the reply was lost
			l.etag = h.etag
			return l.prove(ctx)
		case h.held():
			return fault.Errorf(fault.Conflict, "another backup is using %s, or was interrupted: %s", l.bucket, h)
		case !h.there:
			if err := l.refuseForeign(ctx); err != nil {
				return err
			}
		}
		err = l.write(ctx, h.etag, false)
		switch {
		case err == nil:
			return l.prove(ctx)
		case fault.Is(err, fault.Conflict):
			return fault.Errorf(fault.Conflict, "another backup has just begun to use %s", l.bucket)
		case !fault.Is(err, fault.Unavailable) || try == tries:
			return err
		}
	}
}

// refuseForeign returns an error for a bucket that holds anything but a backup.
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

// prove returns an error unless the server supports conditional writes. Without them
// two backups could run at once.
func (l *lock) prove(ctx context.Context) error {
	etag := l.etag
	switch err := l.write(ctx, "", false); {
	case fault.Is(err, fault.Conflict):
		l.etag = etag
		return nil
	case err != nil:
		return err
	}
	return errors.Join(
		fault.Errorf(fault.Invalid, "the server of %s ignores conditional writes (If-None-Match), which keep backups apart: use another server, or back up into a folder", l.bucket),
		l.write(ctx, l.etag, true))
}

// write replaces the lease, with one of this process or a free one, if its ETag is
// still etag.
func (l *lock) write(ctx context.Context, etag string, free bool) error {
	h := holding{Owner: l.owner, Process: os.Getpid(), Time: time.Now().UTC(), Free: free}
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

// keep renews the lease until release is called. The returned context is cancelled if
// the lease was lost, or could not be renewed and may expire; release then returns
// the error.
func (l *lock) keep(ctx context.Context) (held context.Context, release func() error) {
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
		return l.say(ctx, true)
	}
}

var errReleased = errors.New("the bucket was released")

// renew renews the lease until ctx ends or it is lost, and returns why.
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
		begun := time.Now() // before the request: the lease runs from when the server received it, or later
		saying, cancel := context.WithTimeout(ctx, stale/4)
		err := l.say(saying, false)
		cancel()
		switch {
		case err == nil:
			last = begun
		case fault.Is(err, fault.Conflict), time.Since(last) > stale*3/4:
			return fault.Errorf(fault.KindOf(err), "the backup has lost its lease of %s: %w", l.bucket, err)
		}
	}
}

// say writes the object again, even if the reply to an earlier write was lost.
func (l *lock) say(ctx context.Context, free bool) error {
	for try := 1; ; try++ {
		err := l.write(ctx, l.etag, free)
		switch {
		case fault.Is(err, fault.Conflict):
			h, errLook := l.look(ctx)
			switch {
			case errLook != nil:
				return errLook
			case h.Owner != l.owner:
				return err
			}
			if l.etag = h.etag; h.Free == free {
				return nil
			}
		case !fault.Is(err, fault.Unavailable):
			return err
		}
		if try == tries {
			return err
		}
	}
}
