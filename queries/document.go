package queries

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
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
	return []any{&d.id, &d.folder, &d.Name, &d.sortName, &d.Title, &d.Description, &d.MediaType, &d.SHA256, &d.Size, &d.Pages, &d.Version, &d.content, &d.Owner, &d.created, &d.updated, &d.tags, &d.textStream}
}

const documentColumns = `SELECT d.id, d.folder, d.name, d.sort_name, d.title, d.description, d.media_type, d.sha256, d.size, d.pages, d.version, d.content, d.owner, d.created_at, d.updated_at, d.tags, d.text_stream FROM documents d `

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
	if d.FolderPath, _, err = v.path(ctx, r.folder); err != nil {
		return d, err
	}
	d.FolderShown, err = v.shown(ctx, d.FolderPath)
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
	v, err := q.viewer(ctx, user)
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
	docs, next, err = v.page(ctx, f, after)
	return docs, next, wrap(err, "documents")
}

// Where a page of documents is looked for: in a folder ($4) in order, or in
// all readable folders ($4, JSON), by their documents or by those with a tag
// ($5), of which there are few.
const (
	inFolder       = `documents d WHERE d.folder = $4`
	inFolderTagged = inFolder + andTagged
	inFolders      = `json_each($4) k CROSS JOIN documents d WHERE d.folder = k.value` + andTagged
	withTag        = `tags t CROSS JOIN documents d WHERE d.id = t.document AND t.tag = $5 AND d.folder IN (SELECT value FROM json_each($4))`
	andTagged      = ` AND EXISTS (SELECT 1 FROM tags t WHERE t.tag = $5 AND t.document = d.id)`
)

// pageQuery finds the ids of a page in indexes and reads the rows of those
// alone.
func pageQuery(from string) string {
	return documentColumns + `WHERE d.id IN (SELECT d.id FROM ` + from + ` AND (d.sort_name, d.id) > ($1, $2)` + byDocumentName + ` LIMIT CAST($3 AS INTEGER))` + byDocumentName
}

// page lists documents of folders that the user may read.
func (v *viewer) page(ctx context.Context, f DocumentFilter, after cursor) (docs []Document, next string, err error) {
	limit := math.MaxInt32
	if f.Limit > 0 {
		limit = f.Limit + 1 // one more tells whether there is a next page
	}
	from, args := inFolder, []any{after.name, after.id, limit}
	switch {
	case f.Folder != nil && f.Tag == "":
		args = append(args, f.Folder.String())
	case f.Folder != nil:
		from, args = inFolderTagged, append(args, f.Folder.String(), f.Tag)
	default:
		folders, err := v.folders(ctx)
		if err != nil {
			return nil, "", err
		}
		if from, err = v.tagged(ctx, f.Tag); err != nil {
			return nil, "", err
		}
		args = append(args, folders, f.Tag)
	}
	rows, err := projections.List(ctx, v.db, (*documentRow).fields, pageQuery(from), args...)
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

// fewTagged is up to how many documents with a tag are looked through one by
// one; where there are more, it is the caller's documents that are.
const fewTagged = 2000

// tagged returns where to look for documents with a tag.
func (v *viewer) tagged(ctx context.Context, tag string) (from string, err error) {
	var n int
	err = v.db.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM tags WHERE tag = $1 LIMIT CAST($2 AS INTEGER)) few`, tag, fewTagged+1).Scan(&n)
	if n > fewTagged {
		return inFolders, err
	}
	return withTag, err
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
	v, err := q.viewer(ctx, user)
	if err != nil {
		return Document{}, err
	}
	return q.find(ctx, v, id)
}

// Document is Describe with the Markdown of a text document.
func (q *Queries) Document(ctx context.Context, user events.User, id uuid.UUID) (Document, error) {
	d, err := q.Describe(ctx, user, id)
	if err != nil || !d.lacksContent() {
		return d, err
	}
	if err := q.awaitText(ctx, d); err != nil {
		return d, err
	}
	err = q.addContent(ctx, &d, maxContent, d.markdownPath())
	return d, err
}

// find returns a document, or a folder's summary, without reading its text.
func (q *Queries) find(ctx context.Context, v *viewer, id uuid.UUID) (Document, error) {
	d, err := v.filed(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return q.summaryDocument(ctx, v, id)
	}
	return d, err
}

// filed returns a document that was imported, or fault.NotFound.
func (v *viewer) filed(ctx context.Context, id uuid.UUID) (Document, error) {
	docs, err := v.documentsByID(ctx, []string{id.String()})
	if err != nil {
		return Document{}, wrap(err, "document")
	}
	d, ok := docs[id.String()]
	if !ok {
		return d, notFound("document", id)
	}
	return d, nil
}

// documentsByID returns those of the documents that the user may read.
func (v *viewer) documentsByID(ctx context.Context, ids []string) (map[string]Document, error) {
	b, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := projections.List(ctx, v.db, (*documentRow).fields, documentColumns+`WHERE d.id IN (SELECT value FROM json_each($1))`, string(b))
	if err != nil {
		return nil, err
	}
	visible, err := v.visible(ctx, rows)
	docs := make(map[string]Document, len(visible))
	for _, d := range visible {
		docs[d.ID.String()] = d
	}
	return docs, err
}

// DocumentBatch returns the documents of ids that exist and that the user may
// read, in the order of ids, each once. A text that cannot be read in time is
// left out.
func (q *Queries) DocumentBatch(ctx context.Context, user events.User, ids []uuid.UUID) ([]Document, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	docs := []Document{}
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
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, q.addContents(ctx, docs)
}

// addContents gives documents their content, and waits once for texts that are
// not there yet.
func (q *Queries) addContents(ctx context.Context, docs []Document) error {
	there, late := make([]bool, len(docs)), false
	find := func() error {
		late = false
		for i, d := range docs {
			if there[i] || !d.lacksContent() {
				continue
			}
			var err error
			if there[i], err = q.hasText(ctx, d); err != nil {
				return err
			}
			late = late || !there[i]
		}
		return nil
	}
	err := find()
	if err == nil && late {
		if err = q.awaitTexts(ctx); err == nil || fault.Is(err, fault.Unavailable) {
			err = find()
		}
	}
	if err != nil {
		return err
	}
	budget := maxBatchContent
	for i := range docs {
		if there[i] {
			if err := q.addContent(ctx, &docs[i], min(budget, maxContent), docs[i].markdownPath()); err != nil {
				return err
			}
		}
		if docs[i].Content != nil {
			budget = max(0, budget-len(*docs[i].Content))
		}
	}
	return nil
}

// The tags of all documents in folders ($1, JSON): by documents, or, where
// nearly any document will do, from tag to tag and for each to the first.
const (
	tagsOfFolders = `SELECT DISTINCT t.tag FROM json_each($1) k CROSS JOIN documents d CROSS JOIN tags t WHERE d.folder = k.value AND t.document = d.id ORDER BY t.tag`
	tagsInUse     = `WITH RECURSIVE all_tags (tag) AS (
			SELECT min(tag) FROM tags
			UNION ALL SELECT (SELECT min(t.tag) FROM tags t WHERE t.tag > a.tag) FROM all_tags a WHERE a.tag IS NOT NULL)
		SELECT tag FROM all_tags a WHERE tag IS NOT NULL AND EXISTS (SELECT 1 FROM tags t CROSS JOIN documents d
			WHERE d.id = t.document AND t.tag = a.tag AND d.folder IN (SELECT value FROM json_each($1))) ORDER BY tag`
)

// VisibleTags returns the tags of all documents that the user may read, in
// order.
func (q *Queries) VisibleTags(ctx context.Context, user events.User) ([]string, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	folders, err := v.folders(ctx)
	if err != nil {
		return nil, wrap(err, "tags")
	}
	query := tagsOfFolders
	if user.Admin {
		query = tagsInUse
	}
	tags, err := projections.Column(ctx, v.db, query, folders)
	return append([]string{}, tags...), wrap(err, "tags")
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
	media, _, _ := strings.Cut(d.MediaType, ";")
	if ext = extensions[media]; ext != "" {
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
