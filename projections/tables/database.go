package tables

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"

	"annals/events/failpoint"
	"annals/events/sqldb"

	"github.com/jackc/pgx/v5"
)

// Database stores each generation in a schema of a PostgreSQL database,
// <prefix>_<projection>_<generation>. Any number of processes may open a generation, and
// one of them writes to it.
type Database struct {
	db   *sqldb.Postgres
	pool *sql.DB // to create, find and remove schemas

	// Node is the name of this node. Other nodes see it as the name of the node's
	// sessions. It is "" for a command.
	Node string
}

// NewDatabase returns a home in db. It connects only when a read model is opened.
func NewDatabase(db *sqldb.Postgres) *Database {
	return &Database{db: db, pool: db.Open("", 2, nil)}
}

// Server returns the database.
func (d *Database) Server() *sqldb.Postgres { return d.db }

// Pool returns the connections that create, find and remove schemas.
func (d *Database) Pool() *sql.DB { return d.pool }

// Close closes the connections. Close the tables that were opened in the database first.
func (d *Database) Close() error { return d.pool.Close() }

// schemaOf returns the name of a generation's schema without the service's prefix.
func schemaOf(generation string) string { return strings.ReplaceAll(generation, "-", "_") }

// Describe is Home.Describe.
func (d *Database) Describe(generation string) string {
	if generation == "" {
		return fmt.Sprintf("the schemas %s in %s", d.db.Schema("*"), d.db)
	}
	return fmt.Sprintf("the schema %s in %s", d.db.Schema(schemaOf(generation)), d.db)
}

// Exists is Home.Exists.
func (d *Database) Exists(ctx context.Context, generation string) error {
	var there bool
	err := d.pool.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, d.db.Schema(schemaOf(generation))+".checkpoint").Scan(&there)
	if err == nil && !there {
		return fmt.Errorf("%s: %w", d.Describe(generation), fs.ErrNotExist)
	}
	return sqldb.Classify(err)
}

// Remove is Home.Remove.
func (d *Database) Remove(ctx context.Context, generation string) error {
	err := d.db.Drop(ctx, d.pool, schemaOf(generation))
	failpoint.Here(failpoint.GenerationRemoved)
	return err
}

// View is Home.View.
func (d *Database) View(ctx context.Context, generation string) (*Reader, error) {
	if err := d.Exists(ctx, generation); err != nil {
		return nil, err
	}
	db := d.db.Open(schemaOf(generation), viewers, readerSettings)
	return &Reader{from: db, db: db, arguments: arguments}, nil
}

var (
	// readerSettings turn off JIT compilation, which would take longer than the queries
	// themselves.
	readerSettings = map[string]string{"jit": "off"}
	// SessionSettings make the server end the session of a host that vanished after about
	// 15 s, which releases the lock of that session.
	SessionSettings = map[string]string{
		"jit": "off", "tcp_keepalives_idle": "5", "tcp_keepalives_interval": "3", "tcp_keepalives_count": "3", "tcp_user_timeout": "15000",
	}
)

// viewers is the maximum number of connections of a View.
const viewers = 2

// postgresReaders is the maximum number of connections that read one read model.
const postgresReaders = 4

// Open is Home.Open.
func (d *Database) Open(ctx context.Context, generation, model string) (Store, error) {
	if err := d.create(ctx, generation, model); err != nil {
		return nil, fmt.Errorf("open read model %s: %w", d.Describe(generation), sqldb.Classify(err))
	}
	name := schemaOf(generation)
	return &postgresStore{
		schema:  d.db.Schema(name),
		writers: d.db.Open(name, 1, d.leaderSettings()),
		readers: d.db.Open(name, postgresReaders, readerSettings),
		batch:   new(pgx.Batch),
		rows:    make(map[string]*insertion),
	}, nil
}

// create creates the tables of a generation if they do not exist. If several processes do
// so concurrently, they wait for each other.
func (d *Database) create(ctx context.Context, generation, model string) error {
	text, err := tablesOf(postgresSQL, model)
	if err != nil {
		return err
	}
	tx, err := d.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	name := d.db.Schema(schemaOf(generation))
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, sqldb.LockKey("make "+name)); err != nil {
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
		return fmt.Errorf("only %[3]d of %[1]d tables of %[2]s exist: rebuild the read model", len(tables), model, found)
	}
	if _, err := tx.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+name+"; SET LOCAL search_path = "+name+";"+text); err != nil {
		return fmt.Errorf("create the tables of %s: %w", model, err)
	}
	failpoint.Here(failpoint.TablesCreated)
	return tx.Commit()
}

// arguments converts parameters to values that PostgreSQL accepts: strings of valid
// UTF-8 without U+0000, and 0 or 1 for booleans.
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
	if strings.HasPrefix(s, "[") && strings.Contains(s, `\u0000`) {
		s = nulInList.Replace(s)
	}
	return sqldb.ValidText(s)
}

// nulInList replaces an escaped U+0000 in a JSON list. It does not change u0000 after an
// escaped backslash.
var nulInList = strings.NewReplacer(`\\`, `\\`, `\u0000`, `\ufffd`)
