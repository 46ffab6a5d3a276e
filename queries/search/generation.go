package search

import (
	"context"

	"annals/events"
	"annals/events/fault"
)

// in returns a searcher that reads only one generation of the passages; 0 means the active
// one, whichever that is. The rest of a search is the same: permissions and names are those
// of the active vault. release must be called after the last read. It returns an error if the
// generation was active and another one has taken its place, since the results may then be
// from both.
func (q *Searcher) in(ctx context.Context, user events.User, generation int) (bound *Searcher, release func() error, err error) {
	switch {
	case generation == q.generation:
		return q, func() error { return nil }, nil
	case !user.Admin:
		return nil, nil, fault.Errorf(fault.Forbidden, "only administrators may choose the generation that is searched")
	}
	bound = &Searcher{Models: q.Models, Limit: q.Limit, Embedder: q.Embedder, generation: generation}
	if q.Models.Passages.Generation() == generation {
		return bound, func() error {
			if q.Models.Passages.Generation() != generation {
				return fault.Errorf(fault.Unavailable, "generation %d of the passages was replaced during the search: try again later", generation)
			}
			return nil
		}, nil
	}
	models, done, err := q.Models.Beside(ctx, generation)
	if err != nil {
		return nil, nil, err
	}
	bound.Models = models
	return bound, func() error { done(); return nil }, nil
}
