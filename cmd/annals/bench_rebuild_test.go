package main

import (
	"context"
	"database/sql"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/engine"
	"annals/events"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/searchindextest"
)

// BenchmarkRebuildTables rebuilds vault, jobs and summaries from a log of a million
// events (ANNALS_BENCH_EVENTS sets another number). Each read model has its own
// baseline, a raw loop that reads the same events and inserts one row for each event,
// up to the number of rows of the read model. rows-ratio has another baseline: one raw
// loop that reads the whole log once and inserts as many rows as all three read models
// have. Rebuilds and baselines alternate, and the shorter of two times counts, because
// other load on the machine only adds time. peak-MB is the peak of the anonymous memory
// during the rebuild. peak/tenth is that peak divided by the peak for a log of a tenth
// of the size.
func BenchmarkRebuildTables(b *testing.B) {
	n := benchEvents(b, 1_000_000)
	models := []readmodel.Projection{readmodel.Vault{}, readmodel.Jobs{}, readmodel.Summaries{}}
	history, tenth := benchHistory(b, n), benchHistory(b, n/10)
	var ours, yardstick, whole time.Duration
	for b.Loop() {
		rows := 0
		for _, p := range models {
			r := newBenchRebuild(b, history)
			raw, took := rawLoop(b, history, p.Types(), math.MaxInt), r.run(p.Name())
			rows += r.rows(p.Name())
			raw, took = min(raw, rawLoop(b, history, p.Types(), math.MaxInt)), min(took, newBenchRebuild(b, history).run(p.Name()))
			b.ReportMetric(raw.Seconds()/took.Seconds(), p.Name()+"-ratio")
			ours, yardstick = ours+took, yardstick+raw
		}
		whole += min(rawLoop(b, history, nil, rows), rawLoop(b, history, nil, rows))
	}
	b.ReportMetric(yardstick.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(whole.Seconds()/ours.Seconds(), "rows-ratio")
	peak := rebuildMemory(b, history, models)
	b.ReportMetric(peak, "peak-MB")
	b.ReportMetric(peak/rebuildMemory(b, tenth, models), "peak/tenth")
}

// benchEvents returns the number of events in ANNALS_BENCH_EVENTS, or the usual number.
func benchEvents(b *testing.B, usual int) int {
	b.Helper()
	text := os.Getenv("ANNALS_BENCH_EVENTS")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatalf("ANNALS_BENCH_EVENTS: %v", err)
	}
	return n
}

// benchRebuild rebuilds read models from a log, in a separate folder.
type benchRebuild struct {
	*testing.B
	dir     string
	options generation.Options
	bleve   time.Duration // time spent in the search index
}

func newBenchRebuild(b *testing.B, history string) *benchRebuild {
	r := &benchRebuild{B: b, dir: b.TempDir()}
	driver, err := engine.OpenLog(b.Context(), engine.LogFlag, "", history, engine.MustExist)
	if err != nil {
		b.Fatal(err)
	}
	log := events.NewLog(driver)
	b.Cleanup(func() { log.Close() })
	control, err := control.Open(b.Context(), filepath.Join(r.dir, "control.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { control.Close() })
	models, err := engine.URLs{Data: r.dir}.Models()
	if err != nil {
		b.Fatal(err)
	}
	r.options = models.Options(generation.Options{Log: log, Control: control, Logger: slog.New(slog.DiscardHandler)})
	search := r.options.Search
	r.options.Search = searchindextest.Store{Store: search, OnOpen: func(ctx context.Context, generation string) (searchindex.Engine, error) {
		index, err := search.Open(ctx, generation)
		return &timedEngine{index, &r.bleve}, err
	}}
	return r
}

// run rebuilds a read model and returns how long that took.
func (r *benchRebuild) run(name string) time.Duration {
	r.Helper()
	begun := time.Now()
	if _, err := r.options.Rebuild(r.Context(), name, nil); err != nil {
		r.Fatal(err)
	}
	return time.Since(begun)
}

// rows returns the number of rows of a read model.
func (r *benchRebuild) rows(name string) (total int) {
	r.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.dir, "read-models", name+"-1.db"))
	if err != nil {
		r.Fatal(err)
	}
	defer db.Close()
	tables, err := projections.Column(r.Context(), db, `SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		r.Fatal(err)
	}
	for _, table := range tables {
		var n int
		if err := db.QueryRowContext(r.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
			r.Fatal(err)
		}
		total += n
	}
	return total
}

// timedEngine is a search engine that adds the time of each change of the index to
// took.
type timedEngine struct {
	searchindex.Engine
	took *time.Duration
}

func (e *timedEngine) Apply(ctx context.Context, batch searchindex.Batch) error {
	begun := time.Now()
	defer func() { *e.took += time.Since(begun) }()
	return e.Engine.Apply(ctx, batch)
}

// rawLoop is a baseline. It reads the events of the given types, or of all types if
// there are none, and inserts one row for each event into a table, but at most the
// given number of rows. It uses transactions of 1000 rows, and the same database driver
// and settings as read models.
func rawLoop(b *testing.B, history string, types []string, most int) time.Duration {
	ctx := context.Background() // with a context that can be canceled the driver is slower
	from, err := sql.Open("sqlite", "file:"+filepath.Join(history, "log.db")+"?_pragma=query_only(1)")
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "raw.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=cache_size(-16000)&_pragma=wal_autocheckpoint(2000)")
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	to, err := pool.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer to.Close()
	begun := time.Now()
	exec := func(query string) {
		if _, err := to.ExecContext(ctx, query); err != nil {
			b.Fatal(err)
		}
	}
	exec(`CREATE TABLE raw (position INTEGER PRIMARY KEY, type TEXT, stream TEXT, revision INTEGER, id BLOB, metadata BLOB, data BLOB)`)
	insert, err := to.PrepareContext(ctx, `INSERT INTO raw VALUES (?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	const all = `SELECT position, type, stream, revision, id, metadata, data FROM events`
	legs := []string{all}
	if len(types) > 0 {
		legs = legs[:0]
		for _, t := range types {
			legs = append(legs, all+` WHERE type = '`+t+`'`)
		}
	}
	rows, err := from.QueryContext(ctx, strings.Join(legs, ` UNION ALL `)+` ORDER BY position`)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	exec("BEGIN")
	for n := 1; rows.Next(); n++ {
		var r events.Record
		var id []byte
		if err := rows.Scan(&r.Position, &r.Type, &r.Stream, &r.Revision, &id, &r.Metadata, &r.Data); err != nil {
			b.Fatal(err)
		}
		if n > most {
			continue
		}
		if _, err := insert.ExecContext(ctx, r.Position, r.Type, r.Stream, r.Revision, id, r.Metadata, r.Data); err != nil {
			b.Fatal(err)
		}
		if n%1000 == 0 {
			exec("COMMIT")
			exec("BEGIN")
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	exec("COMMIT")
	return time.Since(begun)
}

// rebuildMemory rebuilds read models in a separate process of this program, and returns
// the peak of its anonymous memory in MB.
func rebuildMemory(b *testing.B, history string, models []readmodel.Projection) float64 {
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	args := []string{"annals", "rebuild", "--data", b.TempDir(), "--log", "sqlite://" + filepath.ToSlash(filepath.Join(history, "log.db"))}
	for _, p := range models {
		args = append(args, p.Name())
	}
	c := &exec.Cmd{Path: program, Args: args, Env: append(os.Environ(), "ANNALS_TEST_PROGRAM=1")}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	stop := (&benchServer{B: b, serverProcess: &serverProcess{command: c}}).watchMemory()
	err = c.Wait()
	_, peak := stop()
	if err != nil {
		b.Fatalf("%v: %v", args, err)
	}
	return peak
}

// BenchmarkRebuildPassages rebuilds the read model passages and its search index from a
// log of 100,000 events (ANNALS_BENCH_EVENTS sets another number). The time includes cutting texts into passages. The baseline
// only indexes: it gets the same passages from memory, in the same batches and one
// batch at a time, and indexes them with the same fields, terms and settings.
// bleve-share is the part of the rebuild time that is spent in bleve. cpu/bare compares
// CPU times, which depend less on other load on the machine.
func BenchmarkRebuildPassages(b *testing.B) {
	history := benchHistory(b, benchEvents(b, 100_000))
	var ours, yardstick, share, cpu, yardstickCPU time.Duration
	passages := 0
	for b.Loop() {
		r := newBenchRebuild(b, history)
		before := cpuOf(os.Getpid())
		ours += r.run("passages")
		cpu += cpuOf(os.Getpid()) - before
		share += r.bleve
		all := r.passages()
		passages += len(all)
		before = cpuOf(os.Getpid())
		yardstick += indexAlone(b, all)
		yardstickCPU += cpuOf(os.Getpid()) - before
	}
	b.ReportMetric(yardstick.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(cpu.Seconds()/yardstickCPU.Seconds(), "cpu/bare")
	b.ReportMetric(share.Seconds()/ours.Seconds(), "bleve-share")
	b.ReportMetric(float64(passages)/ours.Seconds(), "passages/s")
}

// passages returns the passages that a rebuild indexed.
func (r *benchRebuild) passages() []searchindex.Passage {
	r.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.dir, "read-models", "passages-1.db"))
	if err != nil {
		r.Fatal(err)
	}
	defer db.Close()
	type row struct {
		id                                                    string
		document, folder, top, title, outer, section, passage string
	}
	rows, err := projections.List(r.Context(), db, func(p *row) []any {
		return []any{&p.id, &p.document, &p.folder, &p.top, &p.title, &p.outer, &p.section, &p.passage}
	}, `SELECT d.id || '/' || p.version || '/' || p.section || '/' || p.number, d.id, d.folder, f.parent, d.title, s.path ->> 0, s.path ->> 1,
			CAST(substr(s.text, p.start + 1, p.length) AS TEXT)
		FROM passages p JOIN documents d ON d.id = p.document JOIN folders f ON f.id = d.folder JOIN sections s ON s.id = p.row
		ORDER BY d.text, p.section, p.number`)
	if err != nil {
		r.Fatal(err)
	}
	all := make([]searchindex.Passage, len(rows))
	for i, p := range rows {
		all[i] = searchindex.Passage{
			ID: p.id, Document: p.document, Folders: []string{p.folder, p.top}, Title: p.title, Section: p.outer + " > " + p.section, Text: p.passage,
		}
	}
	return all
}

func indexAlone(b *testing.B, all []searchindex.Passage) time.Duration {
	x, err := bleve.Folder(b.TempDir()).Open(b.Context(), "alone")
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	const batch = 2000
	begun := time.Now()
	for i := 0; i < len(all); i += batch {
		put := all[i:min(i+batch, len(all))]
		if err := x.Apply(b.Context(), searchindex.Batch{Put: put, Position: events.Position(i + 1)}); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begun)
}
