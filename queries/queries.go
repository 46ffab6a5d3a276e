// Package queries is the read side: it serves every read of the REST API and of the
// agent tools from projections only. A query runs for one user and never reveals what
// that user may not read. The queries are in subpackages: vault (folders and documents),
// search, jobs, audit and access (permissions). It imports these subpackages,
// projections and events.
package queries

import (
	"context"
	"time"

	"annals/events"
	"annals/projections"
	"annals/queries/access"
	"annals/queries/audit"
	"annals/queries/freshness"
	"annals/queries/jobs"
	"annals/queries/search"
	"annals/queries/vault"
)

// Queries combines all queries. Its methods are safe for concurrent use.
type Queries struct {
	Models *freshness.Models

	*access.Rights
	*vault.Vault
	*search.Searcher
	*jobs.Jobs
	*audit.Auditor
}

// Options configure Queries. The zero value means the defaults.
type Options struct {
	// SearchLimit is the default number of passages in a search result. 0 means 10.
	SearchLimit int
	// Embedder makes the vectors of queries; nil if searches use words alone.
	Embedder search.Embedder
	// MaxLag is the maximum time that a read waits for a read model to catch up. 0 means
	// 5 s.
	MaxLag time.Duration
	// Start is the head of the log when the service started. The service is ready once
	// every read model has passed it.
	Start events.Position
}

// New returns Queries over the read models.
func New(set *projections.Set, o Options) *Queries {
	models := freshness.New(set, o.MaxLag, o.Start)
	return &Queries{
		Models:   models,
		Rights:   &access.Rights{Models: models},
		Vault:    &vault.Vault{Models: models},
		Searcher: &search.Searcher{Models: models, Limit: o.SearchLimit, Embedder: o.Embedder},
		Jobs:     &jobs.Jobs{Models: models},
		Auditor:  &audit.Auditor{Models: models},
	}
}

// AwaitWrite returns nil once every read model that the client may read next has
// applied the write at p, or an error if ctx ends first.
func (q *Queries) AwaitWrite(ctx context.Context, p events.Position) error {
	return q.Models.AwaitWrite(ctx, p)
}
