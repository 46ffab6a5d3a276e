package vault_test

import (
	"testing"

	"annals/queries/queriestest"
	"annals/queries/vault"
)

// fixture is a log with read models, and the Vault that reads them.
type fixture struct {
	*queriestest.World
	vault *vault.Vault
	t     testing.TB
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := queriestest.Open(t)
	return &fixture{w, &vault.Vault{Models: w.Models}, t}
}

func newFixtureWithEngine(t testing.TB) (*fixture, *queriestest.Engine) {
	t.Helper()
	w, engine := queriestest.OpenWithEngine(t)
	return &fixture{w, &vault.Vault{Models: w.Models}, t}, engine
}

var (
	admin = queriestest.Admin
	alice = queriestest.Alice
	bob   = queriestest.Bob
	eve   = queriestest.Eve
)

func content(d vault.Document) string {
	if d.Content == nil {
		return ""
	}
	return *d.Content
}
