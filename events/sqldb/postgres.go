package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"net/url"
	"regexp"
	"time"

	"annals/events/fault"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// PostgresSchemes are the URL schemes of PostgreSQL.
var PostgresSchemes = []string{"postgres", "postgresql"}

const form = "postgres://user:password@host:5432/database?sslmode=verify-full&schema=annals"

// Postgres is a PostgreSQL database that a URL names. It has no connection itself; Open
// returns a pool of connections.
//
// All schemas of a service have a common name prefix, so that several services can
// share the database.
type Postgres struct {
	config *pgx.ConnConfig
	prefix string
}

var prefixForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// ParsePostgres parses a URL of libpq with one more parameter: schema=NAME sets the name
// prefix of the schemas, annals by default. Errors do not contain the URL, because it
// may contain a password.
func ParsePostgres(text string) (*Postgres, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "the PostgreSQL URL cannot be parsed; write %s", form)
	}
	query := u.Query()
	prefix := "annals"
	if query.Has("schema") {
		prefix = query.Get("schema")
		query.Del("schema")
		u.RawQuery = query.Encode()
	}
	if !prefixForm.MatchString(prefix) {
		return nil, fault.Errorf(fault.Invalid, "the PostgreSQL URL has the schema %q: use up to 31 of a-z, 0-9 and _, beginning with a letter", prefix)
	}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, fault.Hide(fault.Invalid, "the PostgreSQL URL cannot be parsed; write "+form, err) // pgx leaves passwords out
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	config.DialFunc = dialer().DialContext
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "annals"
	}
	return &Postgres{config: config, prefix: prefix}, nil
}

// String names the database without its password.
func (d *Postgres) String() string {
	return fmt.Sprintf("%s on %s:%d", d.config.Database, d.config.Host, d.config.Port)
}

// Schema returns the full name of a schema, with the prefix of the service.
func (d *Postgres) Schema(name string) string { return d.prefix + "_" + name }

// Open returns a pool of up to limit connections, which it opens on demand and closes
// when they are idle. The search path of the connections is one of the service's
// schemas, which need not exist yet. set contains additional settings of each session.
func (d *Postgres) Open(schema string, limit int, set map[string]string) *sql.DB {
	config := d.config.Copy()
	if schema != "" {
		config.RuntimeParams["search_path"] = d.Schema(schema)
	}
	for name, value := range set {
		config.RuntimeParams[name] = value
	}
	db := sql.OpenDB(stdlib.GetConnector(*config))
	db.SetMaxOpenConns(limit)
	db.SetMaxIdleConns(limit)
	db.SetConnMaxIdleTime(30 * time.Second)
	return db
}

// PgxConn calls fn with the pgx connection of a session, for batches and COPY.
func PgxConn(session *sql.Conn, fn func(*pgx.Conn) error) error {
	return session.Raw(func(driver any) error { return fn(driver.(*stdlib.Conn).Conn()) })
}

// OpenDB is Open for stores whose SQL runs on both SQLite and PostgreSQL.
func (d *Postgres) OpenDB(schema string, limit int, set map[string]string) *DB {
	return &DB{DB: d.Open(schema, limit, set), server: d, schema: schema}
}

// setup creates a schema of the service if it does not exist, and runs statements that
// create tables in it and do nothing if the tables exist. Several processes may call it
// concurrently.
func (d *Postgres) setup(ctx context.Context, db *sql.DB, schema, statements string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return Classify(err)
	}
	defer tx.Rollback()
	// Take a lock, because CREATE SCHEMA IF NOT EXISTS fails if another transaction
	// creates the same schema concurrently.
	_, err = tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "setup "+d.Schema(schema))
	for _, statement := range []string{"CREATE SCHEMA IF NOT EXISTS " + d.quoted(schema), statements} {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement)
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	return Classify(err)
}

// Drop deletes a schema of the service with all its tables, if it exists.
func (d *Postgres) Drop(ctx context.Context, db *sql.DB, schema string) error {
	_, err := db.ExecContext(ctx, "DROP SCHEMA IF EXISTS "+d.quoted(schema)+" CASCADE")
	return Classify(err)
}

// LockKey returns the key of an advisory lock with a name. PostgreSQL identifies locks
// by numbers.
func LockKey(name string) int64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return int64(h.Sum64())
}

func (d *Postgres) quoted(schema string) string { return pgx.Identifier{d.Schema(schema)}.Sanitize() }
