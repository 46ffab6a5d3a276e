package signin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"slices"
	"sync"
	"testing"

	"annals/events/postgres"
	"annals/events/postgres/postgrestest"
)

// accountsVariable names the engine on which these tests keep accounts: postgres,
// or else files. Folders name databases all the same.
const accountsVariable = "ANNALS_TEST_ACCOUNTS"

func onPostgres() bool { return os.Getenv(accountsVariable) == "postgres" }

// inFiles skips a test that is about files.
func inFiles(t testing.TB) {
	t.Helper()
	if onPostgres() {
		t.Skip("accounts are not kept in files")
	}
}

func openEngine(ctx context.Context, dir string) (*Accounts, error) {
	if !onPostgres() {
		return OpenAccounts(ctx, dir)
	}
	d, err := databaseOf(dir)
	if err != nil {
		return nil, err
	}
	return OpenSharedAccounts(ctx, d)
}

func databaseOf(dir string) (*postgres.Database, error) {
	sum := sha256.Sum256([]byte(dir))
	return postgres.Parse(os.Getenv(postgrestest.Variable) + "&schema=test_" + hex.EncodeToString(sum[:12]))
}

var (
	madeLock sync.Mutex
	made     = map[string]bool{}
)

// makeEngine has what belongs to a folder deleted when its test ends.
func makeEngine(t testing.TB, dir string) {
	t.Helper()
	madeLock.Lock()
	defer madeLock.Unlock()
	if !onPostgres() || made[dir] {
		return
	}
	if os.Getenv(postgrestest.Variable) == "" {
		t.Skip("without PostgreSQL")
	}
	made[dir] = true
	d, err := databaseOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db := d.Open("", 1, nil)
		defer db.Close()
		if err := d.Drop(context.WithoutCancel(t.Context()), db, accountsSchema); err != nil {
			t.Error(err)
		}
	})
}

func TestBothEnginesHaveTheSameMigrations(t *testing.T) {
	for _, engine := range []engine{sqliteEngine, postgresEngine} {
		files, err := fs.Glob(scripts, "sql/"+engine.name+"/*.sql")
		var want []string
		for _, m := range migrations {
			want = append(want, "sql/"+engine.name+"/"+m+".sql")
		}
		if err != nil || !slices.Equal(files, want) {
			t.Errorf("the scripts are %v, %v; want %v", files, err, want)
		}
	}
}
