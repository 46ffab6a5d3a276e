package signin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"annals/events/failpoint"
)

// The paths of well-known metadata documents (RFC 8615). The path of the service or issuer
// that a document describes is appended.
const (
	WellKnown         = "/.well-known/"
	ProtectedResource = "oauth-protected-resource"
)

// urlsFile is the name of the file in the data folder in which other commands find the
// addresses of the server.
const urlsFile = "urls.json"

// URLs holds the addresses of a server and the audience of its tokens.
type URLs struct {
	Core     string `json:"core"`
	Vault    string `json:"vault"`
	MCP      string `json:"mcp"`
	Issuer   string `json:"issuer"`
	Audience string `json:"audience,omitempty"` // DefaultAudience if empty
	// Accounts is the URL of the account database, without its password; "" if the accounts
	// are in the data folder.
	Accounts string `json:"accounts,omitempty"`
}

// DefaultURLs returns the addresses of a server that listens on the given address and has
// default settings.
func DefaultURLs(listen string) URLs {
	base := "http://" + listen
	return URLs{Core: base + "/core", Vault: base + "/vault", MCP: base + "/mcp", Issuer: base + "/signin"}
}

// ReadURLs returns the addresses that the last server wrote to the data folder dir; fallback
// if there are none.
func ReadURLs(dir string, fallback URLs) (URLs, error) {
	path := filepath.Join(dir, urlsFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fallback, nil
	}
	if err != nil {
		return URLs{}, fmt.Errorf("read the server's addresses: %w", err)
	}
	defer f.Close()
	var urls URLs
	if err := json.NewDecoder(io.LimitReader(f, 64<<10)).Decode(&urls); err != nil {
		return URLs{}, fmt.Errorf("read the server's addresses from %s: %w", path, err)
	}
	if urls.Issuer == "" {
		return URLs{}, fmt.Errorf("read the server's addresses from %s: the issuer is missing", path)
	}
	return urls, nil
}

// WriteURLs writes the addresses to the data folder dir, atomically. Only one process at a
// time may call it.
func WriteURLs(dir string, urls URLs) error {
	text, err := json.MarshalIndent(urls, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the server's addresses: %w", err)
	}
	path := filepath.Join(dir, urlsFile)
	// The temporary name is fixed, so that a file left by a crash is overwritten.
	temporary := path + ".new"
	err = os.WriteFile(temporary, append(text, '\n'), 0o600)
	failpoint.Here(failpoint.AddressesWritten)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return fmt.Errorf("write the server's addresses: %w", err)
	}
	return nil
}
