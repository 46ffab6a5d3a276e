package vectors

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"annals/events/sqldb"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
)

// rescored is the number of passages whose signs are most like those of the query. Their
// vectors are compared.
const rescored = 1000

// fewDocuments is the maximum number of documents whose passages are looked up one document
// after the other. In a wider scope that takes longer than to read the signs of all passages.
const fewDocuments = 500

// Nearest returns the limit passages whose vectors are nearest to that of a query, among
// those that q selects by its rights and filters. The scores are cosines. The vector of the
// query must have length 1 and the dimensions of the generation.
func Nearest(ctx context.Context, tables readmodel.Queryer, q searchindex.Query, vector []float32, limit int) ([]searchindex.Hit, error) {
	if !q.All && len(q.Granted) == 0 {
		return nil, nil
	}
	from, args, err := candidates(ctx, tables, q, vector, limit)
	if err != nil {
		return nil, err
	}
	type candidate struct {
		row    int64
		vector []byte
		cosine float64
	}
	found, err := sqldb.List(ctx, tables, func(c *candidate) []any { return []any{&c.row, &c.vector} },
		`SELECT v.row, v.vector FROM `+from, args...)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if len(found[i].vector) == len(vector) {
			found[i].cosine = cosine(vector, found[i].vector)
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.row, b.row)) })
	found = found[:min(limit, len(found))]
	rows := make([]int64, len(found))
	for i, c := range found {
		rows[i] = c.row
	}
	type name struct {
		place                    int
		document                 string
		version, section, number int
	}
	names, err := sqldb.List(ctx, tables, func(n *name) []any { return []any{&n.place, &n.document, &n.version, &n.section, &n.number} },
		`SELECT k.key, d.id, v.version, v.section, v.number FROM json_each($1) k CROSS JOIN vectors v JOIN documents d ON d.row = v.document
		WHERE v.row = CAST(k.value AS INTEGER) ORDER BY k.key`, readmodel.JSONText(rows))
	hits := make([]searchindex.Hit, len(names))
	for i, n := range names {
		hits[i] = searchindex.Hit{ID: passages.ID(n.document, n.version, n.section, n.number), Score: found[n.place].cosine}
	}
	return hits, err
}

// Cosines returns the cosines of the vector of a query with those of passages, by their ids.
// It leaves out passages without vectors.
func Cosines(ctx context.Context, tables readmodel.Queryer, ids []string, vector []float32) (map[string]float64, error) {
	keys := make([][]any, 0, len(ids))
	for _, id := range ids {
		if document, version, section, number, ok := passages.ParseID(id); ok {
			keys = append(keys, []any{document, version, section, number, id})
		}
	}
	type row struct {
		id     string
		vector []byte
	}
	found, err := sqldb.List(ctx, tables, func(r *row) []any { return []any{&r.id, &r.vector} },
		`SELECT k.value ->> 4, v.vector FROM json_each($1) k CROSS JOIN documents d CROSS JOIN vectors v
		WHERE d.id = k.value ->> 0 AND v.document = d.row AND v.version = CAST(k.value ->> 1 AS INTEGER)
		AND v.section = CAST(k.value ->> 2 AS INTEGER) AND v.number = CAST(k.value ->> 3 AS INTEGER)`, readmodel.JSONText(keys))
	cosines := make(map[string]float64, len(found))
	for _, r := range found {
		if len(r.vector) == len(vector) {
			cosines[r.id] = cosine(vector, r.vector)
		}
	}
	return cosines, err
}

// candidates returns the FROM and WHERE clauses, with their parameters, for those rows v of the
// table vectors, among those that q selects, which may be the limit nearest to that of a query.
func candidates(ctx context.Context, tables readmodel.Queryer, q searchindex.Query, vector []float32, limit int) (from string, args []any, err error) {
	const best = ` ORDER BY vec_distance_hamming(vec_bit(c.code), vec_bit(unhex($1))), c.row LIMIT CAST($2 AS INTEGER)) b JOIN vectors v ON v.row = b.row`
	args = []any{hex.EncodeToString(signs(encode(vector))), rescored}
	where := within(q, &args)
	if where != "" {
		// The documents are a query of their own, because PostgreSQL estimates that half of
		// them match a condition on their folders, and would read the signs of all passages.
		var own []any
		few, err := sqldb.Column[int64](ctx, tables, `SELECT row FROM documents`+within(q, &own)+fmt.Sprintf(` LIMIT %d`, fewDocuments+1), own...)
		if err != nil {
			return "", nil, err
		}
		if len(few) <= fewDocuments {
			return `(SELECT c.row FROM json_each($3) k CROSS JOIN comparable c WHERE c.document = CAST(k.value AS INTEGER)` + best, append(args[:2], readmodel.JSONText(few)), nil
		}
		where = ` WHERE c.document IN (SELECT row FROM documents` + where + `)`
	}
	rows, err := byIndex(ctx, tables, q, vector, limit)
	if err != nil || rows != nil {
		return `json_each($1) k CROSS JOIN vectors v WHERE v.row = CAST(k.value AS INTEGER)`, []any{readmodel.JSONText(rows)}, err
	}
	return `(SELECT c.row FROM comparable c` + where + best, args, nil
}

// within returns the WHERE clause for the documents that a query selects by its rights and
// filters, and adds the parameters to args. It returns "" for all documents.
func within(q searchindex.Query, args *[]any) string {
	parameter := func(list []string) string {
		*args = append(*args, readmodel.JSONText(list))
		return fmt.Sprintf("(SELECT value FROM json_each($%d))", len(*args))
	}
	below := func(folders []string) string {
		return `folder IN (WITH RECURSIVE below (id) AS (SELECT id FROM folders WHERE id IN ` + parameter(folders) + ` UNION SELECT folders.id FROM folders JOIN below ON folders.parent = below.id) SELECT id FROM below)`
	}
	var conditions []string
	if !q.All && !q.Inside {
		conditions = append(conditions, below(q.Granted))
	}
	if len(q.Folders) > 0 {
		conditions = append(conditions, below(q.Folders))
	}
	if q.Document != "" {
		conditions = append(conditions, `id IN `+parameter([]string{q.Document}))
	}
	if len(q.Tags) > 0 {
		tags := slices.Compact(slices.Sorted(slices.Values(q.Tags)))
		want := len(tags)
		if q.AnyTag {
			want = 1
		}
		conditions = append(conditions, fmt.Sprintf(`(SELECT count(DISTINCT tag.value) FROM json_each(documents.tags) tag WHERE tag.value IN %s) >= %d`, parameter(tags), want))
	}
	if len(conditions) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(conditions, " AND ")
}
