package passages

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/sqldb"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
)

// flush updates the index in batches. Nothing else changes the tables while it runs, except
// while the engine applies a batch of Advance.
type flush struct {
	*Projection
	tables    readmodel.Tables
	batch     searchindex.Batch
	bytes     int
	documents []indexedDocument   // documents that the batch completes
	above     map[string][]string // a folder and all folders above it, by its id
	replaces  bool                // some documents replace passages of earlier versions, which have to be deleted afterwards
	filled    *filled             // nil unless the engine is a searchindex.Filler
	inPieces  bool                // the last document may be indexed in pieces
	begins    *begunDocument      // the last document, if only a part of it is in the batch
	ahead     bool                // the engine applies each batch while the next one is prepared
	row       int64               // if ahead is set, the last row of unindexed that was read
	passage   string              // if ahead is set, the last row of forgotten that was read
}

// newFlush begins a batch of changes to the search index. It starts at the position of
// the index.
func (p *Projection) newFlush(ctx context.Context, tables readmodel.Tables) (*flush, error) {
	position, _, err := p.positions(ctx, tables)
	f := &flush{Projection: p, tables: tables, batch: searchindex.Batch{Position: position}, above: make(map[string][]string)}
	if engine, ok := p.Engine.(searchindex.Filler); ok {
		f.filled = &filled{engine: engine}
	}
	return f, err
}

// page adds some of the waiting documents and deletions to the batch, and reports whether
// more may be waiting.
func (f *flush) page(ctx context.Context) (more bool, err error) {
	const page = 500 // documents
	const forget = 2000
	f.replaces = false
	lastRow, lastPassage := f.filled.received()
	if f.ahead {
		lastRow, lastPassage = f.row, f.passage
	}
	gone, err := sqldb.Column[string](ctx, f.tables, `SELECT passage FROM forgotten WHERE passage > $2 ORDER BY passage LIMIT CAST($1 AS INTEGER)`, forget, lastPassage)
	if err != nil {
		return false, err
	}
	f.batch.Delete = append(f.batch.Delete, gone...) // applied in the same batch as the first documents
	if len(gone) > 0 {
		f.passage = gone[len(gone)-1]
	}
	waiting, err := sqldb.List(ctx, f.tables, func(w *waitingDocument) []any { return []any{&w.row, &w.id} },
		`SELECT id, document FROM unindexed WHERE id > $2 ORDER BY id LIMIT CAST($1 AS INTEGER)`, page, lastRow)
	if err != nil {
		return false, err
	}
	for _, w := range waiting {
		if err := f.document(ctx, w); err != nil {
			return false, err
		}
		f.row = w.row
	}
	f.filled.receive(waiting, gone)
	return len(waiting) == page || len(gone) == forget || f.replaces, nil
}

// waitingDocument is a row of the table unindexed: a document with changes that the index
// lacks. A document that Later indexes has no row.
type waitingDocument struct {
	row int64
	id  string
}

// empty reports whether the batch changes nothing but the position.
func (f *flush) empty() bool {
	return len(f.batch.Put) == 0 && len(f.batch.Delete) == 0 && len(f.documents) == 0 && f.filled.empty()
}

// apply applies the batch to the engine and marks it as done.
func (f *flush) apply(ctx context.Context) error {
	switch {
	case f.filled != nil:
		return f.fill(ctx)
	case f.ahead:
		return f.begin(ctx)
	}
	failpoint.Here(failpoint.IndexBehind)
	if err := f.Engine.Apply(ctx, f.batch); err != nil {
		return err
	}
	return f.done(ctx, f.batch.Delete, f.documents)
}

// finish applies the last batch.
func (f *flush) finish(ctx context.Context) error {
	if err := f.apply(ctx); err != nil || f.filled == nil {
		return err
	}
	return f.settle(ctx)
}

// done records that the engine has deleted the forgotten passages and indexed the
// documents, at the position of the batch. Then it begins the next batch.
func (f *flush) done(ctx context.Context, forgotten []string, documents []indexedDocument) error {
	err := record(ctx, f.tables, f.batch.Position, forgotten, documents)
	f.batch.Put, f.batch.Delete, f.documents, f.bytes = f.batch.Put[:0], nil, f.documents[:0], 0
	return err
}

// record marks changes as done that the engine has applied, at a position.
func record(ctx context.Context, tables readmodel.Tables, position events.Position, forgotten []string, documents []indexedDocument) error {
	failpoint.Here(failpoint.IndexAhead)
	if len(forgotten) > 0 {
		failpoint.Here(failpoint.PassagesDeleted)
	}
	err := tables.Transaction(ctx, func(tx readmodel.Tx) error {
		for _, id := range forgotten {
			if err := tx.Exec(ctx, `DELETE FROM forgotten WHERE passage = $1`, id); err != nil {
				return err
			}
		}
		for _, d := range documents {
			if err := d.complete(ctx, tx); err != nil {
				return err
			}
		}
		return tx.Exec(ctx, `UPDATE indexed SET position = $1`, position)
	})
	failpoint.Here(failpoint.IndexRecorded)
	return err
}

// indexedDocument is a document of which the index has all passages of the version.
type indexedDocument struct {
	id             string
	row            int64 // of unindexed, if the tables may have received events since it was read
	version, shown int
}

// complete switches searches in one step from the passages of the earlier version to
// those of this version.
func (d indexedDocument) complete(ctx context.Context, tx readmodel.Tx) error {
	if err := d.indexed(ctx, tx); err != nil || d.shown == d.version {
		return err
	}
	err := tx.Exec(ctx, `UPDATE documents SET shown = $2 WHERE id = $1`, d.id, d.version)
	if err != nil || d.version <= 1 {
		return err // there are no passages of an earlier version
	}
	return errors.Join(
		tx.Exec(ctx, `INSERT INTO forgotten (passage) SELECT `+IDSQL+` FROM passages WHERE document = $1 AND version < $2 ON CONFLICT DO NOTHING`, d.id, d.version),
		tx.Exec(ctx, `DELETE FROM passages WHERE document = $1 AND version < $2`, d.id, d.version),
	)
}

// indexed removes the document from those that wait for the index. If the tables may have
// received events since the document was read, an event may have listed it again: with
// another row in unindexed, or in deferred.
func (d indexedDocument) indexed(ctx context.Context, tx readmodel.Tx) error {
	if d.row > 0 {
		return tx.Exec(ctx, `DELETE FROM unindexed WHERE id = $2 AND document = $1`, d.id, d.row)
	}
	return errors.Join(
		tx.Exec(ctx, `DELETE FROM unindexed WHERE document = $1`, d.id),
		tx.Exec(ctx, `DELETE FROM deferred WHERE document = $1`, d.id),
	)
}

// document adds the passages of one document to the batch. Whenever the batch is full, it
// applies the batch.
func (f *flush) document(ctx context.Context, w waitingDocument) error {
	var folder, title, tags string
	id, d := w.id, indexedDocument{id: w.id}
	if f.ahead {
		d.row = w.row
	}
	err := f.tables.QueryRow(ctx, `SELECT folder, title, tags, version, shown FROM documents WHERE id = $1`, id).Scan(&folder, &title, &tags, &d.version, &d.shown)
	if errors.Is(err, sql.ErrNoRows) {
		f.documents = append(f.documents, d) // the document was deleted in the meantime
		return nil
	}
	if err != nil {
		return fmt.Errorf("read document %s for the index: %w", id, err)
	}
	whole := searchindex.Passage{Document: id, Title: title}
	if err := json.Unmarshal([]byte(tags), &whole.Tags); err != nil {
		return fmt.Errorf("read the tags of document %s: %w", id, err)
	}
	if whole.Folders, err = f.folderAndAbove(ctx, folder); err != nil {
		return err
	}
	after := passageRow{section: -1}
	if b := f.begun; b != nil && f.inPieces && b.version == d.version && reflect.DeepEqual(b.whole, whole) {
		after = b.through
	} else if b != nil && b.whole.Document == id {
		f.begun = nil // its folder, title or tags have changed
	}
	through, err := f.passages(ctx, whole, d.version, after)
	if err != nil {
		return err
	}
	if through != nil {
		f.begins = &begunDocument{whole, d.version, *through}
		return nil
	}
	f.documents = append(f.documents, d)
	f.replaces = f.replaces || d.shown != d.version && d.version > 1
	return nil
}

// passages adds the passages of a version of a document to the batch, except those up to
// the given row. whole has the fields that all of them share. If inPieces is set, it
// stops after one piece and returns the last row of that piece.
func (f *flush) passages(ctx context.Context, whole searchindex.Passage, version int, after passageRow) (through *passageRow, err error) {
	const page = deferredPassages
	for {
		rows, err := sqldb.List(ctx, f.tables, func(p *passageRow) []any { return []any{&p.section, &p.number, &p.part, &p.start, &p.length} },
			`SELECT section, number, row, start, length FROM passages
			 WHERE document = $1 AND version = $2 AND (section, number) > ($3, $4) ORDER BY section, number LIMIT CAST($5 AS INTEGER)`,
			whole.Document, version, after.section, after.number, page)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		parts, err := f.parts(ctx, rows)
		if err != nil {
			return nil, fmt.Errorf("read the text of document %s: %w", whole.Document, err)
		}
		for _, row := range rows {
			part, ok := parts[row.part]
			if !ok || row.start+row.length > len(part.text) {
				return nil, fmt.Errorf("passage %d of section %d of document %s has no text", row.number, row.section, whole.Document)
			}
			whole.ID = ID(whole.Document, version, row.section, row.number)
			whole.Section, whole.Text = part.path, string(part.text[row.start:row.start+row.length])
			if err := f.add(ctx, whole); err != nil {
				return nil, err
			}
			if f.inPieces && (len(f.batch.Put) >= deferredPassages || f.bytes >= deferredBytes) {
				return &row, nil
			}
		}
		if len(rows) < page {
			return nil, nil
		}
		after = rows[len(rows)-1]
	}
}

type passageRow struct {
	section, number int
	part            int64
	start, length   int
}

// textPart is a row of the table sections: a section, or a part of a long one.
type textPart struct {
	row  int64
	path string // first the titles as a JSON array, then joined
	text []byte
}

// parts returns the parts of sections that contain passages, by their rows. Several
// passages may be in one part, of which SQLite would read everything again for each.
func (f *flush) parts(ctx context.Context, passages []passageRow) (map[int64]textPart, error) {
	rows := make([]int64, len(passages))
	for i, p := range passages {
		rows[i] = p.part
	}
	found, err := sqldb.List(ctx, f.tables, func(p *textPart) []any { return []any{&p.row, &p.path, &p.text} },
		`SELECT s.id, s.path, s.text FROM json_each($1) k CROSS JOIN sections s WHERE s.id = CAST(k.value AS BIGINT)`, readmodel.JSONText(slices.Compact(rows)))
	parts := make(map[int64]textPart, len(found))
	for _, p := range found {
		var titles []string
		if err == nil {
			err = json.Unmarshal([]byte(p.path), &titles)
		}
		p.path = strings.Join(titles, " > ")
		parts[p.row] = p
	}
	return parts, err
}

func (f *flush) add(ctx context.Context, p searchindex.Passage) error {
	f.batch.Put = append(f.batch.Put, p)
	f.bytes += len(p.Text)
	passages, bytes := indexPassages, indexBytes
	if f.ahead {
		passages, bytes = advancePassages, advanceBytes
	}
	if len(f.batch.Put) < passages && f.bytes < bytes {
		return nil
	}
	return f.apply(ctx)
}

// folderAndAbove returns the ids of a folder and of all folders above it.
func (f *flush) folderAndAbove(ctx context.Context, folder string) (ids []string, err error) {
	ids, known := f.above[folder]
	if known {
		return ids, nil
	}
	ids, err = sqldb.Column[string](ctx, f.tables,
		`WITH RECURSIVE up (id) AS (SELECT coalesce(max(id), $1) FROM folders WHERE id = $1 UNION ALL SELECT folders.parent FROM folders JOIN up ON folders.id = up.id WHERE folders.parent <> '') SELECT id FROM up LIMIT 100`, folder)
	if err == nil {
		f.above[folder] = ids
	}
	return ids, err
}
