package bleve

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"annals/events/fault"
	"annals/projections/searchindex"

	"github.com/gofrs/flock"
)

// Kind describes this engine to a program that lets users choose an engine.
var Kind = searchindex.Kind{Scheme: "bleve", Form: "bleve:///folder", Open: func(url, dir string) (searchindex.Store, error) {
	return parseFolder(url, dir)
}}

func parseFolder(text, dir string) (Folder, error) {
	if text == "" {
		return Folder(dir), nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "bleve" || u.Host != "" || u.Path == "" {
		return "", errors.New("write the path as bleve:///path, with three slashes")
	}
	return Folder(filepath.FromSlash(u.Path)), nil
}

// Folder is a searchindex.Store on the local disk. Each index is a subfolder named after
// its generation.
type Folder string

// Open opens the index of a generation and creates it if there is none.
func (f Folder) Open(_ context.Context, generation string) (searchindex.Engine, error) {
	return asEngine(openIndex(f.index(generation)))
}

// OpenReadOnly opens the index of a generation while no server uses the folder. Until the
// index is closed, no server can start: a server that cannot open the index would treat
// it as corrupt.
func (f Folder) OpenReadOnly(_ context.Context, generation string) (searchindex.Engine, error) {
	if _, err := os.Stat(string(f)); err != nil {
		return nil, err // Lock would create the folder
	}
	unlock, err := f.Lock()
	if err != nil {
		return nil, fault.Hide(fault.Unavailable, "a server has it open; stop the server to compare the index", err)
	}
	x, err := openReadOnly(f.index(generation))
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return lockedIndex{x, unlock}, nil
}

// OpenScratch opens a new index in dir.
func (f Folder) OpenScratch(_ context.Context, dir string) (searchindex.Engine, error) {
	return asEngine(openIndex(filepath.Join(dir, "index")))
}

// Remove deletes the index of a generation, if there is one.
func (f Folder) Remove(_ context.Context, generation string) error {
	return os.RemoveAll(f.index(generation))
}

// Shared returns false: only one process may have an index open.
func (f Folder) Shared() bool { return false }

// Folder returns the path of the folder.
func (f Folder) Folder() string { return string(f) }

// Lock creates the folder if it does not exist, and keeps other servers from using it.
func (f Folder) Lock() (unlock func() error, err error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the search index: %w", err)
	}
	lock := flock.New(f.index("search.lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the search index folder %s: %w", f, err)
	}
	if !locked {
		return nil, fault.Errorf(fault.Unavailable, "another process has locked the search index folder %s: stop it first", f)
	}
	return lock.Unlock, nil
}

// Close does nothing: each index is closed by its own Close.
func (f Folder) Close() error { return nil }

func (f Folder) index(generation string) string { return filepath.Join(string(f), generation) }

// asEngine keeps a nil *engine from becoming a non-nil interface.
func asEngine(x *engine, err error) (searchindex.Engine, error) {
	if err != nil {
		return nil, err
	}
	return x, nil
}

// lockedIndex is an index whose folder is locked until it is closed.
type lockedIndex struct {
	*engine
	unlock func() error
}

func (x lockedIndex) Close() error { return errors.Join(x.engine.Close(), x.unlock()) }
