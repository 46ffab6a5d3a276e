package vault

import (
	"context"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/queries/access"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// RereadFilter chooses documents whose originals may be worth reading again.
type RereadFilter struct {
	Folder *uuid.UUID // with all folders below it; nil means all folders
	// With Unread, documents that have scanned pages that were not read are chosen; with
	// Before, those that were read by an extractor of an earlier version. With both, either
	// is enough; with neither, all documents are chosen.
	Unread bool
	Before int
	Limit  int
	Cursor string // returned with the previous page; "" for the first page
}

// toReread is a query for a page of documents in the folders $2 (JSON). If $3 is 0, it does
// not require that a document has unread pages ($4 is 1), or an extractor before $5.
const toReread = documentColumns + `WHERE d.id > $1 AND d.folder IN (SELECT value FROM json_each($2))
	AND (CAST($3 AS INTEGER) = 0 OR CAST($4 AS INTEGER) = 1 AND d.unread > 0 OR d.extractor < CAST($5 AS INTEGER)) ORDER BY d.id LIMIT CAST($6 AS INTEGER)`

// DocumentsToReread lists documents that the user may change, ordered by id. next is the
// cursor of the next page, "" on the last one. A page may have fewer documents than the
// limit, or none. The error is fault.NotFound if the folder does not exist or may not be read.
func (q *Vault) DocumentsToReread(ctx context.Context, user events.User, f RereadFilter) (docs []Document, next string, err error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, "", err
	}
	if _, err := uuid.Parse(f.Cursor); f.Cursor != "" && err != nil {
		return nil, "", fault.Errorf(fault.Invalid, "cursor must come from an earlier reply")
	}
	scope := ""
	if f.Folder != nil {
		path, readable, err := v.Path(ctx, f.Folder.String())
		if err != nil || !readable {
			return nil, "", access.OrNotFound(err, "folder", f.Folder)
		}
		scope = path
	}
	folders, err := v.ReadableWithin(ctx, scope)
	if err != nil {
		return nil, "", freshness.Wrap(err, "folders")
	}
	rows, err := projections.List(ctx, v.DB, (*documentRow).fields, toReread,
		f.Cursor, folders, flag(f.Unread || f.Before > 0), flag(f.Unread), f.Before, f.Limit+1)
	if err != nil {
		return nil, "", freshness.Wrap(err, "documents")
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		next = rows[f.Limit-1].id
	}
	writable := rows[:0]
	for _, r := range rows {
		ok, err := v.MayWrite(ctx, r.folder)
		if err != nil {
			return nil, "", freshness.Wrap(err, "folder")
		}
		if ok {
			writable = append(writable, r)
		}
	}
	docs, err = v.visible(ctx, writable)
	return docs, next, freshness.Wrap(err, "documents")
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}
