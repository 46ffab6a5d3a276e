package vault

import (
	"context"
	"encoding/base64"
	"math"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/queries/access"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// DocumentFilter chooses the documents of a listing.
type DocumentFilter struct {
	Folder *uuid.UUID // nil means the top level, or with Tag all folders
	Tag    string
	Limit  int    // 0 means all
	Cursor string // returned with the previous page; "" for the first page
}

// Documents lists documents by name. Without a limit it lists all documents, with a
// limit one page; next is then the cursor of the next page, "" on the last one. The
// error is fault.NotFound if the folder does not exist or may not be read. Without a
// folder and a tag the list is empty, because the top level contains no documents.
func (q *Vault) Documents(ctx context.Context, user events.User, f DocumentFilter) (docs []Document, next string, err error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, "", err
	}
	if f.Folder != nil {
		if ok, err := v.MayRead(ctx, f.Folder.String()); !ok || err != nil {
			return nil, "", access.OrNotFound(err, "folder", f.Folder)
		}
	} else if f.Tag == "" {
		return []Document{}, "", nil
	}
	after, err := parseCursor(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	docs, next, err = v.page(ctx, f, after)
	return docs, next, freshness.Wrap(err, "documents")
}

// FROM clauses for a page of documents: one folder ($4), or all readable folders ($4,
// JSON), searched either by folder or, for a rare tag ($5), by tag.
const (
	inFolder       = `documents d WHERE d.folder = $4`
	inFolderTagged = inFolder + andTagged
	inFolders      = `json_each($4) k CROSS JOIN documents d WHERE d.folder = k.value` + andTagged
	withTag        = `tags t CROSS JOIN documents d WHERE d.id = t.document AND t.tag = $5 AND d.folder IN (SELECT value FROM json_each($4))`
	andTagged      = ` AND EXISTS (SELECT 1 FROM tags t WHERE t.tag = $5 AND t.document = d.id)`
)

// pageQuery returns a query that finds the ids of a page in an index, and then reads
// only the rows with these ids.
func pageQuery(from string) string {
	return documentColumns + `WHERE d.id IN (SELECT d.id FROM ` + from + ` AND (d.sort_name, d.id) > ($1, $2)` + byDocumentName + ` LIMIT CAST($3 AS INTEGER))` + byDocumentName
}

// page lists documents of folders that the user may read.
func (v *viewer) page(ctx context.Context, f DocumentFilter, after cursor) (docs []Document, next string, err error) {
	limit := math.MaxInt32
	if f.Limit > 0 {
		limit = f.Limit + 1 // one more, to detect a next page
	}
	from, args := inFolder, []any{after.name, after.id, limit}
	switch {
	case f.Folder != nil && f.Tag == "":
		args = append(args, f.Folder.String())
	case f.Folder != nil:
		from, args = inFolderTagged, append(args, f.Folder.String(), f.Tag)
	default:
		folders, err := v.Readable(ctx)
		if err != nil {
			return nil, "", err
		}
		if from, err = v.tagged(ctx, f.Tag); err != nil {
			return nil, "", err
		}
		args = append(args, folders, f.Tag)
	}
	rows, err := projections.List(ctx, v.DB, (*documentRow).fields, pageQuery(from), args...)
	if err != nil {
		return nil, "", err
	}
	if f.Limit > 0 && len(rows) > f.Limit {
		rows = rows[:f.Limit]
		last := rows[f.Limit-1]
		next = cursor{last.sortName, last.id}.String()
	}
	docs, err = v.visible(ctx, rows)
	return docs, next, err
}

// A listing checks up to fewTagged documents with a tag one by one. If there are more,
// it searches the folders that the user may read.
const fewTagged = 2000

// tagged returns the FROM clause to search for documents with a tag.
func (v *viewer) tagged(ctx context.Context, tag string) (from string, err error) {
	var n int
	err = v.DB.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM tags WHERE tag = $1 LIMIT CAST($2 AS INTEGER)) few`, tag, fewTagged+1).Scan(&n)
	if n > fewTagged {
		return inFolders, err
	}
	return withTag, err
}

// cursor marks the end of a page of documents.
type cursor struct{ name, id string }

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.id + c.name))
}

const idLength = 36

func parseCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) < idLength {
		return cursor{}, fault.Errorf(fault.Invalid, "cursor must come from a Link header of this listing")
	}
	return cursor{id: string(b[:idLength]), name: string(b[idLength:])}, nil
}
