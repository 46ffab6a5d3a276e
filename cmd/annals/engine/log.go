package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"annals/events"
	"annals/events/backup"
	"annals/events/eventstoredb"
	"annals/events/sqlite"
)

// LogFlag is the name of the flag with the URL of the log. LogHelp is its help.
const (
	LogFlag = "log"
	LogHelp = "URL of the log, sqlite:///path or esdb://user:password@host:2113?prefix=P (default: log.db in the data folder)"
)

// Values of create in OpenLog: whether it creates a log that does not exist.
const (
	MustExist = false
	MayCreate = true
)

// InCluster reports whether a URL names a log at EventStoreDB or KurrentDB. Several
// processes may use such a log at the same time.
func InCluster(text string) bool { return eventstoredb.Knows(text) }

// Overlap reports whether two URLs name logs of one cluster that share streams, because
// the prefix of one begins with the prefix of the other.
func Overlap(one, other string) bool {
	return InCluster(one) && InCluster(other) && eventstoredb.Overlap(one, other)
}

// OpenLog opens the log at the URL text of a flag, or the one in the data folder if text
// is empty. It returns an error if the restore of the data folder is incomplete.
func OpenLog(ctx context.Context, flag, text, dataDir string, create bool) (events.Driver, error) {
	if InCluster(text) {
		return openCluster(ctx, flag, text, dataDir, create)
	}
	path, err := localPath(flag, text, dataDir, "sqlite", "log.db")
	if err == nil {
		err = CheckRestored(dataDir)
	}
	if err != nil {
		return nil, err
	}
	if !create {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("there is no log at %s: pass the data folder as --data, or run annals serve first", path)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder for the log: %w", err)
	}
	return sqlite.Open(ctx, path)
}

// LoadLog returns a function that writes a log to a new file at path and opens it.
func LoadLog(path string) backup.Load {
	return func(ctx context.Context, batches iter.Seq2[[]events.Record, error]) (*events.Log, error) {
		if err := sqlite.Load(ctx, path, batches); err != nil {
			return nil, err
		}
		driver, err := sqlite.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		return events.NewLog(driver), nil
	}
}

// openCluster opens a log at EventStoreDB. Every prefix can be read there, so a log
// without events probably means a wrong URL: it is an error unless create is set.
func openCluster(ctx context.Context, flag, text, dataDir string, create bool) (driver events.Driver, err error) {
	if err := CheckRestored(dataDir); err != nil {
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
		err = fmt.Errorf("--%s: EventStoreDB has no events under the prefix in this URL: pass the same URL as to annals serve", flag)
	}
	if err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	return driver, nil
}
