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

// Models are the read models with their search index. If several nodes share the read
// models, they are in a database, and the folder holds only the data of this node.
type Models struct {
	tables   string
	search   searchindex.Store
	database *sqldb.Postgres // nil if the read models are in the folder
}

// Models returns the read models without opening them.
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

// Database returns the database that the nodes share, or nil if there is none.
func (m Models) Database() *sqldb.Postgres { return m.database }

// Lock locks the folders against other servers until unlock is called. The lock of the
// data folder is not enough, because the folders may be outside of it: a second server
// with another data folder would delete generations that its control store does not list.
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

// Options returns o with the stores of tables and search indexes set.
func (m Models) Options(o generation.Options) generation.Options {
	o.Tables, o.Search = tables.Folder(m.tables), m.search
	return o
}

// Open opens the read models for a server. Their folders stay locked until unlock is
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

// OpenControl opens the control store, which lists the generations of each read model,
// and returns o with it and the stores of the read models set. The control store is in
// the folder dir, or in the database that the nodes share. If they share a database but
// each has its own search index, the read model passages stays local with that index.
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

// ControlFile is the name of the control store in a data folder.
const ControlFile = "control.db"

// embeddedNode is the node name if only one process serves the read models. It is the
// same after a restart, so that the new process can release the claims of a killed one
// immediately.
const embeddedNode = "embedded"

// NewNode returns the node name of this process. With a shared database every process
// has a new name, because other nodes may have taken over the claims of the previous one.
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
