package engine

import (
	"fmt"
	"path/filepath"

	"annals/events/fault"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/meilisearch"
)

// SearchEngines lists the search engines that --search accepts. The first one is the
// default.
var SearchEngines = searchindex.Kinds{bleve.Kind, meilisearch.Kind}

// openSearch returns the store of search indexes at the URL text, or in the data folder
// if text is empty. It does not connect to a search server.
func openSearch(text, dataDir string) (searchindex.Store, error) {
	store, err := SearchEngines.Open(text, filepath.Join(dataDir, "search"))
	if err != nil {
		return nil, fmt.Errorf("--search: %w", err)
	}
	return store, nil
}

// lockSearch locks the search indexes of store. If another process has locked them, the
// error is ErrLocked.
func lockSearch(store searchindex.Store) (unlock func() error, err error) {
	unlock, err = store.Lock()
	if fault.Is(err, fault.Unavailable) {
		return nil, fmt.Errorf("%w the folder of the search index %s", ErrLocked, store.Folder())
	}
	return unlock, err
}
