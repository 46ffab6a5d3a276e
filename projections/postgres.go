package projections

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strings"

	"annals/events/failpoint"
	"annals/events/postgres"

	"github.com/jackc/pgx/v5"
)

// Database keeps each generation in a schema of a PostgreSQL database,
// <prefix>_<projection>_<generation>, which any number of processes may open.
// One of them leads, and writes; all read.
type Database struct {
	db   *postgres.Database
	pool *sql.DB // that makes, finds and removes schemas

	// Node names the server that leads what it writes; "" for a command.
	Node string

	// Replica is a copy of the database, or are several behind one name, which
	// may lag. Queries read it where it is just where the database is. Nil for
	// none.
	Replica *postgres.Database
}

// NewDatabase is a home in db. Nothing is connected before a read model is
// opened.
func NewDatabase(db *postgres.Database) *Database {
	return &Database{db: db, pool: db.Open("", 2, nil)}
}

// Close closes what the home itself holds, after all that was opened in it.
func (d *Database) Close() error { return d.pool.Close() }

// schemaOf returns the name of a generation's schema, without the prefix that
// all schemas of the service have.
func schemaOf(generation string) string { return strings.ReplaceAll(generation, "-", "_") }

func (d *Database) name(generation string) string {
	if generation == "" {
		return fmt.Sprintf("the schemas %s in %s", d.db.Schema("*"), d.db)
	}
	return fmt.Sprintf("the schema %s in %s", d.db.Schema(schemaOf(generation)), d.db)
}

func (d *Database) there(ctx context.Context, generation string) error {
	var there bool
	err := d.pool.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, d.db.Schema(schemaOf(generation))+".checkpoint").Scan(&there)
	if err == nil && !there {
		return fmt.Errorf("%s: %w", d.name(generation), fs.ErrNotExist)
	}
	return postgres.Told(err)
}

func (d *Database) remove(ctx context.Context, generation string) error {
	err := d.db.Drop(ctx, d.pool, schemaOf(generation))
	failpoint.Here(failpoint.GenerationRemoved)
	return err
}

func (d *Database) view(ctx context.Context, generation string) (*reader, error) {
	if err := d.there(ctx, generation); err != nil {
		return nil, err
	}
	db := d.db.Open(schemaOf(generation), 2, readerSettings)
	return &reader{from: db, db: db, arguments: arguments}, nil
}

var (
	// readerSettings leave out compiling: it takes longer than what is asked here.
	readerSettings = map[string]string{"jit": "off"}
	// writerSettings let the server end the session of a host that vanished, and
	// with it its lead, after about a quarter of a minute.
	writerSettings = map[string]string{
		"jit": "off", "tcp_keepalives_idle": "5", "tcp_keepalives_interval": "3", "tcp_keepalives_count": "3", "tcp_user_timeout": "15000",
	}
)

// postgresReaders bounds the connections for reading of one read model: a node
// has about thirty in all.
const postgresReaders = 4

func (d *Database) open(ctx context.Context, generation, model string) (store, error) {
	if err := d.make(ctx, generation, model); err != nil {
		return nil, fmt.Errorf("open read model %s: %w", d.name(generation), postgres.Told(err))
	}
	name := schemaOf(generation)
	s := &postgresStore{
		schema:  d.db.Schema(name),
		writers: d.db.Open(name, 1, d.leaderSettings()),
		readers: d.db.Open(name, postgresReaders, readerSettings),
		batch:   new(pgx.Batch),
		rows:    make(map[string]*insertion),
	}
	// What has a second store is changed without a word of its checkpoint, too.
	if d.Replica != nil && model != passagesName {
		s.replica = replicaOf(s.reads(), d.Replica, name)
	}
	return s, nil
}

// make makes the tables of a generation that are not there. Those who do so at
// once wait for each other.
func (d *Database) make(ctx context.Context, generation, model string) error {
	text, err := tablesOf("postgres", model)
	if err != nil {
		return err
	}
	tx, err := d.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	name := d.db.Schema(schemaOf(generation))
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, lockOf("make "+name)); err != nil {
		return err
	}
	tables := tableName.FindAllStringSubmatch(text, -1)
	var found int
	for _, table := range tables {
		var there bool
		if err := tx.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, name+"."+table[1]).Scan(&there); err != nil {
			return err
		}
		if there {
			found++
		}
	}
	switch found {
	case len(tables):
		return nil
	case 0:
	default:
		return fmt.Errorf("of %d tables of %s there are %d", len(tables), model, found)
	}
	if _, err := tx.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+name+"; SET LOCAL search_path = "+name+";"+text); err != nil {
		return fmt.Errorf("make the tables of %s: %w", model, err)
	}
	failpoint.Here(failpoint.TablesMade)
	return tx.Commit()
}

// lockOf returns the key of an advisory lock, which are numbers.
func lockOf(name string) int64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return int64(h.Sum64())
}

// arguments makes parameters what PostgreSQL takes: it refuses U+0000 in texts,
// and bytes that are not UTF-8; and flags are numbers in the tables.
func arguments(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case bool:
			out[i] = int64(0)
			if v {
				out[i] = int64(1)
			}
		case string:
			out[i] = textFor(v)
		case *string:
			out[i] = arg
			if v != nil {
				out[i] = textFor(*v)
			}
		default:
			out[i] = arg
		}
	}
	return out
}

func textFor(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	if strings.HasPrefix(s, "[") && strings.Contains(s, `\u0000`) {
		s = nulInList.Replace(s)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// nulInList leaves a backslash that is escaped itself as it is.
var nulInList = strings.NewReplacer(`\\`, `\\`, `\u0000`, `\ufffd`)
