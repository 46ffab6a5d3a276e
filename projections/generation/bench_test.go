package generation_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"annals/events"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/events/sqlite"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/tables"
	"annals/schema"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// BenchmarkRebuildPostgres builds read models in PostgreSQL from a log of 100,000 events,
// or of ANNALS_BENCH_EVENTS. The baseline is a loop that sends the same statements in the
// same transactions by pgx.Batch and creates the same indexes, without folding events.
// The better of two runs counts.
func BenchmarkRebuildPostgres(b *testing.B) {
	n := 100_000
	if text := os.Getenv("ANNALS_BENCH_EVENTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	log := benchLog(b, n)
	var ours, bare time.Duration
	for b.Loop() {
		for _, p := range []readmodel.Projection{readmodel.Vault{}, readmodel.Jobs{}, readmodel.Summaries{}, readmodel.Audit{}} {
			recorded := &recording{Home: benchHome(b)}
			benchFill(b, log, p, recorded)
			took, raw := benchFill(b, log, p, benchHome(b)), recorded.replay(b, p)
			took, raw = min(took, benchFill(b, log, p, benchHome(b))), min(raw, recorded.replay(b, p))
			b.ReportMetric(raw.Seconds()/took.Seconds(), p.Name()+"-ratio")
			ours, bare = ours+took, bare+raw
		}
	}
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(4*float64(n)*float64(b.N)/ours.Seconds(), "events/s")
}

// benchLog returns a log of imports, in which about every seventh document is renamed.
func benchLog(b *testing.B, n int) *events.Log {
	b.Helper()
	driver, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "log.db"))
	if err != nil {
		b.Fatal(err)
	}
	log := events.NewLog(driver)
	b.Cleanup(func() { log.Close() })
	var folder uuid.UUID
	for i, made := 0, 0; made < n; i++ {
		if i%10 == 0 {
			folder = uuid.New()
			projectionstest.Append(b, log, events.Folders, events.FolderCreated{Folder: folder, Name: fmt.Sprint("folder ", i), Owner: "user:owner"})
		}
		job, files := uuid.New(), make([]events.Data, 0, 101)
		for f := range 100 {
			files = append(files, events.FileAccepted{File: f, Name: fmt.Sprint("file ", f, ".md"), Folder: "folder", SHA256: fmt.Sprintf("%064x", i*100+f)})
		}
		projectionstest.Append(b, log, events.JobStream(job), append(files, events.ImportRequested{Files: 100, User: "user:owner"})...)
		ended := make([]events.Data, 0, 101)
		for f := range 100 {
			document := uuid.New()
			d := events.DocumentImported{Version: 1, Folder: folder, Name: fmt.Sprint("file ", f, ".md"), Tags: []string{"tag"}, Content: events.Content{
				SHA256: fmt.Sprintf("%064x", i*100+f), MediaType: "text/markdown", Title: "A title of some words", Description: "A description of one sentence.", TextStream: events.TextStream(document, 1),
			}}
			all := []events.Data{d}
			if f%7 == 0 {
				all = append(all, events.DocumentRenamed{Version: 2, Name: "another.md"})
			}
			projectionstest.Append(b, log, events.DocumentStream(document), all...)
			made += len(all)
			ended = append(ended, events.FileImported{File: f, Document: document, Title: "A title of some words"})
		}
		projectionstest.Append(b, log, events.JobStream(job), append(ended, events.JobFinished{Successful: 100})...)
		made += 202
	}
	return log
}

func benchHome(b *testing.B) *tables.Database {
	b.Helper()
	d, err := sqldb.ParsePostgres(postgrestest.URL(b))
	if err != nil {
		b.Fatal(err)
	}
	home := tables.NewDatabase(d)
	b.Cleanup(func() { home.Close() })
	return home
}

// benchFill builds a read model and returns how long that took.
func benchFill(b *testing.B, log *events.Log, p readmodel.Projection, home tables.Home) time.Duration {
	b.Helper()
	g, err := generation.New(b.Context(), log, p, home, p.Name()+"-1", projectionstest.Quiet)
	if err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	if err := g.Fill(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begun)
	if err := g.Close(); err != nil {
		b.Fatal(err)
	}
	return took
}

// recording is a home that records the statements of each transaction.
type recording struct {
	tables.Home
	transactions [][]statement
}

type statement struct {
	query string
	args  []any
}

func (r *recording) Open(ctx context.Context, generation, model string) (tables.Store, error) {
	s, err := r.Home.Open(ctx, generation, model)
	return &recordingStore{s, r}, err
}

type recordingStore struct {
	tables.Store
	to *recording
}

func (s *recordingStore) Transaction(ctx context.Context, fn func(readmodel.Tx) error) error {
	s.to.transactions = append(s.to.transactions, nil)
	return s.Store.Transaction(ctx, func(tx readmodel.Tx) error { return fn(recordingTx{tx, s.to}) })
}

type recordingTx struct {
	readmodel.Tx
	to *recording
}

func (tx recordingTx) record(query string, args []any) {
	last := &tx.to.transactions[len(tx.to.transactions)-1]
	*last = append(*last, statement{query, numbers(args)})
}

func (tx recordingTx) Exec(ctx context.Context, query string, args ...any) error {
	tx.record(query, args)
	return tx.Tx.Exec(ctx, query, args...)
}

func (tx recordingTx) Changed(ctx context.Context, query string, args ...any) (int64, error) {
	tx.record(query, args)
	return tx.Tx.Changed(ctx, query, args...)
}

// Insert fails, because only statements can be recorded and replayed.
func (recordingTx) Insert(_ context.Context, table string, _ []string, _ ...any) error {
	return fmt.Errorf("insert into %s: the benchmark records statements only", table)
}

// replay sends the recorded statements to tables of another database, and returns how
// long that took.
func (r *recording) replay(b *testing.B, p readmodel.Projection) time.Duration {
	b.Helper()
	ctx := b.Context()
	conn, err := pgx.Connect(ctx, postgrestest.URL(b))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	dialect := sqldb.Dialect{Postgres: true, ByteOrder: true}
	tables, err := dialect.Script(schema.SQL, "sql", "base")
	if err == nil {
		var own string
		own, err = dialect.Script(schema.SQL, "sql", p.Name())
		tables += own
	}
	if err == nil {
		_, err = conn.Exec(ctx, tables+"; SET synchronous_commit = off; SET jit = off")
	}
	if err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	for _, statements := range r.transactions {
		var batch pgx.Batch
		batch.Queue("BEGIN")
		for _, s := range statements {
			batch.Queue(s.query, s.args...)
		}
		batch.Queue("COMMIT")
		if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
			b.Fatal(err)
		}
	}
	indexes, err := dialect.Script(schema.SQL, "sql", p.Name()+"-indexes")
	if err == nil {
		_, err = conn.Exec(ctx, "SET maintenance_work_mem = '64MB';"+indexes)
	}
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(begun)
}

// numbers replaces booleans by the numbers 0 and 1, which the tables store.
func numbers(args []any) []any {
	out := slices.Clone(args)
	for i, arg := range out {
		if flag, ok := arg.(bool); ok {
			out[i] = int64(0)
			if flag {
				out[i] = int64(1)
			}
		}
	}
	return out
}
