package sqldb

import (
	"context"
	"errors"
	"io/fs"
	"slices"
)

// Store describes tables that have a file of their own or, if several nodes share them, a schema of
// their own. What is lost of them in a crash of the machine is bearable.
type Store struct {
	Schema      string // part of the schema's name that follows the service's prefix
	Table       string // one of the tables; if it exists, all do
	Index       string // one that was added later, so that older stores lack it; may be empty
	Scripts     fs.FS  // has the folder sql
	Script      string // name of the script that creates the tables
	Connections int
	Pragmas     []string // of the file
}

// Open opens the store in a file. If the file does not exist, it creates one that only its
// owner can read.
func (s Store) Open(ctx context.Context, path string) (*DB, error) {
	if err := MakePrivate(path); err != nil {
		return nil, err
	}
	pragmas := slices.Concat(s.Pragmas, []string{"journal_mode(WAL)", "synchronous(NORMAL)"}) // auto_vacuum has no effect after WAL
	db, err := SQLite{Path: path, Connections: s.Connections, Immediate: true, Pragmas: pragmas}.OpenDB()
	if err != nil {
		return nil, err
	}
	if err := s.setup(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// OpenShared opens the store in a database that several nodes share. If the tables do not
// exist, it creates them, or returns nil unless create is set. With create, it also adds the index.
func (s Store) OpenShared(ctx context.Context, d *Postgres, create bool) (*DB, error) {
	db := d.OpenDB(s.Schema, s.Connections, map[string]string{"synchronous_commit": "off", "statement_timeout": "20s"})
	there, err := db.Has(ctx, s.Table) // if so, the role needs no permission to create tables
	if err == nil && !there && !create {
		return nil, db.Close()
	}
	if err == nil && there && create && s.Index != "" {
		there, err = db.Has(ctx, s.Index)
	}
	if err == nil && !there {
		err = s.setup(ctx, db)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (s Store) setup(ctx context.Context, db *DB) error {
	dialect := db.Dialect()
	dialect.ByteOrder = true
	script, err := dialect.Script(s.Scripts, "sql", s.Script)
	if err != nil {
		return err
	}
	return db.Setup(ctx, script)
}
