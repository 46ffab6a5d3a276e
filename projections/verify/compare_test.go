package verify

import (
	"log/slog"
	"strings"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/events/sqldb"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/tables"
)

// Comparisons must read rows in the order of an index. Sorting the rows would take memory
// that grows with the table.
func TestComparisonsNeedNoSort(t *testing.T) {
	for _, m := range readmodel.All() {
		p := m.Projection
		if i, ok := p.(readmodel.Indexed); ok {
			p = i.With(new(discarding))
		}
		r, err := generation.New(t.Context(), events.NewLog(memory.New()), p, tables.Folder(t.TempDir()), "m", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		compared, err := (&model{Projection: p, fresh: r}).tables(t.Context())
		if err != nil || len(compared) < 2 {
			t.Fatalf("tables of %s: %v, %v", p.Name(), compared, err)
		}
		for _, c := range compared {
			plan, err := sqldb.List(t.Context(), r.Store().Reads(), func(s *string) []any { return []any{new(int), new(int), new(int), s} }, `EXPLAIN QUERY PLAN `+c.Query)
			if err != nil {
				t.Fatalf("%s: %v", c.Query, err)
			}
			if text := strings.Join(plan, "\n"); strings.Contains(text, "FOR ORDER BY") {
				t.Errorf("the query plan of %s of %s sorts:\n%s", c.Table, p.Name(), text)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
