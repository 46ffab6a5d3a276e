package sqldb_test

import (
	"strings"
	"testing"

	"annals/events/fault"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
)

func TestServicesShareDatabase(t *testing.T) {
	url := postgrestest.URL(t)
	for _, service := range []string{"first", "second"} {
		d, err := sqldb.ParsePostgres(url + "&schema=" + service)
		if err != nil {
			t.Fatal(err)
		}
		db := d.OpenDB("vault", 2, nil)
		defer db.Close()
		if err := db.Setup(t.Context(), "CREATE TABLE things (n integer)"); err != nil {
			t.Fatalf("Setup of service %s: %v", service, err)
		}
		defer func() {
			if err := d.Drop(t.Context(), db.DB, "vault"); err != nil {
				t.Error(err)
			}
		}()
	}
}

func TestParsePostgresErrorsOmitPassword(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://me:secret@host:port/db":            "write postgres://",
		"postgres://me:secret@host/db?sslmode=perhaps": "write postgres://",
		"postgres://me:secret@host/db?schema=A-b":      `schema "A-b"`,
	} {
		_, err := sqldb.ParsePostgres(url)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) || strings.Contains(fault.Detail(err), "secret") {
			t.Errorf("ParsePostgres(%s): got error %v, want %q", url, err, want)
		}
	}
}

func TestUnreachableServerIsUnavailable(t *testing.T) {
	d, err := sqldb.ParsePostgres("postgres://me@127.0.0.1:1/db")
	if err != nil {
		t.Fatal(err)
	}
	db := d.OpenDB("vault", 1, nil)
	defer db.Close()
	if err := db.Setup(t.Context(), ""); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Setup without a server: got error %v, want kind Unavailable", err)
	}
}
