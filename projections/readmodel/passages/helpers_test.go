package passages_test

import (
	"context"
	"errors"
	"testing"

	"annals/events"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

	"github.com/google/uuid"
)

// openPassages opens the passages and their index in a folder.
func openPassages(t testing.TB, log *events.Log, dir string) *projectionstest.Model {
	t.Helper()
	return openOver(t, log, dir, openIndex(t, dir))
}

// openOver opens the passages in a folder with an index.
func openOver(t testing.TB, log *events.Log, dir string, engine searchindex.Engine) *projectionstest.Model {
	t.Helper()
	return projectionstest.OpenModel(t, log, new(passages.Projection).With(engine), projectionstest.Home(t, dir))
}

func openIndex(t testing.TB, dir string) searchindex.Engine {
	t.Helper()
	engine, err := bleve.Folder(dir).Open(t.Context(), "index")
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// flush updates the index up to the position of the tables.
func flush(t testing.TB, m *projectionstest.Model, through events.Position) {
	t.Helper()
	if err := m.Projection.(*passages.Projection).Flush(t.Context(), m.Store(), through); err != nil {
		t.Fatal(err)
	}
}

// countBelow returns how many passages with a word the index finds below a folder.
func countBelow(t testing.TB, engine searchindex.Engine, folder uuid.UUID, word string) int {
	t.Helper()
	hits, err := engine.Search(t.Context(), searchindex.Query{Text: word, All: true, Folders: []string{folder.String()}, Limit: searchindex.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	return len(hits)
}

// countShown returns, by version, how many passages of a search result are of the version
// that their document shows.
func countShown(ctx context.Context, db generation.Reader, engine searchindex.Engine, q searchindex.Query) (map[int]int, error) {
	found := make(map[int]int)
	for q.Limit = searchindex.MaxLimit; ; q.Offset += q.Limit {
		hits, err := engine.Search(ctx, q)
		if err != nil || len(hits) == 0 {
			return found, err
		}
		for _, h := range hits {
			document, version, section, number, _ := passages.ParseID(h.ID)
			var n int
			err := db.QueryRowContext(ctx, `SELECT count(*) FROM passages p JOIN documents d ON d.id = p.document AND d.shown = p.version
				WHERE p.document = $1 AND p.version = $2 AND p.section = $3 AND p.number = $4`, document, version, section, number).Scan(&n)
			if err != nil {
				return found, err
			}
			if n > 0 {
				found[version]++
			}
		}
	}
}

// watched is a search index that calls applied after every change.
type watched struct {
	searchindex.Engine
	applied func(b searchindex.Batch) error
}

func (w watched) Apply(ctx context.Context, b searchindex.Batch) error {
	return errors.Join(w.Engine.Apply(ctx, b), w.applied(b))
}

// crashing is a search index that fails after a number of changes, as if the program
// crashed then.
type crashing struct {
	searchindex.Engine
	left int // changes before the failure
}

var errCrashed = errors.New("the program ended")

func (c *crashing) Apply(ctx context.Context, b searchindex.Batch) error {
	if c.left--; c.left < 0 {
		return errCrashed
	}
	return c.Engine.Apply(ctx, b)
}
