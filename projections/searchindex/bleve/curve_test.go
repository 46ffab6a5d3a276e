package bleve_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
)

// BenchmarkCurve measures how searches, memory and disk grow with the number of passages:
// each search has the two queries of a search with feedback, of an admin and of a user
// with grants on a twentieth of the folders. ANNALS_BENCH_CURVE names the numbers of
// passages; without it the benchmark is skipped.
func BenchmarkCurve(b *testing.B) {
	sizes := strings.Fields(os.Getenv("ANNALS_BENCH_CURVE"))
	if len(sizes) == 0 {
		b.Skip("ANNALS_BENCH_CURVE is empty: set it to numbers of passages, as make bench-curve does")
	}
	for _, size := range sizes {
		n, err := strconv.Atoi(size)
		if err != nil {
			b.Fatalf("ANNALS_BENCH_CURVE: %v", err)
		}
		b.Run(size, func(b *testing.B) { benchmarkSize(b, n) })
	}
}

func benchmarkSize(b *testing.B, passages int) {
	dir := b.TempDir()
	x, err := bleve.Open(filepath.Join(dir, "index"))
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	rnd := rand.New(rand.NewPCG(1, 1))
	var indexing time.Duration
	for i := 0; i < passages; i += benchBatch {
		var batch searchindex.Batch
		for j := range min(benchBatch, passages-i) {
			batch.Put = append(batch.Put, benchPassage(rnd, i+j))
		}
		begun := time.Now()
		if err := x.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		indexing += time.Since(begun)
	}
	granted := make([]string, benchFolders/20)
	for i := range granted {
		granted[i] = "folder" + strconv.Itoa(i*17%benchFolders)
	}
	var admin, user []time.Duration
	for b.Loop() {
		q := searchindex.Query{Text: question(rnd), All: true, Limit: searchindex.Candidates}
		for range 20 {
			q.More = append(q.More, searchindex.Term{Text: searchindex.Terms(word(rnd))[0], Weight: 0.1})
		}
		admin = append(admin, searchTwice(b, x, q))
		q.All, q.Granted = false, granted
		user = append(user, searchTwice(b, x, q))
	}
	debug.FreeOSMemory()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	for name, times := range map[string][]time.Duration{"admin": admin, "user": user} {
		b.ReportMetric(quantile(times, .5).Seconds()*1e3, name+"-p50-ms")
		b.ReportMetric(quantile(times, .95).Seconds()*1e3, name+"-p95-ms")
	}
	b.ReportMetric(float64(passages)/indexing.Seconds(), "indexed/s")
	b.ReportMetric(float64(memory.HeapAlloc>>20), "heap-MB")
	b.ReportMetric(anonymous(), "anon-MB")
	b.ReportMetric(diskUse(b, dir)/(1<<20), "disk-MB")
}

// searchTwice searches without and then with further terms, and returns the time of both.
func searchTwice(b *testing.B, x *bleve.Index, q searchindex.Query) time.Duration {
	begun := time.Now()
	first := q
	first.More = nil
	for _, q := range []searchindex.Query{first, q} {
		if _, err := x.Search(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begun)
}

// diskUse returns the size of all files in a folder in bytes.
func diskUse(b *testing.B, dir string) (bytes float64) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += float64(info.Size())
		}
		return nil // the engine may have removed the file meanwhile
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}
