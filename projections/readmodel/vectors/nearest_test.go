package vectors

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events/sqldb/postgrestest"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
)

// fill adds vectors of random directions to a read model: n passages of n/10 documents in 100
// folders. It returns the vectors. As those of real texts, they are not spread evenly.
func fill(t testing.TB, m *projectionstest.Model, n, dimensions int) [][]float32 {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	topics := make([][]float32, 200)
	for i := range topics {
		topics[i] = direction(random, nil, dimensions)
	}
	all := make([][]float32, n)
	err := m.Store().Transaction(t.Context(), func(tx readmodel.Tx) error {
		if err := tx.Exec(t.Context(), `INSERT INTO embedder (one, model, dimensions) VALUES (1, 'random', $1)`, dimensions); err != nil {
			return err
		}
		for i := range 100 {
			if err := tx.Exec(t.Context(), `INSERT INTO folders (id, parent) VALUES ($1, '')`, fmt.Sprint("folder-", i)); err != nil {
				return err
			}
		}
		for i := range n {
			if i%10 == 0 {
				err := tx.Exec(t.Context(), `INSERT INTO documents (row, id, folder, title, tags, version, text, sections, waiting) VALUES ($1, $2, $3, '', '[]', 1, '', 1, 0)`,
					i/10, fmt.Sprintf("00000000-0000-0000-0000-%012d", i/10), fmt.Sprint("folder-", i/10%100))
				if err != nil {
					return err
				}
			}
			all[i] = direction(random, topics[random.IntN(len(topics))], dimensions)
			encoded := encode(all[i])
			if err := tx.Insert(t.Context(), "vectors", []string{"row", "document", "version", "section", "number", "hash", "vector"}, i, i/10, 1, i%10, 0, fmt.Appendf(nil, "%016d", i), encoded); err != nil {
				return err
			}
			if err := tx.Insert(t.Context(), "signs", []string{"row", "document", "bits"}, i, i/10, signs(encoded)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// direction returns a random vector of length 1 near a topic, unless that is nil.
func direction(random *rand.Rand, topic []float32, dimensions int) []float32 {
	v, length := make([]float32, dimensions), 0.0
	for i := range v {
		x := random.NormFloat64() / math.Sqrt(float64(dimensions))
		if topic != nil {
			x += float64(topic[i])
		}
		v[i] = float32(x)
		length += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(length))
	}
	return v
}

// nearestRows returns the rows in scope, in the order in which their vectors are near to that
// of a query.
func nearestRows(all [][]float32, query []float32, in func(row int) bool) (rows []int) {
	cosines := make([]float64, len(all))
	for i, v := range all {
		if in(i) {
			rows = append(rows, i)
			cosines[i] = product(v, query)
		}
	}
	slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(cosines[b], cosines[a]) })
	return rows
}

func product(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// idOf returns the id of the passage of a row that fill has added.
func idOf(row int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d/1/%d/0", row/10, row%10) }

// The signs and the numbers in 8 bits must find what the vectors themselves find.
func TestNearestRecall(t *testing.T) {
	m := projectionstest.OpenModel(t, projectionstest.NewLog(t), new(Projection), projectionstest.Home(t, t.TempDir()))
	const passages, limit = 10_000, 10
	all := fill(t, m, passages, 384)
	random := rand.New(rand.NewPCG(3, 4))
	found, wanted := 0, 0
	for range 20 {
		query := direction(random, all[random.IntN(len(all))], 384)
		rows := nearestRows(all, query, func(int) bool { return true })
		hits, err := Nearest(t.Context(), m.DB(), searchindex.Query{All: true}, query, limit)
		if err != nil || len(hits) != limit {
			t.Fatalf("Nearest = %v, %v, want %d hits", hits, err, limit)
		}
		if best := product(all[rows[0]], query); math.Abs(hits[0].Score-best) > .01 {
			t.Errorf("the nearest passage has the cosine %g, want %g", hits[0].Score, best)
		}
		for _, row := range rows[:limit] {
			wanted++
			if slices.ContainsFunc(hits, func(h searchindex.Hit) bool { return h.ID == idOf(row) }) {
				found++
			}
		}
	}
	if recall := float64(found) / float64(wanted); recall < .95 {
		t.Errorf("Nearest finds %.3f of the nearest passages, want .95", recall)
	}
}

// BenchmarkNearest compares 100,000 vectors of 384 dimensions with that of a query: for an
// administrator, and for users who may read half of the folders, and one of a hundred.
func BenchmarkNearest(b *testing.B) {
	m := projectionstest.OpenModel(b, projectionstest.NewLog(b), new(Projection), projectionstest.Home(b, b.TempDir()))
	all := fill(b, m, 100_000, 384)
	var granted []string
	for i := range 50 {
		granted = append(granted, fmt.Sprint("folder-", i))
	}
	random := rand.New(rand.NewPCG(5, 6))
	for name, q := range map[string]searchindex.Query{"all": {All: true}, "half": {Granted: granted}, "few": {Granted: granted[:1]}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				hits, err := Nearest(b.Context(), m.DB(), q, direction(random, all[random.IntN(len(all))], 384), 100)
				if err != nil || len(hits) != 100 {
					b.Fatalf("Nearest = %d hits, %v", len(hits), err)
				}
			}
		})
	}
}

// With pgvector, an index finds in a wide scope what a comparison of all signs finds. In
// narrow scopes all are compared.
func TestNearestByIndex(t *testing.T) {
	home := projectionstest.Database(t, postgrestest.WithVector(t))
	m := projectionstest.OpenModel(t, projectionstest.NewLog(t), new(Projection).With(readmodel.Embedding{Embedder: noEmbedder{}, Logger: projectionstest.Quiet}), home)
	const n, dimensions = 3000, 64
	all := fill(t, m, n, dimensions)
	folders := func(from, to int) (ids []string) {
		for i := from; i < to; i++ {
			ids = append(ids, fmt.Sprint("folder-", i))
		}
		return ids
	}
	random := rand.New(rand.NewPCG(7, 8))
	queries := make([][]float32, 10)
	for i := range queries {
		queries[i] = direction(random, all[random.IntN(n)], dimensions)
	}
	scopes := map[string]searchindex.Query{"all": {All: true}, "most": {Granted: folders(0, 90)}, "a tenth": {Granted: folders(0, 10)}, "nothing": {Granted: []string{"folder"}}}
	search := func(scope string) (found [][]searchindex.Hit) {
		for _, query := range queries {
			hits, err := Nearest(t.Context(), m.DB(), scopes[scope], query, 100)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, hits)
		}
		return found
	}
	compared := make(map[string][][]searchindex.Hit)
	for scope := range scopes {
		compared[scope] = search(scope)
	}
	makeIndex := func(want string) {
		t.Helper()
		m.Projection.(*Projection).indexed = time.Now().Add(-2 * indexEvery)
		m.DoAllDeferred()
		if engine, err := engineOf(t.Context(), m.DB()); err != nil || !strings.HasPrefix(engine, want) || want == "" && engine != "" {
			t.Fatalf("engineOf = %q, %v, want %q", engine, err, want)
		}
	}
	makeIndex("") // there are too few passages
	projectionstest.Edit(t, home, Name+"-1", `CREATE OR REPLACE FUNCTION passages_to_index() RETURNS BIGINT LANGUAGE sql IMMUTABLE AS 'SELECT 2000'`)
	makeIndex("pgvector ")
	for _, scope := range []string{"a tenth", "nothing"} {
		if now := search(scope); !reflect.DeepEqual(now, compared[scope]) {
			t.Errorf("scope %s: found %v with an index, and %v without", scope, now, compared[scope])
		}
	}
	for scope, folders := range map[string]int{"all": 100, "most": 90} {
		found := 0
		for i, hits := range search(scope) {
			for _, row := range nearestRows(all, queries[i], func(row int) bool { return row/10%100 < folders })[:100] {
				if slices.ContainsFunc(hits, func(h searchindex.Hit) bool { return h.ID == idOf(row) }) {
					found++
				}
			}
		}
		if found < 85*len(queries) {
			t.Errorf("scope %s: the index finds %d of %d", scope, found, 100*len(queries))
		}
	}
	for scope, want := range map[string]int{"all": 200, "most": 200, "a tenth": 0} {
		rows, err := byIndex(t.Context(), m.DB(), scopes[scope], queries[0], 100)
		if err != nil || len(rows) != want {
			t.Errorf("byIndex in scope %s = %d rows, %v, want %d", scope, len(rows), err, want)
		}
	}

	// What is added and deleted later is in the index, too.
	add := func(row int) {
		encoded := encode(queries[0])
		err := m.Store().Transaction(t.Context(), func(tx readmodel.Tx) error {
			return errors.Join(
				tx.Insert(t.Context(), "vectors", []string{"row", "document", "version", "section", "number", "hash", "vector"}, row, row/10, 1, row%10, 0, []byte("new"), encoded),
				tx.Insert(t.Context(), "signs", []string{"row", "document", "bits"}, row, row/10, signs(encoded)),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	best := search("all")[0][0].ID
	err := m.Store().Transaction(t.Context(), func(tx readmodel.Tx) error {
		return errors.Join(
			remove(t.Context(), tx, `id = $1`, best[:strings.Index(best, "/")]),
			tx.Exec(t.Context(), `INSERT INTO documents (row, id, folder, title, tags, version, text, sections, waiting) VALUES ($1, $2, 'folder-0', '', '[]', 1, '', 1, 0)`, n/10, idOf(n)[:36]),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	add(n)
	hits := search("all")[0]
	if hits[0].ID != idOf(n) || slices.ContainsFunc(hits, func(h searchindex.Hit) bool { return h.ID == best }) {
		t.Errorf("found %.2v, want %s first and not the deleted %s", hits, idOf(n), best)
	}

	// Without the extension all are compared again, until it is back.
	projectionstest.Edit(t, home, Name+"-1", `DROP EXTENSION vector CASCADE`)
	add(n + 1)
	if err := m.Store().Transaction(t.Context(), func(tx readmodel.Tx) error { return remove(t.Context(), tx, `row = 1`) }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		hits, err := Nearest(t.Context(), m.DB(), scopes["all"], queries[0], 100)
		if want := []string{idOf(n), idOf(n + 1)}; err != nil || len(hits) != 100 || !slices.Contains(want, hits[0].ID) || !slices.Contains(want, hits[1].ID) {
			t.Errorf("Nearest = %.1v, %v, want %s first", hits, err, want)
		}
		makeIndex("pgvector ")
	}
}

// noEmbedder makes no vectors.
type noEmbedder struct{ readmodel.Embedder }
