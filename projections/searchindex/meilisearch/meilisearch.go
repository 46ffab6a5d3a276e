// Package meilisearch is the search engine for many nodes. Each generation has one index
// on a Meilisearch server.
//
// The index contains the terms of titles, sections and texts (searchindex.Terms), so that
// words are stemmed and scripts without spaces are found as in the embedded engine. The
// text that users see comes from the read model. Meilisearch does not weight terms, so it
// only finds candidates, and Search scores them by BM25.
//
// Meilisearch changes an index by tasks. A task is applied as a whole or not at all. A
// batch is one task: it replaces deleted passages by empty documents, which no search
// finds, and contains the position as a further document. A later task, the sweep,
// removes the empty documents.
//
// The package may import events, projections/searchindex and
// projections/searchindex/bm25.
package meilisearch

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/projections/searchindex"

	"github.com/meilisearch/meilisearch-go"
)

// server is a Meilisearch server. It is not contacted before an index is used.
type server struct {
	client  meilisearch.ServiceManager
	http    *http.Client
	prefix  string // of the names of indexes
	limits  limits
	breaker *breaker // for searches
}

// open returns the server at a URL of the form that parseURL takes. It does not connect
// to the server.
func open(text string) (*server, error) {
	place, err := parseURL(text)
	if err != nil {
		return nil, err
	}
	client := newHTTPClient()
	s := &server{
		// The client's own retries send an empty body and report success.
		client: meilisearch.New(place.address, meilisearch.WithAPIKey(place.key), meilisearch.WithCustomClient(client), meilisearch.DisableRetries()),
		http:   client,
		prefix: place.prefix, limits: usual,
	}
	s.breaker = newBreaker(func(ctx context.Context) error {
		_, err := s.version(ctx)
		return err
	})
	return s, nil
}

// Close closes the connections to the server.
func (s *server) Close() error {
	s.breaker.close()
	s.http.CloseIdleConnections()
	return nil
}

// index returns the index of a generation. The first change creates the index on the
// server.
func (s *server) index(generation string) *index {
	uid := s.prefix + generation
	return &index{server: s, uid: uid, index: s.client.Index(uid)}
}

// Remove deletes the index of a generation, if there is one.
func (s *server) Remove(ctx context.Context, generation string) error {
	x := s.index(generation)
	err := x.change(ctx, func(ctx context.Context) (*meilisearch.TaskInfo, error) {
		return s.client.DeleteIndexWithContext(ctx, x.uid)
	})
	if isCode(err, "index_not_found") {
		return nil
	}
	return x.wrap("remove", err)
}

// index is a search index on a server. After this process has stopped writing to it,
// another process may write to it.
type index struct {
	server *server
	index  meilisearch.IndexManager
	uid    string
	writer
}

var (
	_ searchindex.Filler = (*index)(nil)
	_ searchindex.Remote = (*index)(nil)
)

// Unreachable returns an error of kind fault.Unavailable while the server does not
// respond to probes. Searches then fail immediately with that error. Probing continues
// until the server responds.
func (x *index) Unreachable() error { return x.server.breaker.unreachable() }

// Position returns the position of the last batch, or 0 if the index does not exist yet.
// The error is searchindex.ErrDamaged if this process has seen the index before and it no
// longer exists.
func (x *index) Position(ctx context.Context) (events.Position, error) {
	var state stateDocument
	placed := x.placed.Load()
	err := x.read(ctx, func(ctx context.Context) error {
		return x.index.GetDocumentWithContext(ctx, stateID, nil, &state)
	})
	switch {
	case isCode(err, "document_not_found") && !placed:
		return 0, nil // the index is being created or filled
	case missing(err):
		return 0, x.lost(err)
	case err != nil:
		return 0, x.wrap("read the position of", err)
	case state.Position < 0 || state.ID != stateID:
		return 0, x.wrap("read the position of", errUnexpectedReply)
	}
	x.seen.Store(true)
	x.placed.Store(true)
	return state.Position, nil
}

// missing reports whether an error means that an index, or a part of it, does not exist.
func missing(err error) bool {
	switch codeOf(err) {
	case "index_not_found", "document_not_found", "invalid_document_filter", "invalid_search_filter":
		return true // the last two codes are returned while the index is being created
	}
	return false
}

// lost returns an error if the index that is now missing was seen before.
func (x *index) lost(cause error) error {
	if !x.seen.Load() {
		return nil
	}
	return fault.Errorf(fault.Internal, "search index %s: %w: the index, or the position stored in it, no longer exists on the server: %w", x.uid, searchindex.ErrDamaged, cause)
}

// Count returns the number of passages.
func (x *index) Count(ctx context.Context) (passages uint64, err error) {
	return x.countWithin(ctx, "")
}

// countWithin returns the number of passages that pass a filter.
func (x *index) countWithin(ctx context.Context, filter string) (passages uint64, err error) {
	page, err := x.page(ctx, filter, 0, 1)
	return uint64(page.Total), err
}

// eachPage is the page size of Each, in ids.
const eachPage = 5000

// Each calls fn with the id of every passage, in no particular order. It stops at the
// first error of fn and returns it. If the index changes during the call, Each may miss
// passages.
func (x *index) Each(ctx context.Context, fn func(id string) error) error {
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

// page returns the ids of some passages that pass a filter, and the total number of
// such passages.
func (x *index) page(ctx context.Context, filter string, offset, limit int64) (page meilisearch.DocumentsResult, err error) {
	filter = strings.TrimSuffix("document EXISTS AND "+filter, " AND ")
	err = x.read(ctx, func(ctx context.Context) error {
		page = meilisearch.DocumentsResult{}
		return x.index.GetDocumentsWithContext(ctx, &meilisearch.DocumentsQuery{
			Filter: filter, Fields: []string{"id"}, Offset: offset, Limit: limit,
		}, &page)
	})
	switch {
	case missing(err):
		return page, x.lost(err)
	case err == nil && page.Results == nil:
		err = errUnexpectedReply
	}
	return page, x.wrap("list", err)
}

// wrap names the index in an error.
func (x *index) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return classify(fmt.Errorf("%s search index %s: %w", what, x.uid, err))
}

// Close does nothing: the index stays on the server, and server.Close closes the
// connections.
func (x *index) Close() error { return nil }
