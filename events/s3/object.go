package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"annals/events/fault"

	"github.com/minio/minio-go/v7"
)

// Stat returns the properties of an object.
func (b *Bucket) Stat(ctx context.Context, name string) (Info, error) {
	var o minio.ObjectInfo
	err := retry(ctx, func() (err error) {
		o, err = b.core.StatObject(ctx, b.name, b.prefix+name, minio.StatObjectOptions{})
		return err
	})
	if err = b.classify(err); fault.Is(err, fault.NotFound) {
		return Info{}, b.missing(ctx, err)
	}
	return Info{name, o.Size, o.ETag, o.LastModified}, err
}

// missing returns the error for a HEAD request with the reply 404. It checks whether the
// object or the whole bucket is missing, because the reply does not say that.
func (b *Bucket) missing(ctx context.Context, err error) error {
	exists, errExists := b.core.BucketExists(ctx, b.name)
	if errExists == nil && !exists {
		return b.classify(minio.ErrorResponse{Code: minio.NoSuchBucket, StatusCode: http.StatusNotFound})
	}
	return err
}

// Load reads an object of up to limit bytes. date is the time of the reply by the server's
// clock.
func (b *Bucket) Load(ctx context.Context, name string, limit int64) (content []byte, info Info, date time.Time, err error) {
	err = retry(ctx, func() error {
		body, o, header, err := b.core.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer body.Close()
		info = Info{name, o.Size, o.ETag, o.LastModified}
		if content, err = io.ReadAll(io.LimitReader(body, limit+1)); err != nil {
			return err
		}
		date, err = http.ParseTime(header.Get("Date"))
		return err
	})
	if err = b.classify(err); err == nil && int64(len(content)) > limit {
		err = fault.Errorf(fault.TooLarge, "%s/%s has more than %d bytes", b, name, limit)
	}
	return content, info, date, err
}

// Object is an open object. Its bytes are downloaded while it is read. After a lost
// connection the download continues at the same offset.
type Object struct {
	ctx    context.Context
	bucket *Bucket
	info   Info
	at     int64
	body   io.ReadCloser // download from offset at; nil before the first read
}

// Open opens an object for reading until ctx ends. All bytes are from the same version
// of the object.
func (b *Bucket) Open(ctx context.Context, name string) (*Object, error) {
	info, err := b.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Object{ctx: ctx, bucket: b, info: info}, nil
}

// Size returns the size of the object in bytes.
func (o *Object) Size() int64 { return o.info.Size }

// Read implements io.Reader.
func (o *Object) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if o.at >= o.info.Size {
		return 0, io.EOF
	}
	err = retry(o.ctx, func() (err error) {
		if n, err = o.read(p); n > 0 {
			return nil
		}
		return err
	})
	o.at += int64(n)
	return n, o.bucket.classify(err)
}

// read reads from the body. It requests the body if there is no open body, and closes
// the body after an error.
func (o *Object) read(p []byte) (n int, err error) {
	if o.body == nil {
		if o.body, err = o.fetch(); err != nil {
			return 0, err
		}
	}
	n, err = o.body.Read(p[:min(int64(len(p)), o.info.Size-o.at)])
	if err != nil {
		err = errors.Join(noEOF(err), o.Close())
	}
	return n, err
}

// noEOF replaces io.EOF by io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (o *Object) fetch() (io.ReadCloser, error) {
	var options minio.GetObjectOptions
	if err := options.SetMatchETag(o.info.ETag); err != nil {
		return nil, err
	}
	if o.at > 0 {
		if err := options.SetRange(o.at, 0); err != nil {
			return nil, err
		}
	}
	body, _, _, err := o.bucket.core.GetObject(o.ctx, o.bucket.name, o.bucket.prefix+o.info.Name, options)
	return body, err
}

// Seek implements io.Seeker.
func (o *Object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.info.Size
	}
	if offset < 0 {
		return o.at, errors.New("seek to a negative offset of an object")
	}
	if offset == o.at {
		return o.at, nil
	}
	o.at = offset
	return o.at, o.Close()
}

// Close ends the download. A later Read starts it again.
func (o *Object) Close() error {
	if o.body == nil {
		return nil
	}
	err := o.body.Close()
	o.body = nil
	return err
}
