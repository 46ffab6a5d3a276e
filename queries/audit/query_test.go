package audit

import (
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/projections"
	"annals/projections/projectionstest"
	"annals/queries/queriestest"

	"github.com/google/uuid"
)

// If a document is given, the index on documents must be used and not the index on
// actors: most entries may be by one actor, but a document has only a few.
func TestQueriesUseIndexes(t *testing.T) {
	projectionstest.OfFiles(t)
	w := queriestest.Open(t)
	folder := w.AddFolder(uuid.Nil, "Top", "user:alice")
	document := w.AddDocument(folder, "a.md", nil, "Text.")
	w.Settle()
	q := &Auditor{Models: w.Models}
	admin, alice := events.User{Principal: "user:root", Admin: true}, events.User{Principal: "user:alice"}
	since := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		user   events.User
		filter Filter
		want   string
	}{
		"all":                      {admin, Filter{}, "entries_time"},
		"an actor's":               {admin, Filter{Actor: "user:bob"}, "entries_actor (actor=? AND time"},
		"since":                    {admin, Filter{From: since}, "entries_time (time"},
		"in folders":               {alice, Filter{}, "entries_place (place=? AND time"},
		"below a folder":           {admin, Filter{Folder: &folder}, "entries_place (place=? AND time"},
		"an actor's in folders":    {alice, Filter{Actor: "user:bob", From: since}, "entries_place_actor (place=? AND actor=? AND time"},
		"a document's":             {admin, Filter{Document: &document}, "entries_thing (thing=?)"},
		"a document's since":       {alice, Filter{Document: &document, From: since}, "entries_thing (thing=?)"},
		"an actor's to a document": {alice, Filter{Document: &document, Folder: &folder, Actor: "user:bob", From: since, To: time.Now()}, "entries_thing (thing=?)"},
	} {
		trail, err := q.trail(t.Context(), c.user)
		if err != nil {
			t.Fatal(err)
		}
		before, err := c.filter.before()
		if err != nil {
			t.Fatal(err)
		}
		query, args, err := trail.query(t.Context(), c.filter, before, 10)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := projections.List(t.Context(), w.Models.Audit.DB(), func(step *string) []any { return []any{new(int), new(int), new(int), step} }, "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(plan, "\n"); !strings.Contains(text, "INDEX "+c.want) || strings.Contains(text, "SCAN e") {
			t.Errorf("the query of %s uses\n%s\nwant %s", name, text, c.want)
		}
	}
}
