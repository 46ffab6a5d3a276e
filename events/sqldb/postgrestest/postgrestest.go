// Package postgrestest gives tests a database of PostgreSQL, on the server that
// scripts/with-postgres starts for them.
package postgrestest

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Variable is the environment variable that names the server: the URL of a
// database from which others may be made.
const Variable = "ANNALS_TEST_POSTGRES"

// URL names an empty database, which is deleted when the test ends. The test is
// skipped if there is no server.
func URL(t testing.TB) string {
	t.Helper()
	server := os.Getenv(Variable)
	if server == "" {
		t.Skip("without PostgreSQL: run it by scripts/with-postgres, or set " + Variable)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { run(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	return u.String()
}

// ReadModels is the environment variable by which tests that open read models
// are run on PostgreSQL.
const ReadModels = "ANNALS_TEST_READ_MODELS"

// Chosen reports whether tests open read models on PostgreSQL.
func Chosen() bool { return os.Getenv(ReadModels) == "postgres" }

// ForReadModels names a database with an unused prefix of schemas, which are
// deleted when the test ends, where ANNALS_TEST_READ_MODELS is postgres; else
// chosen is false, and read models are to lie in a folder.
func ForReadModels(t testing.TB) (url string, chosen bool) {
	t.Helper()
	if !Chosen() {
		return "", false
	}
	server := os.Getenv(Variable)
	if server == "" {
		t.Fatalf("%s=postgres without %s: run it by scripts/with-postgres", ReadModels, Variable)
	}
	prefix := "t" + strings.ReplaceAll(uuid.NewString()[:18], "-", "")
	t.Cleanup(func() {
		run(t, server, `DO $$ DECLARE name text; BEGIN
			FOR name IN SELECT nspname FROM pg_namespace WHERE starts_with(nspname, '`+prefix+`') LOOP
				EXECUTE 'DROP SCHEMA ' || name || ' CASCADE';
			END LOOP; END $$`)
	})
	separator := "?"
	if strings.Contains(server, "?") {
		separator = "&"
	}
	return server + separator + "schema=" + prefix, true
}

func run(t testing.TB, server, statement string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // which has ended when the database is deleted
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
