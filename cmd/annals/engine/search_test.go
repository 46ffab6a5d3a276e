package engine

import (
	"strings"
	"testing"
)

func TestSearchErrorsHideKey(t *testing.T) {
	for _, search := range []string{
		"meilisearch://SECRET@host?timeout=1", "meilisearch://SECRET@", "meilisearchs://SECRET@host", "meili://SECRET@host:7700", "https://SECRET@host", "bleve://SECRET@host/x", "bleve://SECRET@%zz",
	} {
		if _, err := openSearch(search, t.TempDir()); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("--search %s: %v, want an error without the key", search, err)
		}
	}
}
