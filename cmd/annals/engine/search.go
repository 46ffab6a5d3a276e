package engine

import (
	"fmt"
	"path/filepath"

	"annals/events/fault"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/meilisearch"
)

// SearchEngines are the engines for --search. The first one is the default.
var SearchEngines = searchindex.Kinds{bleve.Kind, meilisearch.Kind}

// openSearch opens the store of the search indexes. It does not connect to a server yet.
func openSearch(text, dataDir string) (searchindex.Store, error) {
	store, err := SearchEngines.Open(text, filepath.Join(dataDir, "search"))
	if err != nil {
		return nil, fmt.Errorf("--search: %w", err)
	}
	return store, nil
}

// lockSearch locks the search indexes against other servers. If they are locked, the
// error is ErrLocked.
func lockSearch(store searchindex.Store) (unlock func() error, err error) {
	unlock, err = store.Lock()
	if fault.Is(err, fault.Unavailable) {
		return nil, fmt.Errorf("%w the folder of the search index %s", ErrLocked, store.Folder())
	}
	return unlock, err
}
