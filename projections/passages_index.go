package projections

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"annals/events"
	"annals/projections/searchindex"
)

// Position returns up to where the search index holds everything.
func (p *Passages) Position(ctx context.Context, tables Tables) (events.Position, error) {
	position, err := p.Engine.Position(ctx)
	if err != nil {
		return 0, err
	}
	var held events.Position
	if err := tables.QueryRow(ctx, `SELECT position FROM indexed`).Scan(&held); err != nil {
		return 0, err
	}
	if position < held {
		return 0, fmt.Errorf("the search index is at position %d, and was at %d", position, held)
	}
	return position, nil
}

// Close closes the search engine.
func (p *Passages) Close() error { return p.Engine.Close() }

// PassageID returns the id of a passage: document, the version that made its
// content, section, and number within the section.
func PassageID(document string, version, section, number int) string {
	return document + "/" + strconv.Itoa(version) + "/" + strconv.Itoa(section) + "/" + strconv.Itoa(number)
}

// ParsePassageID is the inverse of PassageID; ok is false for other texts.
func ParsePassageID(id string) (document string, version, section, number int, ok bool) {
	fields := strings.Split(id, "/")
	if len(fields) != 4 {
		return "", 0, 0, 0, false
	}
	var n [3]int
	for i, f := range fields[1:] {
		var err error
		if n[i], err = strconv.Atoi(f); err != nil {
			return "", 0, 0, 0, false
		}
	}
	return fields[0], n[0], n[1], n[2], true
}

const (
	indexPassages = 2000    // most passages in one batch of the index
	indexBytes    = 4 << 20 // most bytes of text in one
	// restartLag is how many positions the index may be behind the tables
	// when nothing of it changed: what is read again at a restart instead of
	// written at every step.
	restartLag = 10_000
)

// Flush gives the index what the tables hold and it does not, a bounded batch
// at a time, and then its position.
func (p *Passages) Flush(ctx context.Context, tables Tables, through events.Position) error {
	position, err := p.Engine.Position(ctx)
	if err != nil {
		return err
	}
	f := flush{Passages: p, tables: tables, batch: searchindex.Batch{Position: position}}
	for {
		more, err := f.page(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := f.apply(ctx); err != nil {
			return err
		}
	}
	if f.empty() && through-position < restartLag {
		return nil
	}
	f.batch.Position = max(position, through)
	return f.apply(ctx)
}

type flush struct {
	*Passages
	tables    Tables
	batch     searchindex.Batch
	bytes     int
	documents []int64 // rows of unindexed that the batch completes
}

// page takes up some of what waits and reports whether there may be more.
func (f *flush) page(ctx context.Context) (more bool, err error) {
	const page = 500
	f.batch.Delete, err = Column(ctx, f.tables, `SELECT passage FROM forgotten LIMIT +$1`, page)
	if err != nil {
		return false, err
	}
	waiting, err := List(ctx, f.tables, func(u *unindexed) []any { return []any{&u.row, &u.document} },
		`SELECT id, document FROM unindexed ORDER BY id LIMIT +$1`, page)
	if err != nil {
		return false, err
	}
	for _, u := range waiting {
		if err := f.document(ctx, u.document); err != nil {
			return false, err
		}
		f.documents = append(f.documents, u.row)
	}
	return len(waiting) == page || len(f.batch.Delete) == page, nil
}

// empty reports whether the batch changes nothing but the position.
func (f *flush) empty() bool {
	return len(f.batch.Put) == 0 && len(f.batch.Delete) == 0 && len(f.documents) == 0
}

type unindexed struct {
	row      int64
	document string
}

// apply hands the batch to the engine, and then strikes it off what waits.
func (f *flush) apply(ctx context.Context) error {
	if err := f.Engine.Apply(ctx, f.batch); err != nil {
		return err
	}
	err := f.tables.Transaction(ctx, func(tx Tx) error {
		for _, id := range f.batch.Delete {
			if err := tx.Exec(ctx, `DELETE FROM forgotten WHERE passage = $1`, id); err != nil {
				return err
			}
		}
		for _, row := range f.documents {
			if err := tx.Exec(ctx, `DELETE FROM unindexed WHERE id = $1`, row); err != nil {
				return err
			}
		}
		return tx.Exec(ctx, `UPDATE indexed SET position = $1`, f.batch.Position)
	})
	f.batch.Put, f.batch.Delete, f.documents, f.bytes = f.batch.Put[:0], nil, f.documents[:0], 0
	return err
}

// document adds the passages of one document to the batch, which it hands over
// whenever it is full.
func (f *flush) document(ctx context.Context, id string) error {
	var folder, title, tags string
	var version int
	err := f.tables.QueryRow(ctx, `SELECT folder, title, tags, version FROM documents WHERE id = $1`, id).Scan(&folder, &title, &tags, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it is gone by now
	}
	if err != nil {
		return fmt.Errorf("document %s of the index: %w", id, err)
	}
	whole := searchindex.Passage{Document: id, Title: title}
	if err := json.Unmarshal([]byte(tags), &whole.Tags); err != nil {
		return fmt.Errorf("tags of document %s: %w", id, err)
	}
	if whole.Folders, err = folderAndAbove(ctx, f.tables, folder); err != nil {
		return err
	}
	after := passageRow{section: -1}
	var part textPart
	for {
		const page = 1000
		rows, err := List(ctx, f.tables, func(p *passageRow) []any { return []any{&p.section, &p.number, &p.part, &p.start, &p.length} },
			`SELECT section, number, row, start, length FROM passages
			 WHERE document = $1 AND (section, number) > ($2, $3) ORDER BY section, number LIMIT +$4`, id, after.section, after.number, page)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			// Many passages are of one part, which SQLite would read whole
			// for each of them.
			if row.part != part.row {
				if part, err = f.part(ctx, row.part); err != nil {
					return fmt.Errorf("section %d of document %s: %w", row.section, id, err)
				}
			}
			whole.ID = PassageID(id, version, row.section, row.number)
			whole.Section, whole.Text = part.path, string(part.text[row.start:row.start+row.length])
			if err := f.add(ctx, whole); err != nil {
				return err
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
func folderAndAbove(ctx context.Context, tx Tx, folder string) ([]string, error) {
	return Column(ctx, tx,
		`WITH RECURSIVE up (id) AS (SELECT $1 UNION ALL SELECT folders.parent FROM folders JOIN up ON folders.id = up.id WHERE folders.parent <> '') SELECT id FROM up LIMIT 100`, folder)
}
