// Package meilisearch is the search engine for many nodes: one index for each
// generation, on a Meilisearch server.
//
// The index holds terms, not texts: titles, sections and texts as
// searchindex.Terms takes them apart, so that words are stemmed and scripts
// without spaces are found as in the embedded engine. Texts are shown from the
// read model, so nothing is cropped here. Meilisearch weighs no terms: it finds
// candidates, and Search scores these by BM25.
//
// Meilisearch changes an index by tasks, each as a whole or not at all. A batch
// is one task: what is deleted is emptied in it, so that no search finds it, and
// the position is a document among the others. What was emptied is swept later.
//
// It may import events and projections/searchindex.
package meilisearch

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/meilisearch/meilisearch-go"

	"annals/events"
	"annals/events/fault"
	"annals/projections/searchindex"
)

// Server is a Meilisearch server. Nothing is asked of it before an index is
// used, so that it may be away at the start.
type Server struct {
	client meilisearch.ServiceManager
	http   *http.Client
	prefix string // of the names of indexes
	limits limits
	door   *door // for searches
}

// Open reads a URL of the form that ParseURL takes. It asks the server nothing.
func Open(text string) (*Server, error) {
	place, err := ParseURL(text)
	if err != nil {
		return nil, err
	}
	client := newHTTPClient()
	s := &Server{
		// The client's own retries send an empty body and call that a success.
		client: meilisearch.New(place.address, meilisearch.WithAPIKey(place.key), meilisearch.WithCustomClient(client), meilisearch.DisableRetries()),
		http:   client,
		prefix: place.prefix, limits: usual,
	}
	s.door = newDoor(func(ctx context.Context) error {
		_, err := s.version(ctx)
		return err
	})
	return s, nil
}

// Close closes the connections to the server.
func (s *Server) Close() {
	s.door.close()
	s.http.CloseIdleConnections()
}

// Index returns the index of one generation. It is made by the first change of
// it.
func (s *Server) Index(generation string) *Index {
	uid := s.prefix + generation
	return &Index{server: s, uid: uid, index: s.client.Index(uid)}
}

// Remove deletes the index of one generation; it may not be there.
func (s *Server) Remove(ctx context.Context, generation string) error {
	x := s.Index(generation)
	err := x.change(ctx, func(ctx context.Context) (*meilisearch.TaskInfo, error) {
		return s.client.DeleteIndexWithContext(ctx, x.uid)
	})
	if isCode(err, "index_not_found") {
		return nil
	}
	return x.told("remove", err)
}

// Index is a search index on a server. Another process may write to it once
// this one has ceased to.
type Index struct {
	server *Server
	index  meilisearch.IndexManager
	uid    string
	writing
}

var (
	_ searchindex.Filler = (*Index)(nil)
	_ searchindex.Remote = (*Index)(nil)
)

// Away returns an error of kind fault.Unavailable while the server is known not
// to answer: a search is told that at once. It is asked again and again then.
func (x *Index) Away() error { return x.server.door.away() }

// Position returns the position of the last batch, 0 where there is no index
// yet. An index that is gone since it was seen is searchindex.ErrDamaged.
func (x *Index) Position(ctx context.Context) (events.Position, error) {
	var state stateDocument
	placed := x.placed.Load()
	err := x.ask(ctx, func(ctx context.Context) error {
		return x.index.GetDocumentWithContext(ctx, stateID, nil, &state)
	})
	switch {
	case isCode(err, "document_not_found") && !placed:
		return 0, nil // it is being made, or filled
	case missing(err):
		return 0, x.lost(err)
	case err != nil:
		return 0, x.told("read the position of", err)
	case state.Position < 0 || state.ID != stateID:
		return 0, x.told("read the position of", errNotMeilisearch)
	}
	x.seen.Store(true)
	x.placed.Store(true)
	return state.Position, nil
}

// missing reports whether an index, or a part of it, is not there.
func missing(err error) bool {
	switch codeOf(err) {
	case "index_not_found", "document_not_found", "invalid_document_filter", "invalid_search_filter":
		return true // the last two while it is made
	}
	return false
}

// lost returns an error where what is not there was there before.
func (x *Index) lost(cause error) error {
	if !x.seen.Load() {
		return nil
	}
	return fault.Errorf(fault.Internal, "search index %s: %w: it is not on the server any more: %w", x.uid, searchindex.ErrDamaged, cause)
}

// Count returns the number of passages.
func (x *Index) Count(ctx context.Context) (passages uint64, err error) {
	return x.countWithin(ctx, "")
}

// countWithin returns the number of passages that a filter lets through.
func (x *Index) countWithin(ctx context.Context, filter string) (passages uint64, err error) {
	page, err := x.page(ctx, filter, 0, 1)
	return uint64(page.Total), err
}

// eachPage is how many ids Each asks for at a time.
const eachPage = 5000

// Each calls fn with the id of every passage, in no order, until an error of
// fn's, which it returns. Of an index that changes meanwhile it may miss some.
func (x *Index) Each(ctx context.Context, fn func(id string) error) error {
	for offset := int64(0); ; offset += eachPage {
		page, err := x.page(ctx, "", offset, eachPage)
		if err != nil {
			return err
		}
		for _, hit := range page.Results {
			id, err := hitID(hit)
			if err == nil {
				err = fn(id)
			}
			if err != nil {
				return err
			}
		}
		if len(page.Results) < eachPage {
			return nil
		}
	}
}

// page returns the ids of some passages that a filter lets through, and how many
// there are in all.
func (x *Index) page(ctx context.Context, filter string, offset, limit int64) (page meilisearch.DocumentsResult, err error) {
	filter = strings.TrimSuffix("document EXISTS AND "+filter, " AND ")
	err = x.ask(ctx, func(ctx context.Context) error {
		page = meilisearch.DocumentsResult{}
		return x.index.GetDocumentsWithContext(ctx, &meilisearch.DocumentsQuery{
			Filter: filter, Fields: []string{"id"}, Offset: offset, Limit: limit,
		}, &page)
	})
	switch {
	case missing(err):
		return page, x.lost(err)
	case err == nil && page.Results == nil:
		err = errNotMeilisearch
	}
	return page, x.told("list", err)
}

// told names the index in an error.
func (x *Index) told(what string, err error) error {
	if err == nil {
		return nil
	}
	return kind(fmt.Errorf("%s search index %s: %w", what, x.uid, err))
}

// Close does nothing: the server keeps the index, and its Server the
// connections.
func (x *Index) Close() error { return nil }
