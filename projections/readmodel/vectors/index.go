package vectors

import (
	"context"
	"time"

	"annals/events/sqldb"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
)

// indexEvery is how often Later asks whether an index is lacking: there may be more passages,
// or the database may have got the extension that the index needs.
const indexEvery = time.Hour

// index makes an approximate index of the vectors, if there are so many that it is worth its
// cost, and the database can. Without one, all vectors in scope are compared. It is called when
// no document waits, because an index of all rows is made faster than it is extended, and
// nothing is written meanwhile.
func (p *Projection) index(ctx context.Context, tables readmodel.Tables) error {
	if time.Since(p.indexed) < indexEvery {
		return nil
	}
	first := p.indexed.IsZero()
	p.indexed = time.Now()
	statements, err := sqldb.Column[string](ctx, tables, `SELECT statement FROM lacking`)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		made, err := sqldb.Column[string](ctx, tables, statement)
		switch log := p.embedding.Logger; {
		case ctx.Err() != nil:
			return err
		case err != nil:
			log.Warn("the index of vectors cannot be made: searches compare all vectors", "error", err)
		case len(made) > 0:
			log.Info("made an index of vectors", "index", made[0], "took", time.Since(p.indexed).Round(time.Second))
		case first:
			log.Info("searches compare all vectors: an index needs the extension pgvector, version 0.8 or newer, in the database")
		}
	}
	if len(statements) > 0 || !first {
		return nil
	}
	engine, err := engineOf(ctx, tables)
	if engine != "" {
		p.embedding.Logger.Info("searches use the index of vectors", "index", engine)
	}
	return err
}

// engineOf returns what the index of vectors is made with, or "" if there is none.
func engineOf(ctx context.Context, tables readmodel.Queryer) (string, error) {
	engines, err := sqldb.Column[string](ctx, tables, `SELECT engine FROM approximate`)
	if err != nil || len(engines) == 0 {
		return "", err
	}
	return engines[0], nil
}

// byIndex returns at least limit rows of the passages whose vectors are nearest to that of a
// query, by the index. It returns nil if there is no index, or if it finds fewer: then what is
// near to the query is mostly out of scope.
func byIndex(ctx context.Context, tables readmodel.Queryer, q searchindex.Query, vector []float32, limit int) ([]int64, error) {
	if engine, err := engineOf(ctx, tables); err != nil || engine == "" {
		return nil, err
	}
	numbers := make([]int8, len(vector))
	for i, b := range encode(vector) {
		numbers[i] = int8(b)
	}
	args := []any{readmodel.JSONText(numbers), 2 * limit} // the index does not find them in their exact order
	documents := `NULL`
	if where := within(q, &args); where != "" {
		documents = `ARRAY(SELECT row FROM documents` + where + `)`
	}
	rows, err := sqldb.Column[int64](ctx, tables, `SELECT row FROM nearest_by_index($1, $2, `+documents+`)`, args...)
	if err != nil || len(rows) < limit {
		return nil, err
	}
	return rows, nil
}
