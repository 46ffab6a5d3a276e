package vault

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

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
	Name   string // a part of the names, in upper or lower case; "" for all
	Sort   Sort   // "" means ByName
	Desc   bool   // in descending order
	Limit  int    // 0 means all
	Cursor string // returned with the previous page; "" for the first page
}

// Sort is the order of a listing of documents. Documents that are equal in it are sorted by id.
type Sort string

// The orders of a listing of documents.
const (
	ByName      Sort = "name" // without regard to case
	ByCreatedAt Sort = "createdAt"
	ByUpdatedAt Sort = "updatedAt"
	BySize      Sort = "size"
)

// Sorts are all orders of a listing of documents.
var Sorts = []Sort{ByName, ByCreatedAt, ByUpdatedAt, BySize}

// order is how a listing is sorted in SQL.
type order struct {
	key        string // column
	of         func(*documentRow) string
	first, end any // below and above all values of key
	parse      func(string) (any, error)
	desc       bool
}

// The largest text of a key: names and times contain no such character.
const lastText = "\U0010FFFF"

func orderOf(f DocumentFilter) order {
	text := order{first: "", end: lastText, desc: f.Desc, parse: func(s string) (any, error) { return s, nil }}
	switch f.Sort {
	case ByCreatedAt:
		text.key, text.of = "created_at", func(d *documentRow) string { return d.created }
	case ByUpdatedAt:
		text.key, text.of = "updated_at", func(d *documentRow) string { return d.updated }
	case BySize:
		return order{"size", func(d *documentRow) string { return strconv.FormatInt(d.Size, 10) }, int64(-1), int64(math.MaxInt64),
			func(s string) (any, error) { return strconv.ParseInt(s, 10, 64) }, f.Desc}
	default:
		text.key, text.of = "sort_name", func(d *documentRow) string { return d.sortName }
	}
	return text
}

// start returns the arguments of pageQuery for the page after a cursor.
func (o order) start(after cursor) (key, id any, err error) {
	switch {
	case after != cursor{}:
		if key, err = o.parse(after.key); err != nil {
			err = errCursor
		}
		return key, after.id, err
	case o.desc:
		return o.end, "", nil
	}
	return o.first, "", nil
}

// by returns the ORDER BY clause.
func (o order) by() string {
	if o.desc {
		return " ORDER BY d." + o.key + " DESC, d.id DESC"
	}
	return " ORDER BY d." + o.key + ", d.id"
}

// Documents lists documents, by name unless f.Sort says otherwise. Without a limit it lists all documents, with a
// limit one page; next is then the cursor of the next page, "" on the last one. The
// error is fault.NotFound if the folder does not exist or may not be read. Without a
// folder and a tag the list is empty, because the top level contains no documents.
func (q *Vault) Documents(ctx context.Context, user events.User, f DocumentFilter) (docs []Document, next string, err error) {
	v, listed, err := q.lister(ctx, user, f)
	if err != nil || !listed {
		return []Document{}, "", err
	}
	after, err := parseCursor(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	docs, next, err = v.page(ctx, f, after)
	return docs, next, freshness.Wrap(err, "documents")
}

// CountDocuments returns how many documents Documents lists on all pages.
func (q *Vault) CountDocuments(ctx context.Context, user events.User, f DocumentFilter) (n int, err error) {
	v, listed, err := q.lister(ctx, user, f)
	if err != nil || !listed {
		return 0, err
	}
	f.Limit = 0
	o := orderOf(f)
	from, args, err := v.chosen(ctx, f, o, cursor{})
	if err == nil {
		err = v.DB.QueryRowContext(ctx, `SELECT count(*) FROM (`+idQuery(from, o)+`) ids`, args...).Scan(&n)
	}
	return n, freshness.Wrap(err, "number of documents")
}

// lister returns a viewer of a listing. listed is false if the listing is empty for every user. The error is
// fault.NotFound if the folder does not exist or may not be read.
func (q *Vault) lister(ctx context.Context, user events.User, f DocumentFilter) (v *viewer, listed bool, err error) {
	if v, err = q.viewer(ctx, user); err != nil || f.Folder == nil {
		return v, f.Tag != "", err
	}
	ok, err := v.MayRead(ctx, f.Folder.String())
	if !ok || err != nil {
		return nil, false, access.OrNotFound(err, "folder", f.Folder)
	}
	return v, true, nil
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
func pageQuery(from string, o order) string {
	return documentColumns + `WHERE d.id IN (` + idQuery(from, o) + `)` + o.by()
}

func idQuery(from string, o order) string {
	than := ">"
	if o.desc {
		than = "<"
	}
	return `SELECT d.id FROM ` + from + ` AND (d.` + o.key + `, d.id) ` + than + ` ($1, $2)` + o.by() + ` LIMIT CAST($3 AS INTEGER)`
}

// named returns the condition that a name contains the text of the nth argument.
func named(n int) string { return fmt.Sprintf(` AND d.sort_name LIKE $%d ESCAPE '~'`, n) }

// like escapes a text for named.
var like = strings.NewReplacer("~", "~~", "%", "~%", "_", "~_")

// chosen returns the FROM clause and the arguments of the query for a page of documents.
func (v *viewer) chosen(ctx context.Context, f DocumentFilter, o order, after cursor) (from string, args []any, err error) {
	limit := math.MaxInt32
	if f.Limit > 0 {
		limit = f.Limit + 1 // one more, to detect a next page
	}
	key, id, err := o.start(after)
	if err != nil {
		return "", nil, err
	}
	from, args = inFolder, []any{key, id, limit}
	switch {
	case f.Folder != nil && f.Tag == "":
		args = append(args, f.Folder.String())
	case f.Folder != nil:
		from, args = inFolderTagged, append(args, f.Folder.String(), f.Tag)
	default:
		folders, err := v.Readable(ctx)
		if err != nil {
			return "", nil, err
		}
		if from, err = v.tagged(ctx, f.Tag); err != nil {
			return "", nil, err
		}
		args = append(args, folders, f.Tag)
	}
	if f.Name != "" {
		args = append(args, "%"+like.Replace(strings.ToLower(f.Name))+"%")
		from += named(len(args))
	}
	return from, args, nil
}

// page lists documents of folders that the user may read.
func (v *viewer) page(ctx context.Context, f DocumentFilter, after cursor) (docs []Document, next string, err error) {
	o := orderOf(f)
	from, args, err := v.chosen(ctx, f, o, after)
	if err != nil {
		return nil, "", err
	}
	rows, err := projections.List(ctx, v.DB, (*documentRow).fields, pageQuery(from, o), args...)
	if err != nil {
		return nil, "", err
	}
	if f.Limit > 0 && len(rows) > f.Limit {
		rows = rows[:f.Limit]
		last := &rows[f.Limit-1]
		next = cursor{o.of(last), last.id}.String()
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
type cursor struct{ key, id string }

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.id + c.key))
}

const idLength = 36

var errCursor = fault.Errorf(fault.Invalid, "cursor must come from a Link header of this listing")

func parseCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) < idLength {
		return cursor{}, errCursor
	}
	return cursor{id: string(b[:idLength]), key: string(b[idLength:])}, nil
}
