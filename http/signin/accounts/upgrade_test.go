package accounts_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

func TestUpgradeFile(t *testing.T) {
	accountstest.InFiles(t)
	dir := t.TempDir()
	path := filepath.Join(dir, accounts.FileName)
	db, err := accounts.StoreFile(path).Open()
	if err != nil {
		t.Fatal(err)
	}
	hash, err := accounts.HashPassword(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	script, err := accounts.Script(sqldb.Dialect{}, accounts.Migrations[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(script + `PRAGMA user_version = 1`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO users (name, password, admin, groups, created) VALUES ('alice', $1, 1, '["staff"]', 1)`, hash); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // opening the store a second time upgrades nothing
		store := accountstest.Open(t, dir)
		if a, err := store.Authenticate(t.Context(), "alice", "correct horse"); err != nil || !a.Admin || len(a.Groups) != 1 {
			t.Errorf("Authenticate = %+v, %v; want an administrator in one group", a, err)
		}
		if err := store.RemoveExpired(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
		var version int
		if err := accountstest.OpenDB(t, dir).QueryRow(`PRAGMA user_version`).Scan(&version); err != nil || version != len(accounts.Migrations) {
			t.Errorf("the store has version %d (%v), want %d", version, err, len(accounts.Migrations))
		}
	}
}

func TestUpgradePostgres(t *testing.T) {
	ctx := t.Context()
	d, err := sqldb.ParsePostgres(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	script, err := accounts.Script(sqldb.Dialect{Postgres: true}, accounts.Migrations[0])
	if err != nil {
		t.Fatal(err)
	}
	db := d.Open(accounts.Schema, 1, nil)
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+d.Schema(accounts.Schema)); err != nil {
		t.Fatal(err)
	}
	script += `; CREATE TABLE version (version integer NOT NULL); INSERT INTO version VALUES (1);
		INSERT INTO users (name, password, admin, groups, created) VALUES ('alice', '', true, '["staff"]', 1)`
	if _, err := db.ExecContext(ctx, script); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 { // three nodes open the store concurrently, and one of them upgrades it
		all.Go(func() {
			store, err := accounts.OpenShared(ctx, d)
			if err != nil {
				t.Error(err)
				return
			}
			if a, err := store.Get(ctx, "alice"); err != nil || !a.Admin {
				t.Errorf("Get = %+v, %v", a, err)
			}
			if err := errors.Join(store.RemoveExpired(ctx, time.Now()), store.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var version, steps int
	if err := db.QueryRow(`SELECT max(version), count(*) FROM version`).Scan(&version, &steps); err != nil || version != len(accounts.Migrations) || steps != version {
		t.Errorf("the store has version %d in %d steps (%v), want %d", version, steps, err, len(accounts.Migrations))
	}
}

func TestOpenReportsCorruptFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, accounts.FileName), bytes.Repeat([]byte("torn"), 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := accounts.Open(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), accounts.FileName) || !strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("Open of a corrupt file: %v, want an error that names the file and says what to do", err)
	}
}

// The upgrade from version 2 adds a column to the table of clients.
func TestUpgradeFileWithClients(t *testing.T) {
	accountstest.InFiles(t)
	dir := t.TempDir()
	db, err := accounts.StoreFile(filepath.Join(dir, accounts.FileName)).Open()
	if err != nil {
		t.Fatal(err)
	}
	for i, migration := range accounts.Migrations[:2] {
		script, err := accounts.Script(sqldb.Dialect{}, migration)
		if err == nil {
			_, err = db.Exec(fmt.Sprintf("%s; PRAGMA user_version = %d", script, i+1))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = db.Exec(`
		INSERT INTO users (name, password, admin, groups, created) VALUES ('alice', 'x', 1, '[]', 1);
		INSERT INTO clients (id, metadata, created) VALUES ('old', '{}', 1);
		INSERT INTO browsers (cookie, user, created) VALUES (x'01', 'alice', 1)`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 { // three processes open the store concurrently, and one of them upgrades it
		all.Go(func() {
			store, err := accounts.Open(t.Context(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer store.Close()
			if f, err := store.Factors(t.Context(), "alice"); err != nil || f != (accounts.Factors{}) {
				t.Errorf("Factors = %+v, %v", f, err)
			}
			if _, found, err := store.Client(t.Context(), "old"); err != nil || !found {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
