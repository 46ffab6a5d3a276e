package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"annals/events/sqldb"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/searchindex"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// Models are the read models with their search index. If nodes share the read
// models, these are in a database, and the folders hold what each node has of its
// own.
type Models struct {
	tables   string
	search   searchindex.Store
	database *sqldb.Postgres // nil: all is in the folders
}

// Models returns the read models, of which nothing is opened yet.
func (u URLs) Models() (m Models, err error) {
	var errTables, errSearch error
	if InDatabase(u.ReadModels) {
		if m.database, err = openDatabase("read-models", u.ReadModels); err != nil {
			return m, err
		}
		u.ReadModels = ""
	}
	m.tables, errTables = localPath("read-models", u.ReadModels, u.Data, "sqlite", "read-models")
	m.search, errSearch = openSearch(u.Search, u.Data)
	return m, errors.Join(errTables, errSearch)
}

// Database returns the database that nodes share, or nil if there is none.
func (m Models) Database() *sqldb.Postgres { return m.database }

// Lock locks the folders against other servers, until unlock is called. They may
// lie outside the data folder, and a second server would delete generations there
// that it does not know.
func (m Models) Lock() (unlock func() error, err error) {
	unlockTables, err := lock("the folder of read models", m.tables, "read-models.lock")
	if err != nil {
		return nil, err
	}
	unlockSearch, err := lockSearch(m.search)
	if err != nil {
		return nil, errors.Join(err, unlockTables())
	}
	return func() error { return errors.Join(unlockSearch(), unlockTables()) }, nil
}

// Options completes o by the stores of tables and search indexes.
func (m Models) Options(o generation.Options) generation.Options {
	o.Tables, o.Search = tables.Folder(m.tables), m.search
	return o
}

// Open opens the read models for a server, and locks their folders until unlock is
// called.
func (m Models) Open(ctx context.Context, o generation.Options) (models *projections.Set, unlock func() error, err error) {
	if unlock, err = m.Lock(); err != nil {
		return nil, nil, err
	}
	if models, err = projections.Open(ctx, o); err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	return models, unlock, nil
}

// OpenControl opens the control store in the folder dir, which knows the generations of the read
// models, and completes o by it and by the stores of the read models. If nodes share a
// database but each has a search index of its own, the passages stay with that.
func (m Models) OpenControl(ctx context.Context, dir string, o generation.Options) (_ generation.Options, closeAll func() error, err error) {
	own, err := control.Open(ctx, filepath.Join(dir, ControlFile))
	if err != nil {
		return o, nil, err
	}
	o.Control = own
	if o = m.Options(o); m.database == nil {
		return o, func() error { return errors.Join(m.search.Close(), own.Close()) }, nil
	}
	if o.Control, err = control.OpenShared(ctx, m.database); err != nil {
		return o, nil, errors.Join(err, own.Close())
	}
	home := tables.NewDatabase(m.database)
	if !m.search.Shared() {
		o.Own = &generation.Own{Control: own, Tables: o.Tables}
	}
	o.Tables = home
	return o, func() error {
		return errors.Join(m.search.Close(), home.Close(), o.Control.Close(), own.Close())
	}, nil
}

// ControlFile is the control store in a data folder.
const ControlFile = "control.db"

// embeddedNode names the one process that serves a data folder of its own. It is
// the same after a restart, so claims of a killed server are released at once.
const embeddedNode = "embedded"

// NewNode returns a name for this process among the nodes that share the work. On
// a shared database it differs after a restart, because other nodes may have taken
// over the claims of the previous process.
func (m Models) NewNode() string {
	if m.database == nil {
		return embeddedNode
	}
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	return host + "/" + uuid.NewString()
}
