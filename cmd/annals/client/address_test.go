package client_test

import (
	"errors"
	"strings"
	"testing"

	"annals/cmd/annals/client"
)

// local returns the URLs that Target.Local returns in these tests.
func local() (core, vault string, err error) { return "http://core.test", "http://vault.test", nil }

func TestVaultURL(t *testing.T) {
	for _, c := range []struct{ core, vault, want string }{
		{"", "", "http://vault.test"},
		{"https://a.test/core/", "", "https://a.test/vault"},
		{"https://a.test/core", "https://b.test/", "https://b.test"},
		{"", "https://b.test/v", "https://b.test/v"},
		{"https://a.test", "", "pass it as --vault-url"},
		{"a.test/core", "", "must be the http or https URL of the core"},
		{"", "a.test", "--vault-url a.test: must be the http or https URL of the vault"},
	} {
		got, err := client.Target{Core: c.core, Vault: c.vault, Local: local}.VaultURL()
		if got != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("with --server %q --vault-url %q the vault is at %q, %v; want %q", c.core, c.vault, got, err, c.want)
		}
	}
	broken := errors.New("unreadable")
	target := client.Target{Local: func() (string, string, error) { return "", "", broken }}
	if _, err := target.VaultURL(); !errors.Is(err, broken) {
		t.Errorf("VaultURL = %v, want the error of the data folder", err)
	}
}

func TestCoreOfVault(t *testing.T) {
	for _, c := range []struct{ core, vault, want string }{
		{"", "", "http://core.test"},
		{"", "http://vault.test", "http://core.test"},
		{"", "https://a.test/vault", "https://a.test/core"},
		{"", "https://a.test/v", ""},
		{"https://b.test/c", "https://a.test/v", "https://b.test/c"},
	} {
		if got, err := (client.Target{Core: c.core, Vault: c.vault, Local: local}).CoreOfVault(); got != c.want || err != nil {
			t.Errorf("with --server %q the core of the vault %q is at %q, %v; want %q", c.core, c.vault, got, err, c.want)
		}
	}
}
