package projections

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"annals/events/failpoint"
	"annals/projections/searchindex"
)

// flush is one change of the index under way, during which the tables change
// by it alone.
type flush struct {
	*Passages
	tables    Tables
	batch     searchindex.Batch
	bytes     int
	documents []indexedDocument   // those that the batch completes
	above     map[string][]string // folders by one in or below them
	replaces  bool                // completing them leaves passages of earlier versions to forget
	filled    *filled             // nil where the engine takes batch after batch
	inPieces  bool                // the last document need not be given whole
	begins    *begunDocument      // that one
}

func (p *Passages) newFlush(ctx context.Context, tables Tables) (*flush, error) {
	position, _, err := p.positions(ctx, tables)
	f := &flush{Passages: p, tables: tables, batch: searchindex.Batch{Position: position}, above: make(map[string][]string)}
	if engine, ok := p.Engine.(searchindex.Filler); ok {
		f.filled = &filled{engine: engine}
	}
	return f, err
}

// page takes up some of what waits and reports whether there may be more.
func (f *flush) page(ctx context.Context) (more bool, err error) {
	const page = 500 // documents
	const forget = 2000
	f.replaces = false
	taken, passed := f.filled.taken()
	gone, err := Column(ctx, f.tables, `SELECT passage FROM forgotten WHERE passage > $2 ORDER BY passage LIMIT CAST($1 AS INTEGER)`, forget, passed)
	if err != nil {
		return false, err
	}
	f.batch.Delete = gone // a document that fills the batch hands it over with them
	waiting, err := List(ctx, f.tables, func(w *waitingDocument) []any { return []any{&w.row, &w.id} },
		`SELECT id, document FROM unindexed WHERE id > $2 ORDER BY id LIMIT CAST($1 AS INTEGER)`, page, taken)
	if err != nil {
		return false, err
	}
	for _, w := range waiting {
		if err := f.document(ctx, w.id); err != nil {
			return false, err
		}
	}
	f.filled.take(waiting, gone)
	return len(waiting) == page || len(gone) == forget || f.replaces, nil
}

// waitingDocument is a row of unindexed.
type waitingDocument struct {
	row int64
	id  string
}

// empty reports whether the batch changes nothing but the position.
func (f *flush) empty() bool {
	return len(f.batch.Put) == 0 && len(f.batch.Delete) == 0 && len(f.documents) == 0 && f.filled.empty()
}

// apply hands the batch to the engine, and then strikes it off what waits.
func (f *flush) apply(ctx context.Context) error {
	if f.filled != nil {
		return f.fill(ctx)
	}
	failpoint.Here(failpoint.IndexBehind)
	if err := f.Engine.Apply(ctx, f.batch); err != nil {
		return err
	}
	return f.strike(ctx, f.batch.Delete, f.documents)
}

// finish is apply of the last batch.
func (f *flush) finish(ctx context.Context) error {
	if err := f.apply(ctx); err != nil || f.filled == nil {
		return err
	}
	return f.settle(ctx)
}

// strike notes that the engine has forgotten passages and holds all of
// documents, at the position of the batch, and begins another batch.
func (f *flush) strike(ctx context.Context, forgotten []string, documents []indexedDocument) error {
	failpoint.Here(failpoint.IndexAhead)
	if len(forgotten) > 0 {
		failpoint.Here(failpoint.IndexForgot)
	}
	err := f.tables.Transaction(ctx, func(tx Tx) error {
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
		return tx.Exec(ctx, `UPDATE indexed SET position = $1`, f.batch.Position)
	})
	failpoint.Here(failpoint.IndexNoted)
	f.batch.Put, f.batch.Delete, f.documents, f.bytes = f.batch.Put[:0], nil, f.documents[:0], 0
	return err
}

// indexedDocument is a document of which the index holds all passages of its
// version.
type indexedDocument struct {
	id             string
	version, shown int
}

// complete lets the document be found by these passages from now on, and no
// longer by those of an earlier version, in one step.
func (d indexedDocument) complete(ctx context.Context, tx Tx) error {
	err := errors.Join(
		tx.Exec(ctx, `DELETE FROM unindexed WHERE document = $1`, d.id),
		tx.Exec(ctx, `DELETE FROM deferred WHERE document = $1`, d.id),
	)
	if err != nil || d.shown == d.version {
		return err
	}
	return errors.Join(
		tx.Exec(ctx, `INSERT INTO forgotten (passage) SELECT `+passageID+` FROM passages WHERE document = $1 AND version < $2 ON CONFLICT DO NOTHING`, d.id, d.version),
		tx.Exec(ctx, `DELETE FROM passages WHERE document = $1 AND version < $2`, d.id, d.version),
		tx.Exec(ctx, `UPDATE documents SET shown = $2 WHERE id = $1`, d.id, d.version),
	)
}

// document adds the passages of one document to the batch, which it hands over
// whenever it is full.
func (f *flush) document(ctx context.Context, id string) error {
	var folder, title, tags string
	d := indexedDocument{id: id}
	err := f.tables.QueryRow(ctx, `SELECT folder, title, tags, version, shown FROM documents WHERE id = $1`, id).Scan(&folder, &title, &tags, &d.version, &d.shown)
	if errors.Is(err, sql.ErrNoRows) {
		f.documents = append(f.documents, d) // it is gone by now
		return nil
	}
	if err != nil {
		return fmt.Errorf("document %s of the index: %w", id, err)
	}
	whole := searchindex.Passage{Document: id, Title: title}
	if err := json.Unmarshal([]byte(tags), &whole.Tags); err != nil {
		return fmt.Errorf("tags of document %s: %w", id, err)
	}
	if whole.Folders, err = f.folderAndAbove(ctx, folder); err != nil {
		return err
	}
	after := passageRow{section: -1}
	if b := f.begun; b != nil && f.inPieces && b.version == d.version && reflect.DeepEqual(b.whole, whole) {
		after = b.through
	} else if b != nil && b.whole.Document == id {
		f.begun = nil // labelled otherwise from now on
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

// passages adds those of one version of a document after a row, which whole
// describes. In pieces it returns the row that it got to where there may be more.
func (f *flush) passages(ctx context.Context, whole searchindex.Passage, version int, after passageRow) (through *passageRow, err error) {
	var part textPart
	for {
		const page = 1000
		rows, err := List(ctx, f.tables, func(p *passageRow) []any { return []any{&p.section, &p.number, &p.part, &p.start, &p.length} },
			`SELECT section, number, row, start, length FROM passages
			 WHERE document = $1 AND version = $2 AND (section, number) > ($3, $4) ORDER BY section, number LIMIT CAST($5 AS INTEGER)`,
			whole.Document, version, after.section, after.number, page)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		for _, row := range rows {
			// Many passages are of one part, which SQLite would read whole
			// for each of them.
			if row.part != part.row {
				if part, err = f.part(ctx, row.part); err != nil {
					return nil, fmt.Errorf("section %d of document %s: %w", row.section, whole.Document, err)
				}
			}
			whole.ID = PassageID(whole.Document, version, row.section, row.number)
			whole.Section, whole.Text = part.path, string(part.text[row.start:row.start+row.length])
			if err := f.add(ctx, whole); err != nil {
				return nil, err
			}
			if f.inPieces && (len(f.batch.Put) >= deferredPassages || f.bytes >= deferredBytes) {
				return &row, nil
			}
		}
		after = rows[len(rows)-1]
	}
}

type passageRow struct {
	section, number int
	part            int64
	start, length   int
}

// textPart is one row of sections.
type textPart struct {
	row  int64
	path string
	text []byte
}

func (f *flush) part(ctx context.Context, row int64) (textPart, error) {
	p := textPart{row: row}
	var titles string
	if err := f.tables.QueryRow(ctx, `SELECT path, text FROM sections WHERE id = $1`, row).Scan(&titles, &p.text); err != nil {
		return p, err
	}
	var path []string
	err := json.Unmarshal([]byte(titles), &path)
	p.path = strings.Join(path, " > ")
	return p, err
}

func (f *flush) add(ctx context.Context, p searchindex.Passage) error {
	f.batch.Put = append(f.batch.Put, p)
	f.bytes += len(p.Text)
	if len(f.batch.Put) < indexPassages && f.bytes < indexBytes {
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
	ids, err = Column(ctx, f.tables,
		`WITH RECURSIVE up (id) AS (SELECT coalesce(max(id), $1) FROM folders WHERE id = $1 UNION ALL SELECT folders.parent FROM folders JOIN up ON folders.id = up.id WHERE folders.parent <> '') SELECT id FROM up LIMIT 100`, folder)
	if err == nil {
		f.above[folder] = ids
	}
	return ids, err
}
