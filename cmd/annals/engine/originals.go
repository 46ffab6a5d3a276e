package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"annals/events/backup"
	"annals/events/originals"
	"annals/events/s3"
)

// BucketForm is the form of a bucket's URL, and BucketHelp how it is completed.
const (
	BucketForm = "s3://BUCKET/PREFIX?endpoint=https://HOST:9000&region=REGION"
	BucketHelp = "Without an endpoint it is Amazon's; without a region the server is asked for it. Credentials come from\n" +
		"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, from the files of the AWS tools (AWS_PROFILE),\n" +
		"or from a machine's role at Amazon."
)

// inBucket reports whether a URL names a bucket of S3.
func inBucket(text string) bool { return strings.HasPrefix(text, s3.Scheme+"://") }

// openBucket opens the bucket that a setting's URL names. Errors do not contain
// the URL, which may have secrets.
func openBucket(ctx context.Context, setting, text string) (*s3.Bucket, error) {
	bucket, err := s3.Open(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return bucket, nil
}

// OpenOriginals opens the originals of a server; gate is shared with the other
// nodes that use them, nil if there are none. Uploads for a bucket are staged in
// the data folder.
func (u URLs) OpenOriginals(ctx context.Context, gate originals.Gate) (originals.Store, error) {
	if inBucket(u.Originals) {
		bucket, err := openBucket(ctx, "--originals", u.Originals)
		if err != nil {
			return nil, err
		}
		store, err := originals.OpenS3(ctx, bucket, filepath.Join(u.Data, "staging"))
		if err != nil {
			return nil, err
		}
		store.Gate = gate
		return store, nil
	}
	path, err := localPath("originals", u.Originals, u.Data, "file", "originals")
	if err != nil {
		return nil, err
	}
	store, err := originals.OpenDir(path)
	if err != nil {
		return nil, err
	}
	store.Gate = gate
	return store, nil
}

// ViewOriginals opens the originals of a server for reading. A folder must exist.
func (u URLs) ViewOriginals(ctx context.Context) (originals.Store, error) {
	if inBucket(u.Originals) {
		bucket, err := openBucket(ctx, "--originals", u.Originals)
		if err != nil {
			return nil, err
		}
		return originals.ViewS3(bucket), nil
	}
	path, err := localPath("originals", u.Originals, u.Data, "file", "originals")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there are no originals at %s: give their folder by --originals", path)
	}
	return originals.ViewDir(path), nil
}

// OpenBackup opens the place of a backup: a folder by its path, or a bucket of S3
// by its URL.
func OpenBackup(ctx context.Context, text string) (backup.Location, error) {
	switch {
	case inBucket(text):
		bucket, err := openBucket(ctx, "the place of the backup", text)
		if err != nil {
			return nil, err
		}
		return backup.NewBucket(bucket), nil
	case strings.Contains(text, "://"):
		scheme, _, _ := strings.Cut(text, "://")
		return nil, fmt.Errorf("backups at %s:// are not supported: give a folder, or %s://bucket/prefix", scheme, s3.Scheme)
	case strings.HasPrefix(text, s3.Scheme+":"):
		return nil, fmt.Errorf("%s: write a bucket as %s://bucket/prefix, and a folder of that name as ./%[1]s", text, s3.Scheme)
	}
	return backup.Folder(text), nil
}
