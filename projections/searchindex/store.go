package searchindex

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Store keeps the indexes of a service, one for each generation of the passages:
// in a folder, or on a server.
type Store interface {
	// Open opens the index of a generation and creates it if there is none.
	Open(ctx context.Context, generation string) (Engine, error)
	// OpenReadOnly opens the index of an active generation. If that is not possible
	// now, the error has the kind fault.Unavailable and gives the reason.
	OpenReadOnly(ctx context.Context, generation string) (Engine, error)
	// OpenScratch opens a new index that is not kept: Close removes it, unless
	// it is in dir, an empty folder that the caller removes.
	OpenScratch(ctx context.Context, dir string) (Engine, error)
	// Remove deletes the index of a generation, if there is one.
	Remove(ctx context.Context, generation string) error
	// Shared reports whether all nodes of a service use the same indexes. If not,
	// each node has its own, and its own tables of passages.
	Shared() bool
	// Folder returns the folder of this machine that the indexes are in, or "" if
	// they are not on this machine.
	Folder() string
	// Lock excludes other processes that would write to the indexes, until unlock is
	// called or this process ends. The error is of kind fault.Unavailable if another
	// process holds the lock. Lock does nothing if several processes may use the store.
	Lock() (unlock func() error, err error)
	Close() error
}

// Kind describes a search engine before one is opened.
type Kind struct {
	Scheme string // of the URLs of its stores
	Form   string // of such a URL, for help texts and errors
	// Open opens the store at a URL with the scheme or, if the URL is empty and the
	// engine is embedded, in dir. It does not connect to a server yet. No error
	// repeats the URL, which may hold a key.
	Open func(url, dir string) (Store, error)
}

// Kinds are the search engines that a program can use. The first one is embedded,
// and is used if no URL is given.
type Kinds []Kind

// Open opens the store at a URL, or the embedded one in dir if it is empty.
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
	// Show only the scheme, because the rest may be a password.
	if u, err := url.Parse(text); err == nil && u.Scheme != "" {
		return nil, fmt.Errorf("the scheme %q is not supported: write it as %s", u.Scheme, k.Forms())
	}
	return nil, errors.New("the value is not a URL: write it as " + k.Forms())
}

// Forms describes the URLs of all kinds.
func (k Kinds) Forms() string {
	forms := make([]string, len(k))
	for i, kind := range k {
		forms[i] = kind.Form
	}
	return strings.Join(forms, " or ")
}
