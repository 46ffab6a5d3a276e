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

// URL names a database that is empty, and is deleted when the test ends. The
// test is skipped where there is no server.
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
