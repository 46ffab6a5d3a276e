package engine_test

import (
	"testing"

	"annals/cmd/annals/engine"
)

func TestAccountFlags(t *testing.T) {
	for _, c := range []struct{ data, accounts, want string }{
		{"annals-data", "", ""},
		{"/srv/it's", "", ` --data '/srv/it'\''s'`},
		{"annals-data", "sqlite:///srv/accounts.db", ` --accounts 'sqlite:///srv/accounts.db'`},
		{"d", "postgres://me@db/annals?sslmode=disable", ` --data 'd' --accounts 'postgres://me@db/annals?sslmode=disable'`},
		{"annals-data", "postgres://me:secret@db/annals?schema=x", ` --accounts 'postgres://me:PASSWORD@db/annals?schema=x'`},
		{"annals-data", "postgres://me@db/annals?password=sec;ret", ` --accounts 'PASSWORD'`},
		{"annals-data", "postgres://me@db/annals?password=secret", ` --accounts 'postgres://me@db/annals?password=PASSWORD'`},
	} {
		if got := (engine.URLs{Data: c.data, Accounts: c.accounts}).AccountFlags(); got != c.want {
			t.Errorf("beside --data %s --accounts %s: got %s, want %s", c.data, c.accounts, got, c.want)
		}
	}
}
