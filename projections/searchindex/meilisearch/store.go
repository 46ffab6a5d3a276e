package meilisearch

import (
	"context"
	"errors"

	"annals/projections/searchindex"

	"github.com/google/uuid"
)

// Kind describes the engine to the programs that offer it.
var Kind = searchindex.Kind{Scheme: Scheme, Form: Form, Open: func(url, _ string) (searchindex.Store, error) {
	s, err := Open(url)
	if err != nil {
		return nil, err
	}
	return s, nil
}}

var _ searchindex.Store = (*Server)(nil)

// Open returns the index of a generation. It does not connect to the server.
func (s *Server) Open(_ context.Context, generation string) (searchindex.Engine, error) {
	return s.Index(generation), nil
}

// OpenReadOnly returns the index of a generation if the server responds.
func (s *Server) OpenReadOnly(ctx context.Context, generation string) (searchindex.Engine, error) {
	x := s.Index(generation)
	if _, err := x.Position(ctx); err != nil {
		return nil, err
	}
	return x, nil
}

// OpenScratch returns a new index that Close removes.
func (s *Server) OpenScratch(ctx context.Context, _ string) (searchindex.Engine, error) {
	generation := "verify-" + uuid.NewString()
	remove := func() error { return s.Remove(context.WithoutCancel(ctx), generation) }
	return scratchIndex{s.Index(generation), remove}, nil
}

// scratchIndex is removed when it is closed.
type scratchIndex struct {
	*Index
	remove func() error
}

func (s scratchIndex) Close() error { return errors.Join(s.Index.Close(), s.remove()) }

// Shared returns true: all nodes use the indexes of the server.
func (s *Server) Shared() bool { return true }

// Folder returns "": no files are kept on this machine.
func (s *Server) Folder() string { return "" }

// Lock does nothing: several processes may use a server.
func (s *Server) Lock() (unlock func() error, err error) {
	return func() error { return nil }, nil
}
