//go:build !race

package passages

import (
	"path/filepath"
	"testing"

	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/searchindextest"
)

// TestRanking asks the development collections' questions of passages cut
// here.
func TestRanking(t *testing.T) {
	engine, err := bleve.Open(filepath.Join(t.TempDir(), "index"))
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
