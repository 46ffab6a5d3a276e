package client

import (
	"fmt"
	"net/url"
	"strings"
)

// Target is the server to call. If Core and Vault are not set, it is the server that
// uses the local data folder.
type Target struct {
	Core, Vault string // URLs of the two services, from --server and --vault-url; "" if not set
	// Local returns the URLs of the server that uses the local data folder.
	Local func() (core, vault string, err error)
}

// CoreURL returns the URL of the core, the service at /core, without a trailing slash.
func (t Target) CoreURL() (string, error) {
	core := t.Core
	if core == "" {
		var err error
		if core, _, err = t.Local(); err != nil {
			return "", err
		}
	}
	return serviceURL("server", core, "core")
}

// VaultURL returns the URL of the vault, the service at /vault, without a trailing
// slash. If only Core is set, it is the URL in Core with /vault instead of /core at its
// end.
func (t Target) VaultURL() (string, error) {
	vault := t.Vault
	switch {
	case vault != "":
	case t.Core == "":
		var err error
		if _, vault, err = t.Local(); err != nil {
			return "", err
		}
	default:
		core, err := t.CoreURL()
		if err != nil {
			return "", err
		}
		base, ok := strings.CutSuffix(core, "/core")
		if !ok {
			return "", fmt.Errorf("--server %s does not end in /core, so the URL of the vault is unknown: pass it as --vault-url", core)
		}
		vault = base + "/vault"
	}
	return serviceURL("vault-url", vault, "vault")
}

// CoreOfVault returns the URL of the core on the same server as the vault, or "" if it
// is unknown. Stored sign-ins are found by the URL of the core; with a wrong one, a
// token could be sent to another server.
func (t Target) CoreOfVault() (string, error) {
	core, err := t.CoreURL()
	if err != nil || t.Core != "" {
		return core, err
	}
	vault, err := t.VaultURL()
	if err != nil {
		return "", err
	}
	if own, err := (Target{Local: t.Local}).VaultURL(); err != nil || own == vault {
		return core, err
	}
	base, ok := strings.CutSuffix(vault, "/vault")
	if !ok {
		return "", nil
	}
	return base + "/core", nil
}

func serviceURL(flag, text, service string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("--%s %s: must be the http or https URL of the %s", flag, text, service)
	}
	return strings.TrimSuffix(text, "/"), nil
}
