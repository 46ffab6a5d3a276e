package bleve_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

	blevesearch "github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"
	blevequery "github.com/blevesearch/bleve/v2/search/query"
)

const (
	benchPassages = 100_000
	benchFolders  = 10_000
	benchBatch    = 2_000
	benchQueries  = 300
)

// benchPassage returns passage i: about 150 words of a vocabulary of 60,000, distributed as
// in natural language.
func benchPassage(rnd *rand.Rand, i int) searchindex.Passage {
	var b strings.Builder
	for j := range 150 {
		b.WriteString(word(rnd))
		if j%15 == 14 {
			b.WriteByte('.')
		}
		b.WriteByte(' ')
	}
	folder := rnd.IntN(benchFolders)
	return searchindex.Passage{
		ID: fmt.Sprintf("%08d-5f3c-5c1e-9d43-1f0e3c2b9a77/1/0/%d", i/4, i%4), Document: strconv.Itoa(i / 4), Text: b.String(),
		Folders: []string{"folder" + strconv.Itoa(folder), "group" + strconv.Itoa(folder%100), "top"},
		Title:   word(rnd) + " " + word(rnd), Section: word(rnd) + " > " + word(rnd),
	}
}

func word(rnd *rand.Rand) string {
	n := int(math.Exp(rnd.Float64()*math.Log(60_000))) - 1
	return "ba" + string(rune('a'+n%26)) + "ol" + strconv.FormatInt(int64(n), 26)
}

// question returns a query of three to eight words.
func question(rnd *rand.Rand) string {
	words := make([]string, 3+rnd.IntN(6))
	for i := range words {
		words[i] = word(rnd)
	}
	return strings.Join(words, " ")
}

// bare opens an index of bleve that is used without this package.
func bare(b *testing.B, dir string) blevesearch.Index {
	m := blevesearch.NewIndexMapping()
	m.ScoringModel = "bm25"
	d := mapping.NewDocumentStaticMapping()
	text := mapping.NewTextFieldMapping()
	text.Analyzer, text.Store, text.IncludeTermVectors, text.DocValues = en.AnalyzerName, false, false, false
	id := mapping.NewTextFieldMapping()
	id.Analyzer, id.Store, id.IncludeTermVectors, id.DocValues = keyword.Name, false, false, false
	d.AddFieldMappingsAt("text", text)
	d.AddFieldMappingsAt("folders", id)
	m.DefaultMapping = d
	x, err := blevesearch.NewUsing(dir, m, "scorch", "scorch", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { x.Close() })
	return x
}

// BenchmarkSearch indexes 100,000 passages in the same batches with this package and with
// bare bleve. It compares the search times of an admin and of users with grants on 500
// and 1,000 of 10,000 folders, and of an admin in a folder with a hundredth of the
// passages, and in one with all of them. It also measures a search with feedback, which
// consists of two searches, the second with further terms.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	ours, err := bleve.Open(filepath.Join(dir, "ours"))
	if err != nil {
		b.Fatal(err)
	}
	defer ours.Close()
	theirs := bare(b, filepath.Join(dir, "theirs"))
	oursTime, theirsTime := fill(b, ours, theirs)
	debug.FreeOSMemory()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)

	granted := make([]string, 1000)
	for i := range granted {
		granted[i] = "folder" + strconv.Itoa(i*17%benchFolders)
	}
	var admin time.Duration
	for _, who := range []struct {
		name    string
		granted []string
		folder  string
		twice   bool
	}{
		{name: "admin"}, {name: "granted", granted: granted[:500]}, {name: "granted1000", granted: granted},
		{name: "folder", folder: "group7"}, {name: "all", folder: "top"}, {name: "twice", twice: true},
	} {
		b.Run(who.name, func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(2, 2))
			var o, t []time.Duration
			for i := 0; b.Loop(); i++ {
				text := question(rnd)
				q := searchindex.Query{Text: text, All: who.granted == nil, Granted: who.granted, Limit: searchindex.Candidates}
				filter := who.granted
				if who.folder != "" {
					q.Folders = []string{who.folder}
					filter = q.Folders
				}
				more := make([]searchindex.Term, 20)
				for i := range more {
					more[i] = searchindex.Term{Text: searchindex.Terms(word(rnd))[0], Weight: 0.1}
				}
				start := time.Now()
				if _, err := ours.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				if who.twice {
					q.More = more
					if _, err := ours.Search(b.Context(), q); err != nil {
						b.Fatal(err)
					}
				}
				o = append(o, time.Since(start))
				if i < benchQueries {
					t = append(t, searchBare(b, theirs, text, filter))
				}
			}
			o50, t50 := quantile(o, .5), quantile(t, .5)
			b.ReportMetric(o50.Seconds()*1e3, "p50-ms")
			b.ReportMetric(quantile(o, .95).Seconds()*1e3, "p95-ms")
			b.ReportMetric(o50.Seconds()/t50.Seconds(), "p50/bare")
			b.ReportMetric(quantile(o, .95).Seconds()/quantile(t, .95).Seconds(), "p95/bare")
			if who.name == "admin" {
				admin = o50
				b.ReportMetric(benchPassages/oursTime.Seconds(), "indexed/s")
				b.ReportMetric(theirsTime.Seconds()/oursTime.Seconds(), "indexed/bare")
				b.ReportMetric(float64(memory.HeapAlloc>>20), "heap-MB")
				b.ReportMetric(anonymous(), "anon-MB")
			} else {
				b.ReportMetric(o50.Seconds()/admin.Seconds(), "p50/admin")
			}
		})
	}
}

// fill adds the same passages to both indexes and returns how long that took for each.
func fill(b *testing.B, ours *bleve.Index, theirs blevesearch.Index) (oursTime, theirsTime time.Duration) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := 0; i < benchPassages; i += benchBatch {
		var batch searchindex.Batch
		bareBatch := theirs.NewBatch()
		for j := range benchBatch {
			p := benchPassage(rnd, i+j)
			batch.Put = append(batch.Put, p)
			if err := bareBatch.Index(p.ID, map[string]any{"text": p.Title + " " + p.Section + " " + p.Text, "folders": p.Folders}); err != nil {
				b.Fatal(err)
			}
		}
		start := time.Now()
		if err := ours.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		oursTime += time.Since(start)
		start = time.Now()
		if err := theirs.Batch(bareBatch); err != nil {
			b.Fatal(err)
		}
		theirsTime += time.Since(start)
	}
	return oursTime, theirsTime
}

func searchBare(b *testing.B, x blevesearch.Index, text string, granted []string) time.Duration {
	start := time.Now()
	words := blevesearch.NewMatchQuery(text)
	words.SetField("text")
	var q blevequery.Query = words
	if granted != nil {
		var any []blevequery.Query
		for _, id := range granted {
			one := blevesearch.NewTermQuery(id)
			one.SetField("folders")
			any = append(any, one)
		}
		filtered := blevequery.NewBooleanQuery(nil, []blevequery.Query{words}, nil)
		filtered.AddFilter(blevesearch.NewDisjunctionQuery(any...))
		q = filtered
	}
	if _, err := x.SearchInContext(context.Background(), blevesearch.NewSearchRequestOptions(q, searchindex.Candidates, 0, false)); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func quantile(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	return d[int(q*float64(len(d)-1))]
}

// anonymous returns the anonymous memory of the process in MB, or 0 if the system does not
// report it.
func anonymous() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	line, _, _ := strings.Cut(after, "kB")
	kilobytes, _ := strconv.ParseFloat(strings.TrimSpace(line), 64)
	return kilobytes / 1024
}
