package backup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"annals/events"
	"annals/events/backup"
	"annals/events/originals"
	"annals/events/sqlite"

	"github.com/google/uuid"
)

// benchEvents is the default number of events; ANNALS_BENCH_EVENTS overrides it.
const benchEvents = 50_000

// BenchmarkBackup backs up and restores a log. Five of six events are sections of about
// 1 KB. No event names an original. For comparison, a plain loop reads the log and
// compresses its payloads.
func BenchmarkBackup(b *testing.B) {
	n := benchEvents
	if text := os.Getenv("ANNALS_BENCH_EVENTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(b.TempDir(), "log.db")
	if err := sqlite.Load(b.Context(), path, generated(n)); err != nil {
		b.Fatal(err)
	}
	driver, err := sqlite.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	log := events.NewLog(driver)
	b.Cleanup(func() { _ = log.Close() })
	store, err := originals.OpenDir(filepath.Join(b.TempDir(), "originals"))
	if err != nil {
		b.Fatal(err)
	}
	perSecond := func(b *testing.B) { b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s") }
	quiet := func(string, int64, int64) {}
	root, dir := b.TempDir(), ""
	b.Run("backup", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			dir = filepath.Join(root, strconv.Itoa(i))
			job := &backup.Backup{Location: backup.Folder(dir), Log: log, Originals: store, Progress: quiet}
			if _, err := job.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			r := &backup.Restore{Location: backup.Folder(dir), Originals: store, Progress: quiet, Load: loadInto(filepath.Join(b.TempDir(), "log.db"))}
			if _, _, err := r.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
	b.Run("yardstick=read+gzip", func(b *testing.B) {
		for b.Loop() {
			if err := compress(b.Context(), log); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
}

func compress(ctx context.Context, log *events.Log) error {
	zip, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		return err
	}
	for after := events.Position(0); ; {
		records, through, err := log.Records(ctx, after, 1000)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			if _, err := zip.Write(r.Data); err != nil {
				return err
			}
		}
		after = through
	}
}

// generated returns n events of documents and their texts.
func generated(n int) iter.Seq2[[]events.Record, error] {
	words := bytes.Fields([]byte("the lamp of a lighthouse burned oil until glass and wire took its place in most of the towers along this coast"))
	return func(yield func([]events.Record, error) bool) {
		var batch []events.Record
		var document uuid.UUID
		for i := range n {
			r := events.Record{ID: uuid.New(), Position: events.Position(i + 1), Type: "SectionExtracted", Revision: int64(i % 6), Metadata: []byte(`{"time":"2026-01-02T03:04:05.000006Z","schema":1}`)}
			if i%6 == 0 {
				document = uuid.New()
			}
			r.Stream = events.TextStream(document, 1)
			text := make([]byte, 0, 1200)
			for len(text) < 1000 {
				text = append(append(text, words[rand.IntN(len(words))]...), ' ')
			}
			r.Data = fmt.Appendf(nil, `{"index":%d,"level":1,"text":%q}`, r.Revision, text)
			if i%6 == 5 {
				r.Stream, r.Revision, r.Type = events.DocumentStream(document), 0, "DocumentDeleted"
				r.Data = []byte(`{"version":1}`)
			}
			if batch = append(batch, r); len(batch) == 1000 || i == n-1 {
				if !yield(batch, nil) {
					return
				}
				batch = nil
			}
		}
	}
}
