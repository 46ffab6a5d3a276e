package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

// partBytes is the minimum size of a part of a multipart upload. Tests set a lower size.
var partBytes int64 = 16 << 20

const (
	maxParts    = 10_000 // maximum number of parts of one object
	concurrency = 4      // number of parts of an object that are uploaded concurrently
)

// Put creates or replaces an object, which is durable when Put returns. The server checks
// the SHA-256 and MD5 of every part. Put does not read the content into memory.
func (b *Bucket) Put(ctx context.Context, name string, content io.ReaderAt, size int64) error {
	if size > partBytes {
		return b.classify(b.putParts(ctx, b.prefix+name, content, size))
	}
	return b.classify(retry(ctx, func() error {
		_, err := b.putWhole(ctx, b.prefix+name, content, size, minio.PutObjectOptions{})
		return err
	}))
}

// PutIf replaces an object if the object has this ETag; an empty etag means that the
// object must not exist. Otherwise the error is fault.Conflict. PutIf returns the new
// ETag. It does not retry: if only the reply was lost, a retry would report a conflict.
func (b *Bucket) PutIf(ctx context.Context, name string, content []byte, etag string) (string, error) {
	var options minio.PutObjectOptions
	if etag == "" {
		options.SetMatchETagExcept("*")
	} else {
		options.SetMatchETag(etag)
	}
	info, err := b.putWhole(ctx, b.prefix+name, bytes.NewReader(content), int64(len(content)), options)
	return info.ETag, b.classify(err)
}

func (b *Bucket) putWhole(ctx context.Context, key string, content io.ReaderAt, size int64, options minio.PutObjectOptions) (minio.UploadInfo, error) {
	sums, err := digests(content, 0, size)
	if err != nil {
		return minio.UploadInfo{}, err
	}
	options.DisableContentSha256 = true // sign the digest of the content, not each chunk
	return b.core.PutObject(ctx, b.name, key, io.NewSectionReader(content, 0, size), size, sums.md5, sums.sha256, options)
}

// putParts uploads an object in parts.
func (b *Bucket) putParts(ctx context.Context, key string, content io.ReaderAt, size int64) (err error) {
	var upload string
	err = retry(ctx, func() (err error) {
		upload, err = b.core.NewMultipartUpload(ctx, b.name, key, minio.PutObjectOptions{})
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		// Abort even if ctx has ended: otherwise the parts take space until the sweep.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_ = b.core.AbortMultipartUpload(ctx, b.name, key, upload)
	}()
	step := partSize(size)
	parts := make([]minio.CompletePart, (size+step-1)/step)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for i := range parts {
		group.Go(func() (err error) {
			parts[i], err = b.putPart(groupCtx, key, upload, i+1, content, int64(i)*step, min(step, size-int64(i)*step))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return b.complete(ctx, key, upload, parts, size)
}

// complete assembles the object from its parts. If the reply is lost, a retry may get
// 404, because the upload is already complete.
func (b *Bucket) complete(ctx context.Context, key, upload string, parts []minio.CompletePart, size int64) error {
	lost := false
	return retry(ctx, func() error {
		_, err := b.core.CompleteMultipartUpload(ctx, b.name, key, upload, parts, minio.PutObjectOptions{})
		if lost && errorIs(err, http.StatusNotFound) {
			info, errStat := b.core.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
			if errStat == nil && info.Size == size {
				return nil
			}
		}
		lost = lost || isTransient(err)
		return err
	})
}

func (b *Bucket) putPart(ctx context.Context, key, upload string, number int, content io.ReaderAt, at, size int64) (minio.CompletePart, error) {
	var part minio.ObjectPart
	err := retry(ctx, func() error {
		sums, err := digests(content, at, size)
		if err != nil {
			return err
		}
		part, err = b.core.PutObjectPart(ctx, b.name, key, upload, number, io.NewSectionReader(content, at, size), size,
			minio.PutObjectPartOptions{Md5Base64: sums.md5, Sha256Hex: sums.sha256, DisableContentSha256: true})
		return err
	})
	return minio.CompletePart{PartNumber: number, ETag: part.ETag}, err
}

// partSize returns the part size for an object, so that the object has at most maxParts
// parts.
func partSize(size int64) int64 {
	const mib = 1 << 20
	minimum := (size + maxParts - 1) / maxParts
	return max(partBytes, (minimum+mib-1)/mib*mib)
}

// sums are digests of uploaded bytes, which the server checks.
type sums struct{ md5, sha256 string }

func digests(content io.ReaderAt, at, size int64) (sums, error) {
	m, s := md5.New(), sha256.New()
	n, err := io.Copy(io.MultiWriter(m, s), io.NewSectionReader(content, at, size))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return sums{}, fmt.Errorf("read the content to upload: %w", err)
	}
	return sums{base64.StdEncoding.EncodeToString(m.Sum(nil)), hex.EncodeToString(s.Sum(nil))}, nil
}
