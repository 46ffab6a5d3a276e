package signin

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/events/postgres"
	"annals/events/postgres/postgrestest"
)

func TestAStoreOfTheFirstVersionIsUpgraded(t *testing.T) {
	inFiles(t)
	dir := t.TempDir()
	path := filepath.Join(dir, AccountsFile)
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := hashPassword(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	script, err := sqliteEngine.script(migrations[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO users (name, password, admin, groups, created) VALUES ('alice', $1, 1, '["staff"]', 1)`, hash); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		accounts := openAccounts(t, dir)
		if a, err := accounts.Authenticate(t.Context(), "alice", "correct horse"); err != nil || !a.Admin || len(a.Groups) != 1 {
			t.Errorf("Authenticate = %+v, %v", a, err)
		}
		if err := accounts.sweep(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
		var version int
		if err := accounts.db.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil || version != len(migrations) {
			t.Errorf("the store has version %d (%v), want %d", version, err, len(migrations))
		}
	}
}

func TestASharedStoreOfTheFirstVersionIsUpgraded(t *testing.T) {
	ctx := t.Context()
	d, err := postgres.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	script, err := postgresEngine.script(migrations[0])
	if err != nil {
		t.Fatal(err)
	}
	db := d.Open(accountsSchema, 1, nil)
	defer db.Close()
	if err := d.Make(ctx, db, accountsSchema); err != nil {
		t.Fatal(err)
	}
	script += `; CREATE TABLE version (version integer NOT NULL); INSERT INTO version VALUES (1);
		INSERT INTO users (name, password, admin, groups, created) VALUES ('alice', '', true, '["staff"]', 1)`
	if _, err := db.ExecContext(ctx, script); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 { // of several nodes one does it
		all.Go(func() {
			accounts, err := OpenSharedAccounts(ctx, d)
			if err != nil {
				t.Error(err)
				return
			}
			if a, err := accounts.Get(ctx, "alice"); err != nil || !a.Admin {
				t.Errorf("Get = %+v, %v", a, err)
			}
			if err := errors.Join(accounts.sweep(ctx, time.Now()), accounts.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var version, steps int
	if err := db.QueryRow(`SELECT max(version), count(*) FROM version`).Scan(&version, &steps); err != nil || version != len(migrations) || steps != version {
		t.Errorf("the store has version %d in %d steps (%v), want %d", version, steps, err, len(migrations))
	}
}

func TestADamagedFileSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, AccountsFile), bytes.Repeat([]byte("torn"), 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenAccounts(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), AccountsFile) || !strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("OpenAccounts of a damaged file: %v", err)
	}
}

// A store of the version before second factors has programs and devices, which get
// an origin.
func TestAStoreWithSignInsIsUpgraded(t *testing.T) {
	inFiles(t)
	dir := t.TempDir()
	db, err := sql.Open("sqlite", dataSource(filepath.Join(dir, AccountsFile)))
	if err != nil {
		t.Fatal(err)
	}
	for _, migration := range migrations[:2] {
		script, err := sqliteEngine.script(migration)
		if err == nil {
			_, err = db.Exec(script)
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
	for range 3 { // of several processes one does it
		all.Go(func() {
			accounts, err := OpenAccounts(t.Context(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer accounts.Close()
			if f, err := accounts.Factors(t.Context(), "alice"); err != nil || f != (Factors{}) {
				t.Errorf("Factors = %+v, %v", f, err)
			}
			if _, err := accounts.client(t.Context(), "old"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
