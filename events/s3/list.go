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

// List yields the objects in a folder, in order of name. After an error it ends. The
// folder is a path without slashes at its ends; deep includes the objects in its
// subfolders.
func (b *Bucket) List(ctx context.Context, folder string, deep bool) iter.Seq2[Info, error] {
	prefix := b.prefix
	if folder != "" {
		prefix += folder + "/"
	}
	return func(yield func(Info, error) bool) {
		last, wanted, complete := "", true, false
		for wanted && !complete {
			err := retry(ctx, func() error {
				reached, more, err := b.listAfter(ctx, prefix, last, deep, yield)
				progress := reached > last
				last, wanted, complete = max(last, reached), more, err == nil
				if progress && isTransient(err) {
					return nil // end this retry, so that the next page gets the full number of tries
				}
				return err
			})
			if err = cmp.Or(err, ctx.Err()); err != nil && wanted { // the client library does not report ctx.Err()
				yield(Info{}, b.classify(err))
				return
			}
		}
	}
}

// listAfter yields the objects after a key. It returns the last listed key, whether the
// caller of List wants further objects, and an error if the listing is incomplete.
func (b *Bucket) listAfter(ctx context.Context, prefix, after string, deep bool, yield func(Info, error) bool) (reached string, more bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := minio.ListObjectsOptions{Prefix: prefix, Recursive: deep, StartAfter: after}
	for o := range b.core.ListObjectsIter(ctx, b.name, options) {
		if o.Err != nil {
			return reached, true, o.Err
		}
		reached = max(reached, o.Key) // not o.Key, because the folders of a page are listed after its objects
		if strings.HasSuffix(o.Key, "/") {
			continue
		}
		if !yield(Info{strings.TrimPrefix(o.Key, b.prefix), o.Size, o.ETag, o.LastModified}, nil) {
			return reached, false, nil
		}
	}
	return reached, true, nil
}

// Remove removes an object. It does nothing if the object does not exist.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	return b.classify(retry(ctx, func() error {
		return b.core.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
	}))
}

// AbortUploads aborts incomplete multipart uploads that were begun before a time. It does
// nothing if the server does not support or permit this; a lifecycle rule of the bucket
// can abort them instead.
func (b *Bucket) AbortUploads(ctx context.Context, before time.Time) error {
	key, id := "", ""
	for {
		var page minio.ListMultipartUploadsResult
		err := retry(ctx, func() (err error) {
			page, err = b.core.ListMultipartUploads(ctx, b.name, b.prefix, key, id, "", 1000)
			return err
		})
		if isDenied(err) || errorIs(err, http.StatusNotFound) { // some servers return 404 if there are no uploads
			return nil
		}
		if err != nil {
			return b.classify(err)
		}
		for _, u := range page.Uploads {
			if !u.Initiated.Before(before) {
				continue
			}
			err := retry(ctx, func() error { return b.core.AbortMultipartUpload(ctx, b.name, u.Key, u.UploadID) })
			if isDenied(err) {
				return nil
			}
			if err != nil && !errorIs(err, http.StatusNotFound) {
				return b.classify(err)
			}
		}
		if !page.IsTruncated {
			return nil
		}
		key, id = page.NextKeyMarker, page.NextUploadIDMarker
	}
}

func isDenied(err error) bool {
	return errorIs(err, http.StatusForbidden) || errorIs(err, http.StatusNotImplemented) || errorIs(err, http.StatusMethodNotAllowed)
}

func errorIs(err error, status int) bool {
	var reply minio.ErrorResponse
	return errors.As(err, &reply) && reply.StatusCode == status
}
