package s3

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// List gives the objects in a folder, a path without slashes at its ends, in
// order of name: deep with those of the folders in it. An error ends it.
func (b *Bucket) List(ctx context.Context, folder string, deep bool) iter.Seq2[Info, error] {
	prefix := b.prefix
	if folder != "" {
		prefix += folder + "/"
	}
	return func(yield func(Info, error) bool) {
		for last, failed := "", 0; ; {
			reached, more, err := b.listAfter(ctx, prefix, last, deep, yield)
			if !more {
				return
			}
			if reached > last {
				last, failed = reached, 0
			}
			if failed++; err != nil && passes(err) && failed < tries && pause(ctx, firstWait<<failed) {
				continue
			}
			if err = cmp.Or(err, ctx.Err()); err != nil { // of an ended context the client says nothing
				yield(Info{}, b.told(err))
			}
			return
		}
	}
}

// listAfter gives the objects after a key. It returns the key up to which they
// were given, whether more are wanted, and what kept it from the end.
func (b *Bucket) listAfter(ctx context.Context, prefix, after string, deep bool, yield func(Info, error) bool) (reached string, more bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := minio.ListObjectsOptions{Prefix: prefix, Recursive: deep, StartAfter: after}
	for o := range b.core.ListObjectsIter(ctx, b.name, options) {
		if o.Err != nil {
			return reached, true, o.Err
		}
		reached = max(reached, o.Key) // folders come after the objects of their page
		if strings.HasSuffix(o.Key, "/") {
			continue
		}
		if !yield(Info{strings.TrimPrefix(o.Key, b.prefix), o.Size, o.ETag, o.LastModified}, nil) {
			return reached, false, nil
		}
	}
	return reached, true, nil
}

// Remove removes an object; one that is not there is no error.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	return b.told(again(ctx, func() error {
		return b.core.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
	}))
}

// AbortUploads throws away the parts of objects that were begun before a time
// and never came to their end. Where the program may not do so, or the server
// cannot, they stay: a rule of the bucket removes them.
func (b *Bucket) AbortUploads(ctx context.Context, before time.Time) error {
	key, id := "", ""
	for {
		var page minio.ListMultipartUploadsResult
		err := again(ctx, func() (err error) {
			page, err = b.core.ListMultipartUploads(ctx, b.name, b.prefix, key, id, "", 1000)
			return err
		})
		if mayNot(err) || errorIs(err, http.StatusNotFound) { // as some servers say where there are none
			return nil
		}
		if err != nil {
			return b.told(err)
		}
		for _, u := range page.Uploads {
			if !u.Initiated.Before(before) {
				continue
			}
			err := again(ctx, func() error { return b.core.AbortMultipartUpload(ctx, b.name, u.Key, u.UploadID) })
			if mayNot(err) {
				return nil
			}
			if err != nil && !errorIs(err, http.StatusNotFound) {
				return b.told(err)
			}
		}
		if !page.IsTruncated {
			return nil
		}
		key, id = page.NextKeyMarker, page.NextUploadIDMarker
	}
}

func mayNot(err error) bool {
	return errorIs(err, http.StatusForbidden) || errorIs(err, http.StatusNotImplemented) || errorIs(err, http.StatusMethodNotAllowed)
}

func errorIs(err error, status int) bool {
	var reply minio.ErrorResponse
	return errors.As(err, &reply) && reply.StatusCode == status
}
