package meilisearch

import (
	"context"
	"errors"

	"annals/projections/searchindex"

	"github.com/google/uuid"
)

// Kind describes this engine to a program that lets users choose an engine.
var Kind = searchindex.Kind{Scheme: scheme, Form: form, Open: func(url, _ string) (searchindex.Store, error) {
	s, err := open(url)
	if err != nil {
		return nil, err
	}
	return s, nil
}}

var _ searchindex.Store = (*server)(nil)

// Open returns the index of a generation. It does not connect to the server.
func (s *server) Open(_ context.Context, generation string) (searchindex.Engine, error) {
	return s.index(generation), nil
}

// OpenReadOnly returns the index of a generation if the server responds.
func (s *server) OpenReadOnly(ctx context.Context, generation string) (searchindex.Engine, error) {
	x := s.index(generation)
	if _, err := x.Position(ctx); err != nil {
		return nil, err
	}
	return x, nil
}

// OpenScratch returns a new index that Close removes.
func (s *server) OpenScratch(ctx context.Context, _ string) (searchindex.Engine, error) {
	generation := "verify-" + uuid.NewString()
	remove := func() error { return s.Remove(context.WithoutCancel(ctx), generation) }
	return scratchIndex{s.index(generation), remove}, nil
}

// scratchIndex is an index that is removed when it is closed.
type scratchIndex struct {
	*index
	remove func() error
}

func (s scratchIndex) Close() error { return errors.Join(s.index.Close(), s.remove()) }

// Shared returns true: all nodes use the indexes of the server.
func (s *server) Shared() bool { return true }

// Folder returns "": no files are kept on this machine.
func (s *server) Folder() string { return "" }

// Lock does nothing: several processes may use a server.
func (s *server) Lock() (unlock func() error, err error) {
	return func() error { return nil }, nil
}
