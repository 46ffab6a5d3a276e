// Package engine opens the stores of a service by the URLs in its settings: log,
// originals, read models with their search index, accounts, access log and backups. No
// other package below cmd/annals names a concrete engine, such as SQLite or
// EventStoreDB. This package may import every engine, and no other package below
// cmd/annals.
package engine

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"annals/events/disk"
	"annals/events/s3"
	"annals/events/sqldb"
	"annals/projections/embeddings"
)

// URLs name the places where a service stores its data. If a URL is empty, the data is
// in the folder Data.
type URLs struct {
	Data                                         string // data folder
	Log, ReadModels, Search, Originals, Accounts string
	// Embeddings name the endpoint that makes vectors. The key is in the environment variable
	// EmbeddingsKey, so that it is in no list of processes.
	Embeddings embeddings.Settings
}

// localPath returns the path in the file URL text, which must have the given scheme. If
// text is empty, it returns the path of the file name in the data folder. flag is the
// flag with the URL, for errors.
func localPath(flag, text, dataDir, scheme, name string) (path string, err error) {
	if text == "" {
		return filepath.Join(dataDir, name), nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("--%s: the value is not a URL: use %s:///path%s", flag, scheme, alternatives(flag))
	}
	// Show only the scheme: if a slash is missing in the URL, the rest may be a
	// password.
	if u.Scheme != scheme {
		return "", fmt.Errorf("--%s: the scheme %q is not supported: use %s:///path%s", flag, u.Scheme, scheme, alternatives(flag))
	}
	if u.Host != "" || u.Path == "" {
		return "", fmt.Errorf("--%s: the URL has a host or no path: write %s:///path, with three slashes", flag, scheme)
	}
	return filepath.FromSlash(u.Path), nil
}

// alternatives describes the URLs of servers that a flag accepts, for errors.
func alternatives(flag string) string {
	switch flag {
	case LogFlag, "from", "to":
		return " or esdb://host:2113 (kurrentdb:// is the same)"
	case "originals":
		return " or " + s3.Scheme + "://bucket/prefix"
	case AccountsFlag, "read-models":
		return " or " + sqldb.PostgresSchemes[0] + "://host/database"
	}
	return ""
}

// Check returns an error that names the first invalid URL. It opens no store and does
// not check that one exists.
func (u URLs) Check() error {
	if !InCluster(u.Log) {
		if _, err := localPath(LogFlag, u.Log, u.Data, "sqlite", "log.db"); err != nil {
			return err
		}
	}
	models, err := u.Models()
	if err != nil {
		return err
	}
	if err := models.search.Close(); err != nil {
		return err
	}
	if !inBucket(u.Originals) {
		if _, err := localPath("originals", u.Originals, u.Data, "file", "originals"); err != nil {
			return err
		}
	}
	if _, err = u.HasAccounts(); err != nil {
		return err
	}
	return u.Embeddings.Check()
}

// Folders returns the local folders to which the service writes, by name.
func (u URLs) Folders() disk.Folders {
	all := disk.Folders{{Name: "data", Path: u.Data}, {Name: "temp", Path: os.TempDir()}}
	for _, engine := range []struct{ flag, text, scheme string }{
		{LogFlag, u.Log, "sqlite"}, {"originals", u.Originals, "file"}, {"read-models", u.ReadModels, "sqlite"},
	} {
		path, err := localPath(engine.flag, engine.text, u.Data, engine.scheme, engine.flag)
		if err != nil {
			continue // the data is on a server
		}
		if engine.flag == LogFlag {
			path = filepath.Dir(path)
		}
		all = append(all, disk.Folder{Name: engine.flag, Path: path})
	}
	if search, err := openSearch(u.Search, u.Data); err == nil {
		if folder := search.Folder(); folder != "" {
			all = append(all, disk.Folder{Name: "search", Path: folder})
		}
		_ = search.Close()
	}
	return all
}

// ExplainFullDisk adds the names of full disks to err, the error of a failed start. On
// a full disk SQLite fails to open with an error that does not mention the disk.
func (u URLs) ExplainFullDisk(err error) error {
	if full := u.Folders().Full(); len(full) > 0 {
		return fmt.Errorf("%w; no space is left on the disk of: %s: free some and start again", err, strings.Join(full, ", "))
	}
	return err
}

// DefaultData is the data folder if --data is not set.
const DefaultData = "annals-data"

// AccountFlags returns the flags, each after a space, with which another command finds
// the same accounts. It has a placeholder in place of a password, because the output
// may be logged.
func (u URLs) AccountFlags() (flags string) {
	if u.Data != DefaultData {
		flags += " --data " + ShellQuote(u.Data)
	}
	if u.Accounts != "" {
		flags += " --" + AccountsFlag + " " + ShellQuote(WithoutPassword(u.Accounts))
	}
	return flags
}

// ShellQuote quotes a text as one word for the shell.
func ShellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
