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

// URLsFile is the name, within the data folder, of the file that tells other
// commands how to reach the server.
const URLsFile = "urls.json"

// URLs are the addresses at which a server is reached, and whom its tokens
// are meant for.
type URLs struct {
	Core     string `json:"core"`
	Vault    string `json:"vault"`
	MCP      string `json:"mcp"`
	Issuer   string `json:"issuer"`
	Audience string `json:"audience,omitempty"` // DefaultAudience if empty
	// Accounts is the URL of the accounts, without its password, where they are
	// not in the data folder.
	Accounts string `json:"accounts,omitempty"`
}

// DefaultURLs are the addresses of a server that listens on an address and has
// default settings otherwise.
func DefaultURLs(listen string) URLs {
	base := "http://" + listen
	return URLs{Core: base + "/core", Vault: base + "/vault", MCP: base + "/mcp", Issuer: base + "/signin"}
}

// ReadURLs returns what the last server left in the data folder dir, or unset if
// none did.
func ReadURLs(dir string, unset URLs) (URLs, error) {
	path := filepath.Join(dir, URLsFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return unset, nil
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
		return URLs{}, fmt.Errorf("read the server's addresses from %s: it names no issuer", path)
	}
	return urls, nil
}

// WriteURLs leaves urls in the data folder dir, in one step. One process at a
// time may call it.
func WriteURLs(dir string, urls URLs) error {
	text, err := json.MarshalIndent(urls, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the server's addresses: %w", err)
	}
	path := filepath.Join(dir, URLsFile)
	// The name is always the same, so that one which a crash left is replaced.
	written := path + ".new"
	err = os.WriteFile(written, append(text, '\n'), 0o600)
	failpoint.Here(failpoint.AddressesWritten)
	if err == nil {
		err = os.Rename(written, path)
	}
	if err != nil {
		return fmt.Errorf("write the server's addresses: %w", err)
	}
	return nil
}
