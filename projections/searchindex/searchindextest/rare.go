package searchindextest

import (
	"fmt"
	"testing"

	"annals/events"
	"annals/projections/searchindex"
)

// testRareFilters checks that filters find values that occur only once, even after many
// later batches. Engines store rare values differently when they merge segments.
func testRareFilters(t *testing.T, open Open) {
	e := open(t, "rare")
	const batches, each = 12, 5
	name := func(b, i int) string { return fmt.Sprintf("%d-%d", b, i) }
	for b := range batches {
		batch := searchindex.Batch{Position: events.Position(b + 1)}
		for i := range each {
			id := name(b, i)
			batch.Put = append(batch.Put, searchindex.Passage{
				ID: "passage-" + id, Document: "document-" + id, Folders: []string{"folder-" + id, "top"}, Tags: []string{"tag-" + id},
				Title: "Title", Text: "the number of this passage is " + id,
			})
		}
		apply(t, e, batch)
	}
	for b := range batches {
		for i := range each {
			id := name(b, i)
			for what, q := range map[string]searchindex.Query{
				"folder":   {All: true, Folders: []string{"folder-" + id}},
				"granted":  {Granted: []string{"folder-" + id}},
				"document": {All: true, Document: "document-" + id},
				"tag":      {All: true, Tags: []string{"tag-" + id}},
			} {
				q.Text, q.Limit = "number", 10
				if got := ids(search(t, e, q)); got != "passage-"+id {
					t.Errorf("a search with the %s of passage-%s finds %q, want that passage", what, id, got)
				}
			}
		}
	}
	if got := len(search(t, e, searchindex.Query{Text: "number", All: true, Folders: []string{"top"}, Limit: 100})); got != batches*each {
		t.Errorf("the search finds %d passages below the top folder, want %d", got, batches*each)
	}
}
