package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"annals/events"
	"annals/events/backup"
	"annals/events/disk"
	"annals/events/eventstoredb"
	"annals/events/originals"
	"annals/events/postgres"
	"annals/events/s3"
	"annals/events/sqlite"
	"annals/projections"
	"annals/projections/searchindex/meilisearch"
)

// Whether a log that is not there is made.
const (
	mustExist = false
	mayCreate = true
)

// place reads an engine's URL: its scheme and, for embedded engines, the path.
// An empty one means name in the data folder.
func place(flag, text, dataDir, scheme, name string) (path string, err error) {
	if text == "" {
		return filepath.Join(dataDir, name), nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("--%s: it is no URL: this version knows %s:///path%s", flag, scheme, otherwise(flag))
	}
	// More of it may be a password, wherever a slash is missing.
	if u.Scheme != scheme {
		return "", fmt.Errorf("--%s begins with %q: this version knows %s:///path%s", flag, u.Scheme, scheme, otherwise(flag))
	}
	if u.Host != "" || u.Path == "" {
		return "", fmt.Errorf("--%s: write the path as %s:///path, with three slashes", flag, scheme)
	}
	return filepath.FromSlash(u.Path), nil
}

// otherwise says what else than its embedded kind an engine's URL may be.
func otherwise(flag string) string {
	switch flag {
	case logFlag, "from", "to":
		return " and esdb://host:2113 (kurrentdb:// is the same)"
	case "originals":
		return " and " + s3.Scheme + "://bucket/prefix"
	case "accounts", "read-models":
		return " and " + postgres.Schemes[0] + "://host/database"
	case "search":
		return " and " + meilisearch.Form
	}
	return " alone"
}

// logFlag names the log, for every command that opens one and no other.
const logFlag = "log"

// logHelp says what the URL of a log may be.
const logHelp = "URL of the log, sqlite:///path or esdb://user:password@host:2113?prefix=P (default: log.db in the data folder)"

// checkPlaces returns an error that names the first engine whose URL cannot be,
// as far as that shows without opening any.
func (c *serveConfig) checkPlaces() error {
	if !eventstoredb.Knows(c.log) {
		if _, err := place(logFlag, c.log, c.data, "sqlite", "log.db"); err != nil {
			return err
		}
	}
	folders, err := newModelFolders(c.readModels, c.search, c.data)
	defer folders.search.close()
	if err != nil {
		return err
	}
	if _, err := c.replicaOf(folders); err != nil {
		return err
	}
	if !inBucket(c.originals) {
		if _, err := place("originals", c.originals, c.data, "file", "originals"); err != nil {
			return err
		}
	}
	_, err = accountsThere(c.accounts, c.data)
	return err
}

// folders returns the folders of this machine that the service writes to.
func (c *serveConfig) folders() disk.Folders {
	all := disk.Folders{{Name: "data", Path: c.data}, {Name: "temp", Path: os.TempDir()}}
	for _, engine := range []struct{ flag, text, scheme string }{
		{logFlag, c.log, "sqlite"}, {"originals", c.originals, "file"}, {"read-models", c.readModels, "sqlite"}, {"search", c.search, "bleve"},
	} {
		path, err := place(engine.flag, engine.text, c.data, engine.scheme, engine.flag)
		if err != nil {
			continue // it is no folder, but a server
		}
		if engine.flag == logFlag {
			path = filepath.Dir(path)
		}
		all = append(all, disk.Folder{Name: engine.flag, Path: path})
	}
	return all
}

// blameDisk adds to an error of a start which disks have no room: databases that
// were closed cannot be opened there, and say so in words of their own.
func (c *serveConfig) blameDisk(err error) error {
	if full := c.folders().Full(); len(full) > 0 {
		return fmt.Errorf("%w; no room is left on the disk of: %s: make some, and start again", err, strings.Join(full, ", "))
	}
	return err
}

// openLog opens the log that the URL of a flag names, or that of the data folder.
func openLog(ctx context.Context, flag, text, dataDir string, create bool) (events.Driver, error) {
	if eventstoredb.Knows(text) {
		return openCluster(ctx, flag, text, dataDir, create)
	}
	path, err := place(flag, text, dataDir, "sqlite", "log.db")
	if err == nil {
		err = refuseUnfinished(dataDir)
	}
	if err != nil {
		return nil, err
	}
	if !create {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("there is no log at %s: name the data folder by --data, or run annals serve first", path)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the log: %w", err)
	}
	return sqlite.Open(ctx, path)
}

// openCluster opens a log at EventStoreDB. There is always one; where events
// are expected, one that holds none is another's.
func openCluster(ctx context.Context, flag, text, dataDir string, create bool) (driver events.Driver, err error) {
	if err := refuseUnfinished(dataDir); err != nil {
		return nil, err
	}
	if driver, err = eventstoredb.Open(ctx, text); err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	if create {
		return driver, nil
	}
	head, err := driver.Head(ctx)
	if err == nil && head == 0 {
		err = fmt.Errorf("--%s: there are no events at EventStoreDB under the prefix of its URL: give that which annals serve has", flag)
	}
	if err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	return driver, nil
}

// bucketForm and bucketHelp say how a bucket is named.
const (
	bucketForm = "s3://BUCKET/PREFIX?endpoint=https://HOST:9000&region=REGION"
	bucketHelp = "Without an endpoint it is Amazon's; without a region the server is asked for it. Credentials come from\n" +
		"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, from the files of the AWS tools (AWS_PROFILE),\n" +
		"or from a machine's role at Amazon."
)

// inBucket reports whether a URL names a bucket of S3.
func inBucket(text string) bool { return strings.HasPrefix(text, s3.Scheme+"://") }

// openBucket opens the bucket that a setting's URL names, which no error
// repeats.
func openBucket(ctx context.Context, setting, text string) (*s3.Bucket, error) {
	bucket, err := s3.Open(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return bucket, nil
}

// openOriginals opens the originals of a server, beside others with which it
// shares a gate. Uploads that are to go to a bucket are staged in the data folder.
func openOriginals(ctx context.Context, text, dataDir string, gate originals.Gate) (originals.Store, error) {
	if inBucket(text) {
		bucket, err := openBucket(ctx, "--originals", text)
		if err != nil {
			return nil, err
		}
		store, err := originals.OpenS3(ctx, bucket, filepath.Join(dataDir, "staging"))
		if err != nil {
			return nil, err
		}
		store.Gate = gate
		return store, nil
	}
	path, err := place("originals", text, dataDir, "file", "originals")
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

// openOriginalsThere opens originals that a server has made, for reading.
func openOriginalsThere(ctx context.Context, text, dataDir string) (originals.Store, error) {
	if inBucket(text) {
		bucket, err := openBucket(ctx, "--originals", text)
		if err != nil {
			return nil, err
		}
		return originals.ViewS3(bucket), nil
	}
	path, err := place("originals", text, dataDir, "file", "originals")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there are no originals at %s: name their folder by --originals", path)
	}
	return originals.ViewDir(path), nil
}

// backupPlace opens the place that an argument names: a folder by its path, or a
// bucket of S3 by its URL.
func backupPlace(ctx context.Context, text string) (backup.Place, error) {
	switch {
	case inBucket(text):
		bucket, err := openBucket(ctx, "the place of the backup", text)
		if err != nil {
			return nil, err
		}
		return backup.NewBucket(bucket), nil
	case strings.Contains(text, "://"):
		scheme, _, _ := strings.Cut(text, "://")
		return nil, fmt.Errorf("this version keeps backups in folders and at %s://bucket/prefix, not at %s://", s3.Scheme, scheme)
	case strings.HasPrefix(text, s3.Scheme+":"):
		return nil, fmt.Errorf("%s: write a bucket as %s://bucket/prefix, and a folder of that name as ./%[1]s", text, s3.Scheme)
	}
	return backup.Folder(text), nil
}

// modelFolders are where the embedded read models and the search index live;
// where nodes share the read models, they are in the database and the folders
// are for what a node has of its own.
type modelFolders struct {
	tables   string
	search   searchPlace
	database *postgres.Database // nil: all is in the folders
	replica  *postgres.Database // of it, for reading; nil for none
}

func newModelFolders(readModels, search, dataDir string) (f modelFolders, err error) {
	var errTables, errSearch error
	if inDatabase(readModels) {
		if f.database, err = openDatabase("read-models", readModels); err != nil {
			return f, err
		}
		readModels = ""
	}
	f.tables, errTables = place("read-models", readModels, dataDir, "sqlite", "read-models")
	f.search, errSearch = newSearchPlace(search, dataDir)
	return f, errors.Join(errTables, errSearch)
}

// hold keeps other servers from the folders, until unlock is called: they may
// be elsewhere than the data folder, and another server would take what it
// finds there for leftovers.
func (f modelFolders) hold() (unlock func() error, err error) {
	unlockTables, err := hold("the folder of read models", f.tables, "read-models.lock")
	if err != nil {
		return nil, err
	}
	unlockSearch, err := f.search.hold()
	if err != nil {
		return nil, errors.Join(err, unlockTables())
	}
	return func() error { return errors.Join(unlockSearch(), unlockTables()) }, nil
}

// options tells o where the read models are.
func (f modelFolders) options(o projections.Options) projections.Options {
	o.Tables, o.OpenSearch, o.RemoveSearch = projections.Folder(f.tables), f.search.open, f.search.remove
	return o
}

// openModels opens the read models and their search index, and holds their
// folders until unlock is called.
func openModels(ctx context.Context, folders modelFolders, o projections.Options) (models *projections.Set, unlock func() error, err error) {
	if unlock, err = folders.hold(); err != nil {
		return nil, nil, err
	}
	if models, err = projections.Open(ctx, o); err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	return models, unlock, nil
}
