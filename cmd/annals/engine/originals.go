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

// BucketForm shows the form of a bucket URL in the help of flags. BucketHelp describes
// the defaults and the credentials.
const (
	BucketForm = "s3://BUCKET/PREFIX?endpoint=https://HOST:9000&region=REGION"
	BucketHelp = "The default endpoint is that of Amazon S3; the default region is read from the server. Credentials come from\n" +
		"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, from the files of the AWS tools (AWS_PROFILE),\n" +
		"or from the IAM role of the machine."
)

// inBucket reports whether the URL text names an S3 bucket.
func inBucket(text string) bool { return strings.HasPrefix(text, s3.Scheme+"://") }

// openBucket opens the S3 bucket at the URL text. setting is the setting with the URL,
// for errors. Errors do not contain the URL, which may have secrets.
func openBucket(ctx context.Context, setting, text string) (*s3.Bucket, error) {
	bucket, err := s3.Open(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return bucket, nil
}

// OpenOriginals opens the originals for a server. gate is the commit gate that the
// nodes share, or nil if there is only one node. If the originals are in an S3 bucket,
// uploads are first stored in the data folder.
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

// ViewOriginals opens the originals read-only. If they are in a folder, it must exist.
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
		return nil, fmt.Errorf("there are no originals at %s: pass their folder as --originals", path)
	}
	return originals.ViewDir(path), nil
}

// OpenBackup opens the location of a backup: the path of a folder, or the URL of an S3
// bucket.
func OpenBackup(ctx context.Context, text string) (backup.Location, error) {
	switch {
	case inBucket(text):
		bucket, err := openBucket(ctx, "open the backup", text)
		if err != nil {
			return nil, err
		}
		return backup.NewBucket(bucket), nil
	case strings.Contains(text, "://"):
		scheme, _, _ := strings.Cut(text, "://")
		return nil, fmt.Errorf("backups at %s:// are not supported: use a folder, or %s://bucket/prefix", scheme, s3.Scheme)
	case strings.HasPrefix(text, s3.Scheme+":"):
		return nil, fmt.Errorf("%s: write %s://bucket/prefix for a bucket, or ./%[1]s for a folder of this name", text, s3.Scheme)
	}
	return backup.Folder(text), nil
}
