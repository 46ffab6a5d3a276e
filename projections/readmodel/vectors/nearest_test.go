package vectors

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

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

// The signs and the numbers in 8 bits must find what the vectors themselves find.
func TestNearestRecall(t *testing.T) {
	m := projectionstest.OpenModel(t, projectionstest.NewLog(t), new(Projection), projectionstest.Home(t, t.TempDir()))
	const passages, limit = 10_000, 10
	all := fill(t, m, passages, 384)
	random := rand.New(rand.NewPCG(3, 4))
	found, wanted := 0, 0
	for range 20 {
		query := direction(random, all[random.IntN(len(all))], 384)
		rows := make([]int, len(all))
		cosines := make([]float64, len(all))
		for i, v := range all {
			rows[i] = i
			for j := range v {
				cosines[i] += float64(v[j]) * float64(query[j])
			}
		}
		slices.SortFunc(rows, func(a, b int) int {
			if cosines[a] > cosines[b] {
				return -1
			}
			return 1
		})
		hits, err := Nearest(t.Context(), m.DB(), searchindex.Query{All: true}, query, limit)
		if err != nil || len(hits) != limit {
			t.Fatalf("Nearest = %v, %v, want %d hits", hits, err, limit)
		}
		if best := cosines[rows[0]]; math.Abs(hits[0].Score-best) > .01 {
			t.Errorf("the nearest passage has the cosine %g, want %g", hits[0].Score, best)
		}
		for _, row := range rows[:limit] {
			wanted++
			id := fmt.Sprintf("00000000-0000-0000-0000-%012d/1/%d/0", row/10, row%10)
			if slices.ContainsFunc(hits, func(h searchindex.Hit) bool { return h.ID == id }) {
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
