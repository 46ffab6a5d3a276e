package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"annals/events"
	"annals/events/eventstoredb"
	"annals/events/sqlite"
)

// LogFlag is the name of the flag with the URL of the log, and LogHelp its help.
const (
	LogFlag = "log"
	LogHelp = "URL of the log, sqlite:///path or esdb://user:password@host:2113?prefix=P (default: log.db in the data folder)"
)

// Whether OpenLog creates a log that does not exist.
const (
	MustExist = false
	MayCreate = true
)

// OpenLog opens the log that the URL of a flag names, or that of the data folder.
// A data folder whose restore is incomplete is an error.
func OpenLog(ctx context.Context, flag, text, dataDir string, create bool) (events.Driver, error) {
	if eventstoredb.Knows(text) {
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
			return nil, fmt.Errorf("there is no log at %s: give the data folder by --data, or run annals serve first", path)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the log: %w", err)
	}
	return sqlite.Open(ctx, path)
}

// openCluster opens a log at EventStoreDB, which always exists: if the log must
// exist, one without events is taken for a mistake in the URL.
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
		err = fmt.Errorf("--%s: there are no events at EventStoreDB under the prefix of its URL: give the URL that annals serve has", flag)
	}
	if err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	return driver, nil
}
