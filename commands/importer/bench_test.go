package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/commands"
	"annals/commands/importer/extract"
	"annals/commands/importer/summarise"
	"annals/events"
	"annals/events/memory"
	"annals/events/sqlite"
)

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// BenchmarkSmallFiles imports 1,000 Markdown files of 2 KB in one job, with a log in memory
// and with one on disk, where each file takes three durable appends. For comparison, the
// sub-benchmark yardstick=read only extracts and summarises the same files, one after
// another.
func BenchmarkSmallFiles(b *testing.B) {
	const files = 1000
	bench := newFixture(b)
	docs := make([]doc, files)
	for i := range docs {
		docs[i] = doc{fmt.Sprint(i, ".md"), fmt.Sprint("Library/", i%10), fmt.Sprintf("# Note %d\n\n%s", i, strings.Repeat(fmt.Sprintf("Line %d says a thing or two about it.\n\n", i), 50))}
	}
	perSecond := func(b *testing.B) { b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s") }
	run := func(open func(b *testing.B) events.Driver) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				fresh := bench.on(open(b))
				_, work := fresh.accept(alice, docs...)
				i := fresh.importer(fresh.driver)
				b.StartTimer()
				if nacked := fresh.deliver(i, work); len(nacked) > 0 {
					b.Fatalf("%d files were rejected", len(nacked))
				}
			}
			perSecond(b)
		}
	}
	b.Run("log=memory", run(func(*testing.B) events.Driver { return memory.New() }))
	b.Run("log=sqlite", run(func(b *testing.B) events.Driver {
		d, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "log"))
		if err != nil {
			b.Fatal(err)
		}
		return d
	}))
	b.Run("yardstick=read", func(b *testing.B) {
		_, work := bench.accept(alice, docs...)
		h := &commands.Handler{Log: bench.log}
		for b.Loop() {
			for _, w := range work {
				f, err := h.FileToImport(b.Context(), w.Job, w.File)
				if err != nil {
					b.Fatal(err)
				}
				path, release, err := bench.originals.Path(b.Context(), f.Accepted.SHA256)
				if err != nil {
					b.Fatal(err)
				}
				s := summarise.New(f.Accepted.Name)
				_, err = bench.reader.Read(b.Context(), path, f.Accepted.Name, func(e extract.Section) error { s.Add(e.Title, e.Text); return nil }, func(string, int, int) {})
				release()
				if err != nil {
					b.Fatal(err)
				}
				s.Result()
			}
		}
		perSecond(b)
	})
}

// BenchmarkLongText imports a text of 300 MB, and reports the peak of the heap. The log
// discards the text, so the heap is that of the importer.
func BenchmarkLongText(b *testing.B) {
	const size = 300 << 20
	bench := newFixture(b)
	section := strings.Repeat("Line after line of a long text.\n", extract.MaxPart/32)
	bench.reader = script(func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
		for i := range size / len(section) {
			if err := emit(extract.Section{Index: i, Level: 1, Title: fmt.Sprint("Section ", i), Text: section}); err != nil {
				return extract.Info{}, err
			}
		}
		return extract.Info{}, nil
	})
	b.SetBytes(size)
	for b.Loop() {
		fresh := bench.again()
		_, work := fresh.accept(alice, doc{"long.txt", "Library", "x"})
		var peak atomic.Uint64
		stop := watchHeap(&peak)
		fresh.deliver(fresh.importer(discardText{Driver: fresh.driver}), work)
		stop()
		b.ReportMetric(float64(peak.Load())/(1<<20), "MB-peak")
	}
}

// watchHeap measures the peak of the heap until the function that it returns is called.
func watchHeap(peak *atomic.Uint64) func() {
	done, ended := make(chan struct{}), make(chan struct{})
	runtime.GC()
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// discardText is a driver that does not store texts, so that they do not count as heap.
type discardText struct{ events.Driver }

func (d discardText) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if strings.HasPrefix(stream, "text-") {
		return events.Appended{Revision: expected + int64(len(records))}, nil
	}
	return d.Driver.Append(ctx, stream, expected, records)
}
