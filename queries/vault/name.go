package vault

import (
	"context"
	"encoding/json"
	"strings"

	"annals/events"
	"annals/events/lookalike"
	"annals/projections"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// spaced is lookalike.Spaced in SQL, for ASCII names. It uses control characters as
// markers, because names contain none.
const spaced = "replace(replace(replace(d.name, ' ', '\x01\x02'), '\x02\x01', ''), '\x01\x02', ' ')"

// alikeNames returns, for each entry of $1 (JSON), the name of a document with a similar
// name, or an empty string if there is none. It ignores the document $2. An entry is an
// array: the folder, the key of similar names, the name itself, its index, and the name
// that spaced must return for the other document, or "" for any.
const alikeNames = `SELECT k.value ->> 3, coalesce((SELECT d.name FROM documents d
		WHERE d.folder = k.value ->> 0 AND d.look = k.value ->> 1 AND d.name <> k.value ->> 2
			AND (k.value ->> 4 = '' OR k.value ->> 4 = ` + spaced + `) AND d.id <> $2 LIMIT 1), '')
	FROM json_each($1) k`

// AlikeDocuments returns, for each new name of a document in a folder, the name of a
// document in that folder that looks the same, or "" if there is none. It ignores the
// document whose id is except.
func (q *Vault) AlikeDocuments(ctx context.Context, folders []uuid.UUID, names []string, except uuid.UUID) ([]string, error) {
	if err := q.Models.Trusted(ctx); err != nil {
		return nil, err
	}
	var entries [][]any
	for i, name := range names {
		for _, rival := range lookalike.Rivals(name) {
			entries = append(entries, []any{folders[i].String(), rival.Key, name, i, rival.Spaced})
		}
	}
	b, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	type row struct {
		index int
		name  string
	}
	rows, err := projections.List(ctx, q.Models.Vault.DB(), func(r *row) []any { return []any{&r.index, &r.name} }, alikeNames, string(b), except.String())
	if err != nil {
		return nil, freshness.Wrap(err, "names of documents")
	}
	similar := make([]string, len(names))
	for _, r := range rows {
		if r.name != "" {
			similar[r.index] = r.name
		}
	}
	return similar, nil
}

// documentsNamed sorts by an expression, so that SQLite finds the documents by their name.
// It would otherwise read the whole folder in the order of the index on created_at.
const documentsNamed = `SELECT id FROM documents WHERE folder = $1 AND sort_name = $2 AND name = $3 ORDER BY created_at || '' DESC, id`

// DocumentsNamed returns the documents with a name in a folder, the newest first. It
// first waits until the vault has passed the position after.
func (q *Vault) DocumentsNamed(ctx context.Context, folder uuid.UUID, name string, after events.Position) ([]uuid.UUID, error) {
	if err := q.Models.Await(ctx, q.Models.Vault, after); err != nil {
		return nil, err
	}
	ids, err := projections.Column(ctx, q.Models.Vault.DB(), documentsNamed, folder.String(), strings.ToLower(name), name)
	if err != nil {
		return nil, freshness.Wrap(err, "documents named "+name)
	}
	documents := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		if documents[i], err = uuid.Parse(id); err != nil {
			return nil, freshness.Wrap(err, "documents named "+name)
		}
	}
	return documents, nil
}

// namesTaken finds the entries of $1 (JSON) for which a document exists. An entry is an
// array of the folder, the name in lower case, the name and its index.
const namesTaken = `SELECT k.value ->> 3 FROM json_each($1) k WHERE EXISTS (SELECT 1 FROM documents d
	WHERE d.folder = k.value ->> 0 AND d.sort_name = k.value ->> 1 AND d.name = k.value ->> 2)`

// NamesTaken reports for each i whether a document in folders[i] has the name names[i].
func (q *Vault) NamesTaken(ctx context.Context, folders []uuid.UUID, names []string) ([]bool, error) {
	if err := q.Models.Trusted(ctx); err != nil {
		return nil, err
	}
	entries := make([][]any, len(names))
	for i, name := range names {
		entries[i] = []any{folders[i].String(), strings.ToLower(name), name, i}
	}
	b, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	found, err := projections.List(ctx, q.Models.Vault.DB(), func(i *int) []any { return []any{i} }, namesTaken, string(b))
	if err != nil {
		return nil, freshness.Wrap(err, "names of documents")
	}
	taken := make([]bool, len(names))
	for _, i := range found {
		taken[i] = true
	}
	return taken, nil
}
