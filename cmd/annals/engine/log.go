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

// LogFlag is the name of the flag with the URL of the log, and LogHelp is its help
// text.
const (
	LogFlag = "log"
	LogHelp = "URL of the log, sqlite:///path or esdb://user:password@host:2113?prefix=P (default: log.db in the data folder)"
)

// Values for the parameter create of OpenLog. With MayCreate, OpenLog creates a missing
// log; with MustExist, it returns an error.
const (
	MustExist = false
	MayCreate = true
)

// InCluster reports whether the URL text names a log at EventStoreDB or KurrentDB,
// which several processes may use at the same time.
func InCluster(text string) bool { return eventstoredb.Knows(text) }

// Overlap reports whether two URLs name logs that share streams. They do if both logs
// are in the same EventStoreDB cluster and the stream prefix of one begins with the
// stream prefix of the other.
func Overlap(one, other string) bool {
	return InCluster(one) && InCluster(other) && eventstoredb.Overlap(one, other)
}

// OpenLog opens the log at the URL text, or the log in the data folder if text is
// empty. flag is the flag with the URL, for errors. If the data folder is incompletely
// restored, OpenLog returns an error.
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

// LoadLog returns a function that writes the events of a backup to a new log file at
// path, and opens the log.
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

// openCluster opens a log at EventStoreDB. If the log has no events and create is
// false, it returns an error, because the URL is probably wrong: EventStoreDB reports
// no error for a prefix that does not exist.
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
