// Package postgres opens databases of PostgreSQL for those parts that keep
// tables there. It knows nothing of what the tables hold.
//
// All that belongs to one service lies in schemas of one database whose names
// begin alike, so that several services may share it.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"annals/events/fault"
)

// Schemes are how URLs of databases begin.
var Schemes = []string{"postgres", "postgresql"}

const form = "postgres://user:password@host:5432/database?sslmode=verify-full&schema=annals"

// Database is a database as a URL names it. Nothing is connected before one of
// its methods is called.
type Database struct {
	config *pgx.ConnConfig
	prefix string
}

var prefixForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// Parse reads a URL: that of libpq, in which schema=NAME sets what the names of
// schemas begin with, annals where it is left out. No error repeats the URL,
// for a password may stand there.
func Parse(text string) (*Database, error) {
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
	return &Database{config: config, prefix: prefix}, nil
}

// String names the database without its password.
func (d *Database) String() string {
	return fmt.Sprintf("%s on %s:%d", d.config.Database, d.config.Host, d.config.Port)
}

// Schema returns the whole name of one of the service's schemas.
func (d *Database) Schema(name string) string { return d.prefix + "_" + name }

// Open returns a pool of up to limit connections that find their tables in one
// of the service's schemas, which need not be there yet. set are further
// settings of a session.
func (d *Database) Open(schema string, limit int, set map[string]string) *sql.DB {
	return Pool(d.Connector(schema, set), limit)
}

// Connector makes the connections of Open.
func (d *Database) Connector(schema string, set map[string]string) driver.Connector {
	config := d.config.Copy()
	if schema != "" {
		config.RuntimeParams["search_path"] = d.Schema(schema)
	}
	for name, value := range set {
		config.RuntimeParams[name] = value
	}
	return stdlib.GetConnector(*config)
}

// Pool is a pool of up to limit connections, which are closed when they are not
// used for a while.
func Pool(connector driver.Connector, limit int) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(limit)
	db.SetMaxIdleConns(limit)
	db.SetConnMaxIdleTime(30 * time.Second)
	return db
}

// Conn calls fn with the connection of the client that a session of Open holds:
// batches and copies need it.
func Conn(session *sql.Conn, fn func(*pgx.Conn) error) error {
	return session.Raw(func(driver any) error { return fn(driver.(*stdlib.Conn).Conn()) })
}

// Execer runs a statement: a database, one of its sessions, or a transaction.
type Execer interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
}

// Make makes one of the service's schemas, if it is not there.
func (d *Database) Make(ctx context.Context, db Execer, schema string) error {
	_, err := db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+d.quoted(schema))
	return Told(err)
}

// Setup makes one of the service's schemas with the tables that statements
// make where they are not there. Any number of processes may do so at once.
func (d *Database) Setup(ctx context.Context, db *sql.DB, schema, statements string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return Told(err)
	}
	defer tx.Rollback()
	// What is made only where it is not there may be made twice at once all the same.
	_, err = tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "setup "+d.Schema(schema))
	for _, statement := range []string{"CREATE SCHEMA IF NOT EXISTS " + d.quoted(schema), statements} {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement)
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	return Told(err)
}

// Drop deletes one of the service's schemas with all that is in it, if it is
// there.
func (d *Database) Drop(ctx context.Context, db *sql.DB, schema string) error {
	_, err := db.ExecContext(ctx, "DROP SCHEMA IF EXISTS "+d.quoted(schema)+" CASCADE")
	return Told(err)
}

func (d *Database) quoted(schema string) string { return pgx.Identifier{d.Schema(schema)}.Sanitize() }
