package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"annals/events/postgres"
	"annals/projections"

	"github.com/google/uuid"
)

// inDatabase reports whether a URL names a database of PostgreSQL.
func inDatabase(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	for _, known := range postgres.Schemes {
		if found && scheme == known {
			return true
		}
	}
	return false
}

// openDatabase reads the database that a setting's URL names, which no error
// repeats. Nothing is connected yet.
func openDatabase(flag, text string) (*postgres.Database, error) {
	database, err := postgres.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return database, nil
}

// openControls opens what knows the generations of read models, and completes o
// by where these are: in the data folder, or in a database that nodes share,
// where the passages stay with a search index of the node's own.
func (f modelFolders) openControls(ctx context.Context, dataDir string, o projections.Options) (_ projections.Options, closeAll func() error, err error) {
	own, err := projections.OpenControl(ctx, filepath.Join(dataDir, "control.db"))
	if err != nil {
		return o, nil, err
	}
	o.Control = own
	if o = f.options(o); f.database == nil {
		return o, func() error { f.search.close(); return own.Close() }, nil
	}
	if o.Control, err = projections.OpenSharedControl(ctx, f.database); err != nil {
		return o, nil, errors.Join(err, own.Close())
	}
	home := projections.NewDatabase(f.database)
	home.Replica = f.replica
	if f.search.server == nil {
		o.Own = &projections.Own{Control: own, Tables: o.Tables}
	}
	o.Tables = home
	return o, func() error {
		f.search.close()
		return errors.Join(home.Close(), o.Control.Close(), own.Close())
	}, nil
}

// newHolder names this process among those that share the work: after a restart
// it is another, since others may have taken up what the last one had.
func (f modelFolders) newHolder() string {
	if f.database == nil {
		return embedded
	}
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	return host + "/" + uuid.NewString()
}

// drainTime is for how long a server that is told to stop still serves.
func (c *serveConfig) drainTime() time.Duration {
	switch {
	case c.drain >= 0:
		return c.drain
	case inDatabase(c.readModels):
		return 5 * time.Second
	}
	return 0
}

// replicaOf reads the replica of the database that the read models are in.
func (c *serveConfig) replicaOf(f modelFolders) (*postgres.Database, error) {
	switch {
	case c.readReplica == "":
		return nil, nil
	case f.database == nil:
		return nil, errors.New("--read-replica is of the database that --read-models names: give that too")
	}
	return openDatabase("read-replica", c.readReplica)
}
