package service

import (
	"context"

	"annals/projections/readmodel/vectors"
)

// inspectVectors logs a warning if the vectors were made by another model than that of the
// settings.
func (s *service) inspectVectors(ctx context.Context) {
	made, err := vectors.ModelOf(ctx, s.models.Runner(vectors.Name).DB())
	wanted := vectors.Model{Name: s.config.Embeddings.Model, Dimensions: s.config.Embeddings.Dimensions}
	switch {
	case err != nil:
		s.logger.Warn("cannot read which model made the vectors", "error", err)
	case made.Name != "" && made != wanted:
		s.logger.Warn("the vectors were made by another model than that of --embeddings-model; searches and new documents use that one until annals rebuild vectors has made all vectors anew",
			"model", made.Name, "dimensions", made.Dimensions, "wanted_model", wanted.Name, "wanted_dimensions", wanted.Dimensions)
	}
}
