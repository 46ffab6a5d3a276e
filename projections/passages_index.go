package projections

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/projections/searchindex"
)

// Position returns up to where the search index holds everything. Of one that
// does not answer it is where it was last: what it lost shows when it does.
func (p *Passages) Position(ctx context.Context, tables Tables) (events.Position, error) {
	position, held, err := p.positions(ctx, tables)
	if fault.Is(err, fault.Unavailable) {
		return held, nil
	}
	return position, err
}

// positions returns where the search index is and where it was, and
// searchindex.ErrDamaged where it has gone back.
func (p *Passages) positions(ctx context.Context, tables Tables) (position, held events.Position, err error) {
	if err := tables.QueryRow(ctx, `SELECT position FROM indexed`).Scan(&held); err != nil {
		return 0, 0, err
	}
	if position, err = p.Engine.Position(ctx); err != nil {
		return 0, held, err
	}
	if position < held {
		return 0, held, fmt.Errorf("%w: the search index is at position %d, and was at %d", searchindex.ErrDamaged, position, held)
	}
	return position, held, nil
}

// Close closes the search engine.
func (p *Passages) Close() error { return p.Engine.Close() }

// PassageID returns the id of a passage: document, the version that made its
// content, section, and number within the section.
func PassageID(document string, version, section, number int) string {
	return document + "/" + strconv.Itoa(version) + "/" + strconv.Itoa(section) + "/" + strconv.Itoa(number)
}

// passageID is PassageID of a row of passages.
const passageID = `document || '/' || version || '/' || section || '/' || number`

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
	// deferredPassages and deferredBytes bound what Later does at a time: what is
	// new waits for it. Documents of so many passages are left to it.
	deferredPassages = 500
	deferredBytes    = 1 << 20
	// smallPassages are those of a document that is never left to it for its size.
	smallPassages = 20
)

// Flush gives the index what the tables hold and it does not, a bounded batch
// at a time, and then its position. What Later does is not waited for.
func (p *Passages) Flush(ctx context.Context, tables Tables, through events.Position) error {
	f, err := p.newFlush(ctx, tables)
	if err != nil {
		return err
	}
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
	if f.empty() && through-f.batch.Position < restartLag {
		return nil
	}
	f.batch.Position = max(f.batch.Position, through)
	return f.finish(ctx)
}

// postpone leaves to Later what others would wait for: large documents, and
// those of middling size beyond one batch, however little of them is new. One
// that waits there already goes to the end, so that who changes his again and
// again holds up no other. An engine that takes much at once is given all at once.
func (p *Passages) postpone(ctx context.Context, tables Tables) error {
	if p.fills() {
		return nil
	}
	type sized struct {
		document string
		passages int
	}
	waiting, err := List(ctx, tables, func(s *sized) []any { return []any{&s.document, &s.passages} },
		`SELECT d.id, (SELECT count(*) FROM (SELECT 1 FROM passages p WHERE p.document = d.id AND p.version = d.version LIMIT CAST($1 AS INTEGER)) first) AS n
		FROM unindexed u JOIN documents d ON d.id = u.document ORDER BY n, u.id`, deferredPassages)
	if err != nil {
		return err
	}
	var list []string
	sum := 0
	for _, w := range waiting {
		if sum += w.passages; w.passages == deferredPassages || w.passages > smallPassages && sum > indexPassages {
			list = append(list, w.document)
		}
	}
	if len(list) == 0 {
		return nil
	}
	position, _, err := p.positions(ctx, tables)
	if err != nil {
		return err
	}
	return tables.Transaction(ctx, func(tx Tx) error {
		for _, id := range list {
			since := int64(position) + 1 // or before: what it lacks already is not known to the index either
			err := tx.QueryRow(ctx, `SELECT min(position) FROM (SELECT position FROM deferred WHERE document = $1 UNION ALL SELECT CAST($2 AS BIGINT)) all_of_it`, id, since).Scan(&since)
			if err == nil {
				err = errors.Join(
					tx.Exec(ctx, `DELETE FROM deferred WHERE document = $1`, id),
					tx.Exec(ctx, `INSERT INTO deferred (document, position) VALUES ($1, $2)`, id, since),
					tx.Exec(ctx, `DELETE FROM unindexed WHERE document = $1`, id),
				)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Later gives the index some of what it takes behind everything else, about one
// small batch.
func (p *Passages) Later(ctx context.Context, tables Tables) (more bool, err error) {
	waiting, err := Column(ctx, tables, `SELECT document FROM deferred ORDER BY id LIMIT CAST($1 AS INTEGER)`, deferredPassages)
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	f, err := p.newFlush(ctx, tables)
	if err != nil {
		return false, err
	}
	f.inPieces = !p.fills()
	for _, id := range waiting {
		if err := f.document(ctx, id); err != nil {
			return false, err
		}
		if len(f.batch.Put) >= deferredPassages || f.bytes >= deferredBytes {
			break
		}
	}
	failpoint.Here(failpoint.LabelsBehind)
	p.begun = nil // the engine may have taken some where it fails
	if err := f.finish(ctx); err != nil {
		return false, err
	}
	p.begun = f.begins
	failpoint.Here(failpoint.LabelsNoted)
	if f.replaces {
		err = p.Flush(ctx, tables, f.batch.Position) // forgets the text before
	}
	return true, err
}
