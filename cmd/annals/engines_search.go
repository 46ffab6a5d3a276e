package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"annals/events/fault"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/meilisearch"
)

// searchForms says how a search index is named.
const searchForms = "bleve:///folder or " + meilisearch.Form

// searchPlace is where search indexes are: in a folder, or on a server.
type searchPlace struct {
	folder string
	server *meilisearch.Server // nil for a folder
}

func newSearchPlace(text, dataDir string) (p searchPlace, err error) {
	if !strings.HasPrefix(text, meilisearch.Scheme+":") {
		p.folder, err = place("search", text, dataDir, "bleve", "search")
		return p, err
	}
	if p.server, err = meilisearch.Open(text); err != nil {
		return p, fmt.Errorf("--search: %w", err)
	}
	return p, nil
}

// close ends what goes on with a server.
func (p searchPlace) close() {
	if p.server != nil {
		p.server.Close()
	}
}

// hold keeps other servers from a folder, until unlock is called.
func (p searchPlace) hold() (unlock func() error, err error) {
	if p.server != nil {
		return func() error { return nil }, nil
	}
	return hold("the folder of the search index", p.folder, "search.lock")
}

// open opens the index of a generation, made where it is not there.
func (p searchPlace) open(_ context.Context, generation string) (searchindex.Engine, error) {
	if p.server != nil {
		return p.server.Index(generation), nil
	}
	return bleve.Open(filepath.Join(p.folder, generation))
}

// remove deletes the index of a generation.
func (p searchPlace) remove(ctx context.Context, generation string) error {
	if p.server != nil {
		return p.server.Remove(ctx, generation)
	}
	return os.RemoveAll(filepath.Join(p.folder, generation))
}

// openScratch opens an index of the same kind that is gone when it is closed. A
// folder is made in dir.
func (p searchPlace) openScratch(ctx context.Context, dir string) (searchindex.Engine, error) {
	if p.server == nil {
		return bleve.Open(filepath.Join(dir, "index"))
	}
	generation := "verify-" + uuid.NewString()
	remove := func() error { return p.server.Remove(context.WithoutCancel(ctx), generation) }
	return scratchIndex{p.server.Index(generation), remove}, nil
}

// scratchIndex is removed when it is closed.
type scratchIndex struct {
	*meilisearch.Index
	remove func() error
}

func (s scratchIndex) Close() error { return errors.Join(s.Index.Close(), s.remove()) }

// openServed opens an index for reading. One in a folder no server may start on
// meanwhile: it would take an index that it cannot open for a damaged one.
func (p searchPlace) openServed(ctx context.Context, generation string) (searchindex.Engine, error) {
	if p.server != nil {
		index := p.server.Index(generation)
		_, err := index.Position(ctx) // whether it answers
		return index, err
	}
	if _, err := os.Stat(p.folder); err != nil {
		return nil, err // to lock it would make it
	}
	unlock, err := p.hold()
	if err != nil {
		return nil, fault.Hide(fault.Unavailable, "a server has it open and alone can read it; stop it to compare the index", err)
	}
	index, err := bleve.OpenReadOnly(filepath.Join(p.folder, generation))
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return heldSearch{index, unlock}, nil
}

// heldSearch is an index whose folder is held until it is closed.
type heldSearch struct {
	*bleve.Index
	unlock func() error
}

func (h heldSearch) Close() error { return errors.Join(h.Index.Close(), h.unlock()) }
