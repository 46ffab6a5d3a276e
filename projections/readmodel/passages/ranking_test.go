//go:build !race

package passages

import (
	"testing"

	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/searchindextest"
)

// TestRanking measures the ranking of passages that this package cuts.
func TestRanking(t *testing.T) {
	engine, err := bleve.Folder(t.TempDir()).Open(t.Context(), "index")
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	searchindextest.Ranking(t, engine, func(section string) []string {
		var passages []string
		for _, s := range cutPassages(section) {
			passages = append(passages, section[s.start:s.end])
		}
		return passages
	})
}
