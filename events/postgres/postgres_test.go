package postgres_test

import (
	"strings"
	"testing"

	"annals/events/fault"
	"annals/events/postgres"
	"annals/events/postgres/postgrestest"
)

// Two services that share a database do not see each other's tables.
func TestServicesShareADatabase(t *testing.T) {
	url := postgrestest.URL(t)
	for _, service := range []string{"first", "second"} {
		d, err := postgres.Parse(url + "&schema=" + service)
		if err != nil {
			t.Fatal(err)
		}
		db := d.Open("vault", 2, nil)
		defer db.Close()
		if err := d.Make(t.Context(), db, "vault"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE things (n integer)"); err != nil {
			t.Fatalf("table of %s: %v", service, err)
		}
		defer func() {
			if err := d.Drop(t.Context(), db, "vault"); err != nil {
				t.Error(err)
			}
		}()
	}
}

func TestAWrongURLSaysWhatIsWrongAndNoPassword(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://me:secret@host:port/db":            "write postgres://",
		"postgres://me:secret@host/db?sslmode=perhaps": "write postgres://",
		"postgres://me:secret@host/db?schema=A-b":      `schema "A-b"`,
	} {
		_, err := postgres.Parse(url)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) || strings.Contains(fault.Detail(err), "secret") {
			t.Errorf("Parse(%s): %v; want %q", url, err, want)
		}
	}
}

func TestAServerThatIsAwayIsUnavailable(t *testing.T) {
	d, err := postgres.Parse("postgres://me@127.0.0.1:1/db")
	if err != nil {
		t.Fatal(err)
	}
	db := d.Open("vault", 1, nil)
	defer db.Close()
	if err := d.Make(t.Context(), db, "vault"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without a server: %v", err)
	}
}
