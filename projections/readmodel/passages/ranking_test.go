//go:build !race

package passages

import (
	"testing"

	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/searchindextest"
)

// TestRanking asks the development collections' questions of passages cut
// here.
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
