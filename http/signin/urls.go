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

// Paths of metadata documents (RFC 8615). The path of the described service or issuer is
// appended to them.
const (
	WellKnown         = "/.well-known/"
	ProtectedResource = "oauth-protected-resource"
)

// urlsFile is the name of the file in the data folder in which other commands on the machine
// find the URLs of the server.
const urlsFile = "urls.json"

// URLs are the URLs of a server, and the audience of the tokens that it accepts.
type URLs struct {
	Core     string `json:"core"`
	Vault    string `json:"vault"`
	MCP      string `json:"mcp"`
	Issuer   string `json:"issuer"`
	Audience string `json:"audience,omitempty"` // DefaultAudience if empty
	// Accounts is the URL of the database with the accounts, without its password. It is "" if
	// the accounts are in the data folder.
	Accounts string `json:"accounts,omitempty"`
}

// DefaultURLs returns the URLs of a server with default settings that listens on the address
// listen.
func DefaultURLs(listen string) URLs {
	base := "http://" + listen
	return URLs{Core: base + "/core", Vault: base + "/vault", MCP: base + "/mcp", Issuer: base + "/signin"}
}

// ReadURLs returns the URLs that the last server wrote to the data folder dir, or fallback if
// there are none.
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

// WriteURLs writes the URLs to the data folder dir. The file is replaced atomically. Only one
// process at a time may call it.
func WriteURLs(dir string, urls URLs) error {
	text, err := json.MarshalIndent(urls, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the server's addresses: %w", err)
	}
	path := filepath.Join(dir, urlsFile)
	// The temporary file always has the same name, so that a file that a crash left behind is
	// overwritten.
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
