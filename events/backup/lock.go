package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"annals/events/fault"
	"annals/events/s3"
)

// renewal is how often who holds a bucket says so; tests say it oftener.
var renewal = 20 * time.Second

// stale is how long after that was said last another may take the bucket.
const stale = 2 * time.Minute

// tries is how often the object is written where no reply comes.
const tries = 3

// maxLock bounds the object that says who holds a bucket.
const maxLock = 64 << 10

// lock holds a bucket by an object that says who holds it. It is only ever
// written in place of what was read: of two who write at once one wins. When
// nobody holds the bucket the object says that.
type lock struct {
	bucket *s3.Bucket
	owner  uuid.UUID
	etag   string // of the object as we wrote it
}

// holding is what the object says.
type holding struct {
	Owner   uuid.UUID `json:"owner"`
	Host    string    `json:"host,omitempty"`
	Process int       `json:"process,omitempty"`
	Time    time.Time `json:"time"` // by the owner's clock, so that each has an ETag of its own
	Free    bool      `json:"free,omitempty"`

	there bool
	etag  string
	age   time.Duration // by the server's clock
}

func (h holding) held() bool { return h.there && !h.Free && h.age < stale }

// String says who holds the bucket.
func (h holding) String() string {
	return fmt.Sprintf("process %d on %q said so %s ago, and counts for %s", h.Process, h.Host, h.age.Round(time.Second), stale)
}

func newLock(b *s3.Bucket) *lock { return &lock{bucket: b, owner: uuid.New()} }

// look reads who holds the bucket.
func (l *lock) look(ctx context.Context) (h holding, err error) {
	text, info, told, err := l.bucket.Load(ctx, lockFile, maxLock)
	if fault.Is(err, fault.NotFound) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fault.Errorf(fault.Conflict, "%s/%s is not what a backup writes: %w", l.bucket, lockFile, err)
	}
	h.there, h.etag, h.age = true, info.ETag, told.Sub(info.Modified)
	return h, nil
}

// take takes the bucket, unless another holds it or it holds anything but a
// backup.
func (l *lock) take(ctx context.Context) error {
	for try := 1; ; try++ {
		h, err := l.look(ctx)
		switch {
		case err != nil:
			return err
		case h.there && h.Owner == l.owner: // we wrote it, and did not hear so
			l.etag = h.etag
			return l.prove(ctx)
		case h.held():
			return fault.Errorf(fault.Conflict, "another backup works with %s, or was cut off: %s", l.bucket, h)
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
			return fault.Errorf(fault.Conflict, "another backup has just begun to work with %s", l.bucket)
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
			err = fault.Errorf(fault.Conflict, "%s is not empty, and holds no backup", l.bucket)
		}
		return err
	}
	return nil
}

// prove returns an error unless the server refuses to write what is there
// already: one that knows no conditions would let two in.
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
		fault.Errorf(fault.Invalid, "the server of %s heeds no conditions of writes (If-None-Match), by which backups are kept apart: use another, or back up into a folder", l.bucket),
		l.write(ctx, l.etag, true))
}

// write says that the bucket is held by us, or free, if the object is the one
// with this ETag.
func (l *lock) write(ctx context.Context, etag string, free bool) error {
	h := holding{Owner: l.owner, Process: os.Getpid(), Time: time.Now().UTC(), Free: free}
	h.Host, _ = os.Hostname() // for people alone
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

// keep renews what was taken until release is called. The context that it
// returns ends where that fails for so long that another may take the bucket
// soon, or where one has; release then says so.
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
		// Also where ctx has ended: the next backup is not to wait.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return l.say(ctx, true)
	}
}

var errReleased = errors.New("the bucket was released")

// renew returns why it ended.
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
		begun := time.Now() // the server's clock may have gone on since it wrote
		saying, cancel := context.WithTimeout(ctx, stale/4)
		err := l.say(saying, false)
		cancel()
		switch {
		case err == nil:
			last = begun
		case fault.Is(err, fault.Conflict), time.Since(last) > stale*3/4:
			return fault.Errorf(fault.KindOf(err), "the backup does not hold %s any more: %w", l.bucket, err)
		}
	}
}

// say writes the object anew, also where we did not hear that we wrote it.
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
