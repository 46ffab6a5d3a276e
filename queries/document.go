package queries

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"path"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/projections"

	"github.com/google/uuid"
)

// documentRow is a document as the vault's tables hold it.
type documentRow struct {
	Document
	id, folder, created, updated, tags, sortName string
}

func (d *documentRow) fields() []any {
	return []any{&d.id, &d.folder, &d.Name, &d.sortName, &d.Title, &d.Description, &d.MediaType, &d.SHA256, &d.Size, &d.Pages, &d.Version, &d.Owner, &d.created, &d.updated, &d.tags}
}

const documentColumns = `SELECT d.id, d.folder, d.name, d.sort_name, d.title, d.description, d.media_type, d.sha256, d.size, d.pages, d.version, d.owner, d.created_at, d.updated_at, d.tags FROM documents d `

// document makes a Document of a row in a folder that the user may read.
func (v *viewer) document(ctx context.Context, r documentRow) (Document, error) {
	d := r.Document
	d.CreatedAt, d.UpdatedAt = parseTime(r.created), parseTime(r.updated)
	var err error
	if d.ID, err = uuid.Parse(r.id); err != nil {
		return d, err
	}
	if d.Folder, err = uuid.Parse(r.folder); err != nil {
		return d, err
	}
	if err = json.Unmarshal([]byte(r.tags), &d.Tags); err != nil {
		return d, err
	}
	a, err := v.folder(ctx, r.folder)
	d.FolderPath = a.path
	return d, err
}

// visible makes Documents of those rows that the user may read.
func (v *viewer) visible(ctx context.Context, rows []documentRow) ([]Document, error) {
	docs := make([]Document, 0, len(rows))
	for _, r := range rows {
		ok, err := v.may(ctx, r.folder)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		d, err := v.document(ctx, r)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

const byDocumentName = ` ORDER BY d.sort_name, d.id`

func (v *viewer) documentsIn(ctx context.Context, folder string) ([]Document, error) {
	rows, err := projections.List(ctx, v.db, (*documentRow).fields, documentColumns+`WHERE d.folder = $1`+byDocumentName, folder)
	if err != nil {
		return nil, err
	}
	return v.visible(ctx, rows)
}

// Documents lists documents by name, all of them or, with a limit, a page;
// next is the cursor of the page after it, "" at the end. A folder that does
// not exist or may not be read is fault.NotFound. No document lies outside of
// every folder: without a folder and a tag the list is empty.
func (q *Queries) Documents(ctx context.Context, user events.User, f DocumentFilter) (docs []Document, next string, err error) {
	v, err := q.viewer(user)
	if err != nil {
		return nil, "", err
	}
	if f.Folder != nil {
		if ok, err := v.may(ctx, f.Folder.String()); !ok || err != nil {
			return nil, "", orNotFound(err, "folder", f.Folder)
		}
	} else if f.Tag == "" {
		return []Document{}, "", nil
	}
	after, err := parseCursor(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	where, args := `WHERE (d.sort_name, d.id) > ($1, $2)`, []any{after.name, after.id}
	if f.Folder != nil {
		where, args = where+` AND d.folder = $3`, append(args, f.Folder.String())
	} else {
		where, args = where+` AND $3 = ''`, append(args, "")
	}
	if f.Tag != "" {
		where, args = where+` AND d.id IN (SELECT document FROM tags WHERE tag = $4)`, append(args, f.Tag)
	}
	docs, next, err = v.page(ctx, where, args, f.Limit)
	return docs, next, wrap(err, "documents")
}

// page reads rows until limit documents were seen that the user may read.
func (v *viewer) page(ctx context.Context, where string, args []any, limit int) (docs []Document, next string, err error) {
	docs = []Document{}
	for {
		query := documentColumns + where + byDocumentName
		if limit > 0 {
			query += ` LIMIT 1000`
		}
		rows, err := projections.List(ctx, v.db, (*documentRow).fields, query, args...)
		if err != nil {
			return nil, "", err
		}
		for i, r := range rows {
			some, err := v.visible(ctx, rows[i:i+1])
			if err != nil {
				return nil, "", err
			}
			if limit > 0 && len(docs) == limit && len(some) > 0 {
				return docs, cursor{args[0].(string), args[1].(string)}.String(), nil
			}
			docs = append(docs, some...)
			args[0], args[1] = r.sortName, r.id
		}
		if limit == 0 || len(rows) < 1000 {
			return docs, "", nil
		}
	}
}

// cursor is where a page of documents ended.
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

// Describe returns a document that the user may read without reading its text,
// or a folder's summary, which is all text.
func (q *Queries) Describe(ctx context.Context, user events.User, id uuid.UUID) (Document, error) {
	v, err := q.viewer(user)
	if err != nil {
		return Document{}, err
	}
	return q.find(ctx, v, id)
}

// Document is Describe with the Markdown of a text document.
func (q *Queries) Document(ctx context.Context, user events.User, id uuid.UUID) (Document, error) {
	d, err := q.Describe(ctx, user, id)
	if err != nil {
		return d, err
	}
	return d, q.addContent(ctx, &d, maxContent)
}

// find returns a document without content.
func (q *Queries) find(ctx context.Context, v *viewer, id uuid.UUID) (Document, error) {
	rows, err := projections.List(ctx, v.db, (*documentRow).fields, documentColumns+`WHERE d.id = $1`, id.String())
	if err != nil {
		return Document{}, wrap(err, "document")
	}
	docs, err := v.visible(ctx, rows)
	if err != nil {
		return Document{}, wrap(err, "document")
	}
	if len(docs) == 0 {
		return q.summaryDocument(ctx, v, id)
	}
	return docs[0], nil
}

// DocumentBatch returns the documents of ids that exist and that the user may
// read, in the order of ids, each once.
func (q *Queries) DocumentBatch(ctx context.Context, user events.User, ids []uuid.UUID) ([]Document, error) {
	v, err := q.viewer(user)
	if err != nil {
		return nil, err
	}
	docs, budget := []Document{}, maxBatchContent
	seen := make(map[uuid.UUID]bool)
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		d, err := q.find(ctx, v, id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err == nil {
			err = q.addContent(ctx, &d, min(budget, maxContent))
		}
		if err != nil {
			return nil, err
		}
		if d.Content != nil {
			budget = max(0, budget-len(*d.Content))
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// Tags returns the tags of a document that the user may read.
func (q *Queries) Tags(ctx context.Context, user events.User, id uuid.UUID) ([]string, error) {
	v, err := q.viewer(user)
	if err != nil {
		return nil, err
	}
	d, err := q.find(ctx, v, id)
	if err != nil {
		return nil, err
	}
	return append([]string{}, d.Tags...), nil
}

// VisibleTags returns the tags of all documents that the user may read, in
// order.
func (q *Queries) VisibleTags(ctx context.Context, user events.User) ([]string, error) {
	v, err := q.viewer(user)
	if err != nil {
		return nil, err
	}
	type pair struct{ tag, folder string }
	pairs, err := projections.List(ctx, v.db, func(p *pair) []any { return []any{&p.tag, &p.folder} },
		`SELECT DISTINCT t.tag, d.folder FROM tags t JOIN documents d ON d.id = t.document ORDER BY t.tag`)
	if err != nil {
		return nil, wrap(err, "tags")
	}
	tags := []string{}
	for _, p := range pairs {
		if len(tags) > 0 && tags[len(tags)-1] == p.tag {
			continue
		}
		ok, err := v.may(ctx, p.folder)
		if err != nil {
			return nil, wrap(err, "tags")
		}
		if ok {
			tags = append(tags, p.tag)
		}
	}
	return tags, nil
}

// DuplicateOf returns a document with these bytes that the user may read.
func (q *Queries) DuplicateOf(ctx context.Context, user events.User, sha256 string) (document uuid.UUID, found bool, err error) {
	v, err := q.viewer(user)
	if err != nil {
		return uuid.Nil, false, err
	}
	rows, err := projections.List(ctx, v.db, (*documentRow).fields, documentColumns+`WHERE d.sha256 = $1 ORDER BY d.created_at, d.id`, sha256)
	if err != nil {
		return uuid.Nil, false, wrap(err, "documents")
	}
	docs, err := v.visible(ctx, rows)
	if err != nil || len(docs) == 0 {
		return uuid.Nil, false, wrap(err, "documents")
	}
	return docs[0].ID, true, nil
}

// extensions of original files by media type, for names that have none.
var extensions = map[string]string{
	"application/pdf": "pdf", "text/markdown": "md", "text/plain": "txt",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
}

// Extension returns the extension of the original file, without its dot.
func (d Document) Extension() string {
	ext := strings.TrimPrefix(strings.ToLower(path.Ext(d.Name)), ".")
	switch ext {
	case "pdf", "docx", "md", "markdown", "txt", "text":
		return ext
	}
	if ext = extensions[d.MediaType]; ext != "" {
		return ext
	}
	return "bin"
}

// DeepLink returns the path to the original at a page, 0 for none.
func (d Document) DeepLink(page int) string {
	link := "/documents/" + d.ID.String() + "." + d.Extension()
	if page > 0 {
		link += "#page=" + itoa(page)
	}
	return link
}
