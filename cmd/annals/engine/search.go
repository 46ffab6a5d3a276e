package engine

import (
	"fmt"
	"path/filepath"

	"annals/events/fault"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/meilisearch"
)

// SearchEngines are those that --search may name. The first is used if it names
// none.
var SearchEngines = searchindex.Kinds{bleve.Kind, meilisearch.Kind}

// openSearch opens the store of the search indexes. Its server, if it has one,
// is not asked anything yet.
func openSearch(text, dataDir string) (searchindex.Store, error) {
	store, err := SearchEngines.Open(text, filepath.Join(dataDir, "search"))
	if err != nil {
		return nil, fmt.Errorf("--search: %w", err)
	}
	return store, nil
}

// lockSearch locks the search indexes against other servers. If one has locked
// them the error is ErrLocked.
func lockSearch(store searchindex.Store) (unlock func() error, err error) {
	unlock, err = store.Lock()
	if fault.Is(err, fault.Unavailable) {
		return nil, fmt.Errorf("%w the folder of the search index %s", ErrLocked, store.Folder())
	}
	return unlock, err
}
