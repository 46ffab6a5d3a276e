package verify

import (
	"context"
	"errors"
	"fmt"

	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb"
	"annals/projections/generation"

	"github.com/google/uuid"
)

// texts checks that every version of every existing document has all of its text.
func (v *Verifier) texts(ctx context.Context, vault, texts *model) error {
	return v.check("texts", func(c *Check) error {
		var total int64
		if err := vault.fresh.Store().Reads().QueryRowContext(ctx, `SELECT count(*) FROM documents`).Scan(&total); err != nil {
			return err
		}
		documents, versions, after := 0, 0, ""
		for {
			const page = 500
			ids, err := sqldb.Column[string](ctx, vault.fresh.Store().Reads(), `SELECT id FROM documents WHERE id > $1 ORDER BY id LIMIT CAST($2 AS INTEGER)`, after, page)
			if err != nil || len(ids) == 0 {
				c.Counts = fmt.Sprintf("%d texts of %d documents", versions, documents)
				return err
			}
			for _, id := range ids {
				n, err := v.checkTexts(ctx, id, texts.fresh, c.problem)
				if err != nil {
					return err
				}
				versions += n
			}
			documents += len(ids)
			after = ids[len(ids)-1]
			v.Progress("texts", int64(documents), total)
		}
	})
}

// checkTexts checks all texts that the events of a document refer to.
func (v *Verifier) checkTexts(ctx context.Context, document string, texts *generation.Generation, problem func(string)) (versions int, err error) {
	id, err := uuid.Parse(document)
	if err != nil {
		return 0, err
	}
	err = v.Log.ReadStream(ctx, events.DocumentStream(id), 0, func(e events.Event) error {
		content, ok := events.ContentOf(e.Data)
		if !ok || e.Position > texts.Position() { // the text was added during the check
			return nil
		}
		versions++
		var sections int
		err := texts.Store().QueryRow(ctx, `SELECT count(DISTINCT section) FROM sections WHERE text_id = (SELECT id FROM texts WHERE stream = $1)`, content.TextStream).Scan(&sections)
		if err == nil && sections != content.Sections {
			problem(fmt.Sprintf("event %d of %s refers to %s with %d sections, but %d exist", e.Revision, e.Stream, content.TextStream, content.Sections, sections))
		}
		return err
	})
	if errors.Is(err, events.ErrUnreadable) {
		problem(fmt.Sprintf("document %s: %v", document, err))
		err = nil
	}
	return versions, err
}

// originals checks that the originals of every version of every existing document
// exist.
func (v *Verifier) originals(ctx context.Context, vault *model) error {
	return v.check("originals", func(c *Check) error {
		var total int64
		if err := vault.fresh.Store().Reads().QueryRowContext(ctx, `SELECT count(*) FROM (SELECT sha256 FROM documents UNION ALL SELECT sha256 FROM versions)`).Scan(&total); err != nil {
			return err
		}
		var seen, bytes int64
		for _, from := range []string{`documents WHERE sha256 > $1`, `versions WHERE sha256 > $1 AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.sha256 = versions.sha256)`} {
			after := ""
			for {
				const page = 500
				kept, err := sqldb.List(ctx, vault.fresh.Store().Reads(), func(k *keptOriginal) []any { return []any{&k.sha256, &k.size} },
					`SELECT sha256, max(size) FROM `+from+` GROUP BY sha256 ORDER BY sha256 LIMIT CAST($2 AS INTEGER)`, after, page)
				if err != nil {
					return err
				}
				if len(kept) == 0 {
					break
				}
				for _, k := range kept {
					if err := v.original(ctx, vault, k, c.problem); err != nil {
						return err
					}
					seen++
					bytes += k.size
					v.Progress("originals", seen, total)
				}
				after = kept[len(kept)-1].sha256
			}
		}
		c.Counts = fmt.Sprintf("%d originals of %d bytes", seen, bytes)
		return nil
	})
}

type keptOriginal struct {
	sha256 string
	size   int64
}

// original checks one original. If it is missing, its document may have been deleted in
// the meantime, so original reads the latest events of the log to find out.
func (v *Verifier) original(ctx context.Context, vault *model, k keptOriginal, problem func(string)) error {
	wrong := v.Original(ctx, k.sha256, k.size)
	if wrong == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	head, err := v.Log.Head(ctx)
	if err == nil {
		err = vault.foldTo(ctx, head, nil)
	}
	var owners []string
	if err == nil {
		owners, err = sqldb.Column[string](ctx, vault.fresh.Store().Reads(), `SELECT id FROM documents WHERE sha256 = $1 UNION ALL SELECT document FROM versions WHERE sha256 = $1 LIMIT 1`, k.sha256)
	}
	if err != nil || len(owners) == 0 {
		return err
	}
	problem(fmt.Sprintf("document %s: %s", owners[0], fault.Detail(wrong)))
	return nil
}
