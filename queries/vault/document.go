package vault

import (
	"context"
	"encoding/json"
	"path"
	"strconv"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/queries/access"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// Document is a document that the user may read, or a folder's summary.
type Document struct {
	ID             uuid.UUID
	Name           string // the file's name
	Title          string
	Description    string // one line
	MediaType      string
	Size           int64
	SHA256         string
	Folder         uuid.UUID
	FolderPath     string // from the top level
	FolderShown    string // path as shown to the user; begins at the topmost readable folder
	Version        int
	Pages          int // 0 if there are no pages
	Tags           []string
	Owner          string // the user who imported it
	CreatedAt      time.Time
	UpdatedAt      time.Time
	ContentVersion int     // the version that last changed its content
	OCRPages       int     // pages of which text was recognised in pictures
	Confidence     float64 // mean confidence of the words recognised there, above 0 and at most 1; 0 if there are none
	UnreadPages    int     // scanned pages that were not read
	Extractor      int     // version of the extractor that read the file
	textStream     string  // stream of that version's text
	// Content is the Markdown of a text document, with front matter. It is nil for
	// other documents, and in listings.
	Content *string
}

// documentRow is a document as stored in the vault's tables.
type documentRow struct {
	Document
	id, folder, created, updated, tags, sortName string
	confidence                                   int // in thousandths
}

func (d *documentRow) fields() []any {
	return []any{&d.id, &d.folder, &d.Name, &d.sortName, &d.Title, &d.Description, &d.MediaType, &d.SHA256, &d.Size, &d.Pages, &d.Version, &d.ContentVersion, &d.Owner, &d.created, &d.updated, &d.tags, &d.textStream, &d.OCRPages, &d.confidence, &d.UnreadPages, &d.Extractor}
}

const documentColumns = `SELECT d.id, d.folder, d.name, d.sort_name, d.title, d.description, d.media_type, d.sha256, d.size, d.pages, d.version, d.content, d.owner, d.created_at, d.updated_at, d.tags, d.text_stream, d.ocr_pages, d.confidence, d.unread, d.extractor FROM documents d `

// document converts a row to a Document. The user may read its folder.
func (v *viewer) document(ctx context.Context, r documentRow) (Document, error) {
	d := r.Document
	d.Confidence = float64(r.confidence) / 1000
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
	if d.FolderPath, _, err = v.Path(ctx, r.folder); err != nil {
		return d, err
	}
	d.FolderShown, err = v.Shown(ctx, d.FolderPath)
	return d, err
}

// visible converts the rows that the user may read to Documents.
func (v *viewer) visible(ctx context.Context, rows []documentRow) ([]Document, error) {
	docs := make([]Document, 0, len(rows))
	folders := make([]string, len(rows))
	for i, r := range rows {
		folders[i] = r.folder
	}
	if err := v.Load(ctx, folders); err != nil {
		return nil, err
	}
	for _, r := range rows {
		ok, err := v.MayRead(ctx, r.folder)
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
	rows, err := projections.List(ctx, v.DB, (*documentRow).fields, documentColumns+`WHERE d.folder = $1`+byDocumentName, folder)
	if err != nil {
		return nil, err
	}
	return v.visible(ctx, rows)
}

// Describe returns a document that the user may read, without its content, or a
// folder's summary with its content.
func (q *Vault) Describe(ctx context.Context, user events.User, id uuid.UUID) (Document, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return Document{}, err
	}
	return q.find(ctx, v, id)
}

// Document is like Describe, but includes the Markdown of a text document.
func (q *Vault) Document(ctx context.Context, user events.User, id uuid.UUID) (Document, error) {
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
func (q *Vault) find(ctx context.Context, v *viewer, id uuid.UUID) (Document, error) {
	d, err := Imported(ctx, v.Viewer, id)
	if fault.Is(err, fault.NotFound) {
		return q.summaryDocument(ctx, v, id)
	}
	return d, err
}

// Imported returns an imported document, not a folder's summary. The error is
// fault.NotFound if there is none with this id that the user may read.
func Imported(ctx context.Context, v *access.Viewer, id uuid.UUID) (Document, error) {
	docs, err := ByID(ctx, v, []string{id.String()})
	if err != nil {
		return Document{}, freshness.Wrap(err, "document")
	}
	d, ok := docs[id.String()]
	if !ok {
		return d, access.NotFound("document", id)
	}
	return d, nil
}

// ByID returns those of the given documents that the user may read, in a map by id.
func ByID(ctx context.Context, of *access.Viewer, ids []string) (map[string]Document, error) {
	b, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	v := &viewer{of}
	rows, err := projections.List(ctx, v.DB, (*documentRow).fields, documentColumns+`WHERE d.id IN (SELECT value FROM json_each($1))`, string(b))
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

// DocumentBatch returns the documents with these ids that exist and that the user may
// read, in the order of ids and without duplicates. Texts that cannot be read in time
// are left out.
func (q *Vault) DocumentBatch(ctx context.Context, user events.User, ids []uuid.UUID) ([]Document, error) {
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

// addContents adds the content of documents. If texts are missing, it waits one time for
// the read model of passages to catch up.
func (q *Vault) addContents(ctx context.Context, docs []Document) error {
	present, missing := make([]bool, len(docs)), false
	find := func() error {
		missing = false
		for i, d := range docs {
			if present[i] || !d.lacksContent() {
				continue
			}
			var err error
			if present[i], err = q.hasText(ctx, d); err != nil {
				return err
			}
			missing = missing || !present[i]
		}
		return nil
	}
	err := find()
	if err == nil && missing {
		if err = q.awaitTexts(ctx); err == nil || fault.Is(err, fault.Unavailable) {
			err = find()
		}
	}
	if err != nil {
		return err
	}
	budget := maxBatchContent
	for i := range docs {
		if present[i] {
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

// extensions are the file extensions of media types, for document names without an
// extension.
var extensions = map[string]string{
	"application/pdf": "pdf", "text/markdown": "md", "text/plain": "txt",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "docx",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "xlsx",
	"application/vnd.oasis.opendocument.text":                                   "odt",
	"text/html": "html", "text/csv": "csv", "text/tab-separated-values": "tsv", "message/rfc822": "eml", "application/epub+zip": "epub", "application/rtf": "rtf",
	"image/png": "png", "image/jpeg": "jpg", "image/tiff": "tiff", "image/webp": "webp", "image/bmp": "bmp",
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

// DeepLink returns the path to a page of the original. Page 0 means the whole original.
func (d Document) DeepLink(page int) string {
	link := "/documents/" + d.ID.String() + "." + d.Extension()
	if page > 0 {
		link += "#page=" + strconv.Itoa(page)
	}
	return link
}
