package signin

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"
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
