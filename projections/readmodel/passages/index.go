package passages

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/sqldb"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
)

// Position returns the position up to which the search index is up to date. If the
// index's server does not respond, Position returns the last known position. If the index
// was lost, that is then noticed later.
func (p *Projection) Position(ctx context.Context, tables readmodel.Tables) (events.Position, error) {
	if err := p.wait(ctx, tables); err != nil {
		return 0, err
	}
	position, held, err := p.positions(ctx, tables)
	if fault.Is(err, fault.Unavailable) {
		return held, nil
	}
	return position, err
}

// positions returns the position of the search index and, as held, the position that the
// tables have recorded for the index. The error is searchindex.ErrDamaged if position is
// below held.
func (p *Projection) positions(ctx context.Context, tables readmodel.Tables) (position, held events.Position, err error) {
	if err := tables.QueryRow(ctx, `SELECT position FROM indexed`).Scan(&held); err != nil {
		return 0, 0, err
	}
	if position, err = p.Engine.Position(ctx); err != nil {
		return 0, held, err
	}
	if position < held {
		return 0, held, fmt.Errorf("%w: the search index is at position %d, but was at %d before", searchindex.ErrDamaged, position, held)
	}
	return position, held, nil
}

// Close closes the search engine.
func (p *Projection) Close() error {
	if p.working != nil {
		<-p.working.applied // whatever the result is, the tables still list the changes
	}
	return p.Engine.Close()
}

// ID returns the id of a passage: the document, the version that set its text, the
// section, and the number within the section.
func ID(document string, version, section, number int) string {
	return document + "/" + strconv.Itoa(version) + "/" + strconv.Itoa(section) + "/" + strconv.Itoa(number)
}

// IDSQL is the SQL expression for the ID of a row of passages.
const IDSQL = `document || '/' || version || '/' || section || '/' || number`

// ParseID is the inverse of ID; ok is false for other strings.
func ParseID(id string) (document string, version, section, number int, ok bool) {
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
	indexPassages = 2000    // limit of a batch, in passages
	indexBytes    = 4 << 20 // limit of a batch, in bytes of text
	// restartLag is how far the position of the index may be behind the tables after
	// events that do not change the index. Not storing each of these positions saves a
	// write at every step. After a restart, the events are read again.
	restartLag = 10_000
	// deferredPassages and deferredBytes bound one piece of Later's work, because
	// new events wait for it. Documents with at least deferredPassages passages are
	// always left to Later.
	deferredPassages = 500
	deferredBytes    = 1 << 20
	// Documents with at most smallPassages passages are never deferred.
	smallPassages = 20
)

// Flush updates the index from the tables in bounded batches, and then sets its position.
// It leaves deferred documents to Later.
func (p *Projection) Flush(ctx context.Context, tables readmodel.Tables, through events.Position) error {
	if err := p.wait(ctx, tables); err != nil {
		return err
	}
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

// Postpone defers documents that would delay other documents: large ones, and medium ones
// that do not fit into one batch. It counts all passages of a document, even if only some
// have changed. A document that is already deferred moves to the end of the queue, so
// that a document which changes often does not delay others. Nothing is deferred for a
// searchindex.Filler.
func (p *Projection) Postpone(ctx context.Context, tables readmodel.Tables) error {
	if p.Fills() {
		return nil
	}
	if err := p.wait(ctx, tables); err != nil {
		return err
	}
	type sized struct {
		document string
		passages int
	}
	waiting, err := sqldb.List(ctx, tables, func(s *sized) []any { return []any{&s.document, &s.passages} },
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
	return tables.Transaction(ctx, func(tx readmodel.Tx) error {
		for _, id := range list {
			since := int64(position) + 1 // lowered below if the document was deferred before
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

// Later indexes about one small batch of deferred documents, and reports whether there
// were any.
func (p *Projection) Later(ctx context.Context, tables readmodel.Tables) (more bool, err error) {
	if err := p.wait(ctx, tables); err != nil {
		return false, err
	}
	waiting, err := sqldb.Column[string](ctx, tables, `SELECT document FROM deferred ORDER BY id LIMIT CAST($1 AS INTEGER)`, deferredPassages)
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	f, err := p.newFlush(ctx, tables)
	if err != nil {
		return false, err
	}
	f.inPieces = !p.Fills()
	for _, id := range waiting {
		if err := f.document(ctx, waitingDocument{id: id}); err != nil {
			return false, err
		}
		if len(f.batch.Put) >= deferredPassages || f.bytes >= deferredBytes {
			break
		}
	}
	failpoint.Here(failpoint.LabelsBehind)
	p.begun = nil // if the engine fails, it may have indexed a part of the document
	if err := f.finish(ctx); err != nil {
		return false, err
	}
	p.begun = f.begins
	failpoint.Here(failpoint.LabelsRecorded)
	if f.replaces {
		err = p.Flush(ctx, tables, f.batch.Position) // deletes the passages of the earlier text
	}
	return true, err
}

// Comparisons leaves out three things: row ids, which databases choose freely; the queues
// of the index, and passages of an earlier version, which remain until the index is up to
// date; texts that no document names, which may be removed from the log.
func (*Projection) Comparisons() []readmodel.Comparison {
	return []readmodel.Comparison{
		{Table: "folders", Query: `SELECT id, parent, deleted FROM folders ORDER BY id`, Keys: 1},
		{Table: "documents", Query: `SELECT d.id, d.folder, d.title, d.media_type, d.version, d.tags, t.stream AS text,
				CASE WHEN d.id IN (SELECT document FROM unindexed UNION ALL SELECT document FROM deferred) THEN d.version ELSE d.shown END AS shown
			FROM documents d LEFT JOIN texts t ON t.id = d.text ORDER BY d.id`, Keys: 1},
		{Table: "texts", Query: `SELECT stream, named FROM texts WHERE named = 1 ORDER BY stream`, Keys: 1},
		{Table: "sections", Query: `SELECT t.stream, s.section, s.part, s.level, s.title, s.path, s.start_page, s.breaks, s.text
			FROM texts t CROSS JOIN sections s WHERE s.text_id = t.id AND t.named = 1 ORDER BY t.stream, s.section, s.part`, Keys: 3},
		{Table: "sections of no text", Query: `SELECT id FROM sections WHERE text_id NOT IN (SELECT id FROM texts) ORDER BY id`, Keys: 1},
		{Table: "passages", Query: `SELECT p.document, p.version, p.section, p.number, p.start, p.length, p.start_page, p.end_page, t.stream, s.section AS of_section, s.part
			FROM passages p LEFT JOIN documents d ON d.id = p.document LEFT JOIN sections s ON s.id = p.row LEFT JOIN texts t ON t.id = s.text_id
			WHERE p.version IS NOT DISTINCT FROM d.version OR p.document NOT IN (SELECT document FROM unindexed UNION ALL SELECT document FROM deferred)
			ORDER BY p.document, p.version, p.section, p.number`, Keys: 4},
	}
}
