package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"annals/events/fault"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// PostgresSchemes are how URLs of databases begin.
var PostgresSchemes = []string{"postgres", "postgresql"}

const form = "postgres://user:password@host:5432/database?sslmode=verify-full&schema=annals"

// Postgres is a database as a URL names it. Nothing is connected before one of
// its methods is called.
//
// All that belongs to one service lies in schemas whose names begin alike, so
// that several services may share the database.
type Postgres struct {
	config *pgx.ConnConfig
	prefix string
}

var prefixForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// ParsePostgres reads a URL: that of libpq, in which schema=NAME sets what the names of
// schemas begin with, annals where it is left out. No error repeats the URL,
// for a password may stand there.
func ParsePostgres(text string) (*Postgres, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "the PostgreSQL URL cannot be read; write %s", form)
	}
	query := u.Query()
	prefix := "annals"
	if query.Has("schema") {
		prefix = query.Get("schema")
		query.Del("schema")
		u.RawQuery = query.Encode()
	}
	if !prefixForm.MatchString(prefix) {
		return nil, fault.Errorf(fault.Invalid, "the PostgreSQL URL has the schema %q: up to 31 of a-z, 0-9 and _, a letter first", prefix)
	}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, fault.Hide(fault.Invalid, "the PostgreSQL URL cannot be read; write "+form, err) // pgx leaves passwords out
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

// Schema returns the whole name of one of the service's schemas.
func (d *Postgres) Schema(name string) string { return d.prefix + "_" + name }

// Open returns a pool of up to limit connections, none of which is open yet, that
// find their tables in one of the service's schemas, which need not be there. set
// are further settings of a session. Connections that are not used for a while
// are closed.
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

// PgxConn calls fn with the connection of the client that a session of Open holds:
// batches and copies need it.
func PgxConn(session *sql.Conn, fn func(*pgx.Conn) error) error {
	return session.Raw(func(driver any) error { return fn(driver.(*stdlib.Conn).Conn()) })
}

// Execer runs a statement: a database, one of its sessions, or a transaction.
type Execer interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
}

// OpenDB is Open for a store whose statements both engines know.
func (d *Postgres) OpenDB(schema string, limit int, set map[string]string) *DB {
	return &DB{DB: d.Open(schema, limit, set), server: d, schema: schema}
}

// setup makes one of the service's schemas, with tables by statements that do
// nothing if these are there. Any number of processes may do so at once.
func (d *Postgres) setup(ctx context.Context, db *sql.DB, schema, statements string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return Classify(err)
	}
	defer tx.Rollback()
	// IF NOT EXISTS does not keep two transactions from making the same at once.
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

// Drop deletes one of the service's schemas with all that is in it, if it is
// there.
func (d *Postgres) Drop(ctx context.Context, db *sql.DB, schema string) error {
	_, err := db.ExecContext(ctx, "DROP SCHEMA IF EXISTS "+d.quoted(schema)+" CASCADE")
	return Classify(err)
}

func (d *Postgres) quoted(schema string) string { return pgx.Identifier{d.Schema(schema)}.Sanitize() }
