package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"

	"github.com/google/uuid"
)

// pair contains the best times of this package (ours) and of plain SQL (yardstick),
// measured alternately. The best time counts, because other load on the machine only
// makes a run slower.
type pair struct{ ours, yardstick time.Duration }

func (p *pair) add(ours, yardstick time.Duration) {
	if p.ours == 0 {
		p.ours, p.yardstick = ours, yardstick
	}
	p.ours, p.yardstick = min(p.ours, ours), min(p.yardstick, yardstick)
}

func (p *pair) report(b *testing.B) {
	b.ReportMetric(p.yardstick.Seconds()/p.ours.Seconds(), "ratio")
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

const (
	writers  = 64
	round    = 3200 // events per measurement
	rawBatch = 100  // rows per transaction of the raw loop
)

// BenchmarkAppend64Writers compares concurrent writers, each of which appends one event
// at a time, with a plain loop that inserts the same number of rows in transactions of
// 100.
func BenchmarkAppend64Writers(b *testing.B) {
	b.Run("annals", func(b *testing.B) {
		d := openBench(b)
		log, raw := events.NewLog(d), openRaw(b)
		streams := make([]benchStream, writers)
		for i := range streams {
			streams[i] = benchStream{events.DocumentStream(uuid.New()), events.NoStream}
		}
		var p pair
		rounds := 0
		for b.Loop() {
			b.StopTimer()
			yardstick := timed(func() { raw.insert(b, round) })
			b.StartTimer()
			p.add(timed(func() { appendRound(b, log, streams) }), yardstick)
			rounds++
		}
		p.report(b)
		b.ReportMetric(float64(rounds*round)/float64(d.writer.transactions), "events/sync")
		b.ReportMetric(float64(rounds*round)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("raw", func(b *testing.B) {
		raw := openRaw(b)
		rounds := 0
		for b.Loop() {
			raw.insert(b, round)
			rounds++
		}
		b.ReportMetric(rawBatch, "events/sync")
		b.ReportMetric(float64(rounds*round)/b.Elapsed().Seconds(), "events/s")
	})
}

// benchStream is the stream of one writer.
type benchStream struct {
	name string
	last int64
}

// appendRound appends round events. All writers append concurrently, each to its own
// stream.
func appendRound(b *testing.B, log *events.Log, streams []benchStream) {
	var appended atomic.Int64
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			for s := &streams[i]; appended.Add(1) <= round; s.last++ {
				if _, err := log.Append(context.Background(), s.name, s.last, benchCause, events.New{Data: benchEvent(int(s.last) + 1)}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

var benchCause = events.Cause{Actor: "user:alice", Via: "vault", Correlation: "4f1c7a52-6f0e-4a57-9f0a-0d3f5b1c2e11"}

// benchEvent returns typical events of under 300 bytes.
func benchEvent(i int) events.Data {
	switch i % 4 {
	case 0:
		return events.DocumentRenamed{Version: i, Name: "Annual report, second draft.pdf"}
	case 1:
		return events.FileStepped{File: i, Step: "reading", Message: "page 12 of 30"}
	case 2:
		return events.DocumentTagged{Version: i, Tags: []string{"finance", "2025", "board"}}
	}
	return events.FileStarted{File: i}
}

func openBench(b *testing.B) *Driver {
	d, err := Open(b.Context(), filepath.Join(b.TempDir(), "log.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	return d
}

// rawLog inserts into the table of a log with plain SQL.
type rawLog struct {
	db       *sql.DB
	streams  []string
	inserted int
}

func openRaw(b *testing.B) *rawLog {
	d := openBench(b) // creates the file
	db, err := connect(d.path, 1, "synchronous(FULL)", "journal_size_limit(67108864)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	raw := &rawLog{db: db}
	for range writers {
		raw.streams = append(raw.streams, events.DocumentStream(uuid.New()))
	}
	return raw
}

func (r *rawLog) insert(b *testing.B, n int) {
	insert, err := r.db.Prepare(`INSERT INTO events (type, stream, revision, id, metadata, data) VALUES (?, ?, ?, ?, ?, ?)`)
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	metadata := []byte(`{"time":"2026-01-02T03:04:05.000006Z","actor":"user:alice","via":"vault","correlation_id":"4f1c7a52-6f0e-4a57-9f0a-0d3f5b1c2e11","schema":1}`)
	data := []byte(`{"version":12,"name":"Annual report, second draft.pdf"}`)
	for done := 0; done < n; done += rawBatch {
		tx, err := r.db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		stmt := tx.Stmt(insert)
		for range rawBatch {
			id := uuid.New()
			if _, err := stmt.Exec("DocumentRenamed", r.streams[r.inserted%writers], r.inserted/writers, id[:], metadata, data); err != nil {
				b.Fatal(err)
			}
			r.inserted++
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadAll compares reading and decoding a whole log through events.Log with
// scanning the same columns by plain SQL.
func BenchmarkReadAll(b *testing.B) {
	const n = 200_000
	d := openBench(b)
	log := events.NewLog(d)
	fill(b, log, n)
	db, err := connect(d.path, 1, "query_only(1)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	b.Run("annals", func(b *testing.B) {
		var p pair
		for b.Loop() {
			b.StopTimer()
			yardstick := timed(func() { scanRaw(b, db, n) })
			b.StartTimer()
			p.add(timed(func() { readLog(b, log, n) }), yardstick)
		}
		p.report(b)
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("raw", func(b *testing.B) {
		for b.Loop() {
			scanRaw(b, db, n)
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
	})
}

func fill(b *testing.B, log *events.Log, n int) {
	const batch = 1000
	for i := 0; i < n; i += batch {
		news := make([]events.New, batch)
		for j := range news {
			news[j].Data = benchEvent(i + j)
		}
		if _, err := log.Append(b.Context(), fmt.Sprintf("document-%d", i), events.NoStream, benchCause, news...); err != nil {
			b.Fatal(err)
		}
	}
}

func readLog(b *testing.B, log *events.Log, n int) {
	got := 0
	for after := events.Position(0); ; {
		batch, through, err := log.Read(context.Background(), after, 5000)
		if err != nil {
			b.Fatal(err)
		}
		for i := range batch {
			if batch[i].Err != nil {
				b.Fatal(batch[i].Err)
			}
		}
		if got += len(batch); through == after {
			break
		}
		after = through
	}
	if got != n {
		b.Fatalf("read %d events, want %d", got, n)
	}
}

func scanRaw(b *testing.B, db *sql.DB, n int) {
	rows, err := db.Query(`SELECT ` + columns + ` FROM events ORDER BY position`)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	got := 0
	for rows.Next() {
		var r events.Record
		if err := rows.Scan(&r.Position, &r.Type, &r.Stream, &r.Revision, (*id)(&r.ID), &r.Metadata, &r.Data); err != nil {
			b.Fatal(err)
		}
		got++
	}
	if err := rows.Err(); err != nil || got != n {
		b.Fatalf("scanned %d rows, %v, want %d", got, err, n)
	}
}
