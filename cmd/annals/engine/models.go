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

// Models are the read models and their search index. If several nodes share the read
// models, their tables are in a database, and the folder tables has only the data of
// this node.
type Models struct {
	tables   string
	search   searchindex.Store
	database *sqldb.Postgres // database of shared read models; nil if the read models are in the folder tables
}

// Models checks the URLs of the read models and the search index. It does not open
// them.
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

// Database returns the database of the read models that the nodes share, or nil if the
// read models are not shared.
func (m Models) Database() *sqldb.Postgres { return m.database }

// Lock locks the folders of read models and search indexes until unlock is called. The
// lock of the data folder is not enough, because these folders may be outside of it.
// Without this lock, a server with another data folder could use the same folders, and
// would delete generations that are not in its own control store.
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

// Options returns o with Tables and Search set.
func (m Models) Options(o generation.Options) generation.Options {
	o.Tables, o.Search = tables.Folder(m.tables), m.search
	return o
}

// Open opens the read models for a server. It locks their folders until unlock is
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

// OpenControl opens the control store, which lists the generations of each read model.
// It returns o with Control, Tables and Search set. The control store is in the folder
// dir, or in the database if the nodes share read models. If they share read models but
// each node has its own search index, the read model passages is not shared: its tables
// and its control store are local like the index.
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

// ControlFile is the name of the control store file in a data folder.
const ControlFile = "control.db"

// embeddedNode is the node name if read models are not shared. It is the same after a
// restart, so that a server can immediately release the claims of its killed
// predecessor.
const embeddedNode = "embedded"

// NewNode returns the node name of this process. If nodes share read models, every
// process gets a new name, because other nodes may have taken over the claims of its
// predecessor.
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
