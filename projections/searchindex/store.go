package searchindex

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Store has the indexes of a service in a folder or on a server, one for each generation
// of the passages read model.
type Store interface {
	// Open opens the index of a generation and creates it if there is none.
	Open(ctx context.Context, generation string) (Engine, error)
	// OpenReadOnly opens the index of an active generation. If that is not possible at
	// the moment, the error has the kind fault.Unavailable and contains the reason.
	OpenReadOnly(ctx context.Context, generation string) (Engine, error)
	// OpenScratch opens a new temporary index, which Close removes. An index that is a
	// folder is created in dir, an empty folder, and the caller removes dir.
	OpenScratch(ctx context.Context, dir string) (Engine, error)
	// Remove deletes the index of a generation, if there is one.
	Remove(ctx context.Context, generation string) error
	// Shared reports whether all nodes of a service use the same indexes. If not, each
	// node has its own indexes, and its own tables of the passages read model.
	Shared() bool
	// Folder returns the folder of this machine in which the indexes are, or "" if they
	// are on a server.
	Folder() string
	// Lock keeps other processes from writing to the indexes, until unlock is called or
	// this process ends. If another process holds the lock, the error is of kind
	// fault.Unavailable. If several processes may use the store, Lock does nothing.
	Lock() (unlock func() error, err error)
	Close() error
}

// Kind describes a search engine before one is opened.
type Kind struct {
	Scheme string // of the URLs of its stores, such as "bleve"
	Form   string // form of these URLs, for help texts and errors
	// Open opens the store at a URL with the scheme. If the URL is empty and the engine
	// is embedded, it opens the store in dir. It does not connect to a server. No error
	// contains the URL, because the URL may contain a key.
	Open func(url, dir string) (Store, error)
}

// Kinds are the search engines that a program can use. The first must be the embedded
// one, which is used if no URL is set.
type Kinds []Kind

// Open opens the store at a URL. If the URL is empty, it opens the store of the embedded
// engine in dir.
func (k Kinds) Open(text, dir string) (Store, error) {
	if text == "" {
		return k[0].Open("", dir)
	}
	scheme, _, _ := strings.Cut(text, ":")
	for _, kind := range k {
		if kind.Scheme == scheme {
			return kind.Open(text, dir)
		}
	}
	// Show only the scheme, because the rest may contain a password.
	if u, err := url.Parse(text); err == nil && u.Scheme != "" {
		return nil, fmt.Errorf("the scheme %q is not supported: write it as %s", u.Scheme, k.Forms())
	}
	return nil, errors.New("the value is not a URL: write it as " + k.Forms())
}

// Forms returns the forms of the URLs of all kinds.
func (k Kinds) Forms() string {
	forms := make([]string, len(k))
	for i, kind := range k {
		forms[i] = kind.Form
	}
	return strings.Join(forms, " or ")
}
