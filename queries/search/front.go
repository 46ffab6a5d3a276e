package search

import (
	"context"
	"encoding/json"

	"annals/projections"
	"annals/projections/readmodel/passages"
	"annals/queries/freshness"
)

// fronts returns the first passages of the first sections of the documents of sources: there a document
// says who wrote it, and when. They are of the same version as the sources, whose rights were checked.
func (q *Searcher) fronts(ctx context.Context, sources []Source) ([]Source, error) {
	var keys [][]any
	var of []Source
	seen := make(map[string]bool)
	for _, s := range sources {
		if document, version, _, _, ok := passages.ParseID(s.id); ok && !seen[document] {
			seen[document] = true
			keys, of = append(keys, []any{document, version}), append(of, s)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	const sections = 4
	rows, err := projections.List(ctx, q.Models.Passages.DB(), (*passage).fields,
		`SELECT k.key, p.document, p.version, p.version, p.number, s.level, s.title, s.path,
			p.start_page, p.end_page, substr(s.text, p.start + 1, p.length), s.confidence,
			s.start_page, CASE WHEN p.end_page > p.start_page THEN s.breaks ELSE '[]' END, p.start
		 FROM json_each($1) k CROSS JOIN passages p JOIN sections s ON s.id = p.row
		 WHERE p.document = k.value ->> 0 AND p.version = CAST(k.value ->> 1 AS INTEGER) AND p.section < $2 AND p.number = 0
		 ORDER BY k.key, p.section`, string(b), sections)
	if err != nil {
		return nil, freshness.Wrap(err, "beginnings of documents")
	}
	fronts := make([]Source, 0, len(rows))
	for i := range rows {
		found := of[rows[i].hit]
		front, err := rows[i].source(found.document)
		if err != nil {
			return nil, err
		}
		front.Owner, front.front, front.Score = found.Owner, true, found.Score
		fronts = append(fronts, front)
	}
	return fronts, nil
}
