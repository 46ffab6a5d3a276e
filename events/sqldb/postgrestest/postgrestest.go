// Package postgrestest creates PostgreSQL databases for tests, on the server that
// scripts/with-postgres starts.
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

// Variable is the environment variable with the URL of the server. The user in the URL
// must be allowed to create databases.
const Variable = "ANNALS_TEST_POSTGRES"

// URL creates a database and returns its URL. The database is deleted when the test
// ends. It skips the test if there is no server.
func URL(t testing.TB) string {
	t.Helper()
	return databaseOn(t, Variable, "PostgreSQL")
}

// VectorVariable is the environment variable with the URL of a server that has pgvector.
const VectorVariable = "ANNALS_TEST_PGVECTOR"

// WithVector is URL on a server that has the extension pgvector.
func WithVector(t testing.TB) string {
	t.Helper()
	return databaseOn(t, VectorVariable, "PostgreSQL with pgvector, which scripts/test-deps installs")
}

func databaseOn(t testing.TB, variable, what string) string {
	t.Helper()
	server := os.Getenv(variable)
	if server == "" {
		t.Skip("needs " + what + ": run the test with scripts/with-postgres, or set " + variable)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { run(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	return u.String()
}

// ReadModels is the environment variable that selects the database for tests of read
// models: PostgreSQL if its value is "postgres", otherwise SQLite.
const ReadModels = "ANNALS_TEST_READ_MODELS"

// Chosen reports whether ReadModels selects PostgreSQL.
func Chosen() bool { return os.Getenv(ReadModels) == "postgres" }

// ForReadModels returns the URL of a database with an unused schema prefix. The schemas
// are deleted when the test ends. If ReadModels does not select PostgreSQL, chosen is
// false, and the test should keep its read models in a folder.
func ForReadModels(t testing.TB) (url string, chosen bool) {
	t.Helper()
	if !Chosen() {
		return "", false
	}
	server := os.Getenv(Variable)
	if server == "" {
		t.Fatalf("%s=postgres needs %s: run the test with scripts/with-postgres", ReadModels, Variable)
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
	ctx := context.WithoutCancel(t.Context()) // the test context has ended when the cleanup runs
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
