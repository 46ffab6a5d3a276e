package search

import (
	"testing"

	"annals/projections/projectionstest"
	"annals/queries/queriestest"
)

func TestQueriesUseIndexes(t *testing.T) {
	projectionstest.OfFiles(t)
	queriestest.NoScans(t, map[string]queriestest.Statement{
		"moved":    {SQL: movedBelow, Args: 2},
		"contents": {SQL: contentVersions, Args: 1},
	})
}
