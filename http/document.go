package http

import (
	"context"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"annals/commands"
	"annals/commands/naming"
	"annals/http/answers"
	"annals/http/conditional"
	"annals/http/form"
	"annals/http/listing"
	"annals/http/problem"
	"annals/queries/vault"

	"github.com/google/uuid"
)

type documentItem struct {
	ID          uuid.UUID  `json:"id"`
	Name        string     `json:"name"`
	ContentType *string    `json:"contentType"`
	Size        int64      `json:"size"`
	FolderID    *uuid.UUID `json:"folderId"`
	Version     int        `json:"version"`
	CreatedAt   moment     `json:"createdAt"`
	UpdatedAt   moment     `json:"updatedAt"`
	SHA256      string     `json:"sha256,omitempty"`
	Tags        *[]string  `json:"tags,omitempty"` // nil unless they are wanted
}

type document struct {
	documentItem
	Title    string          `json:"title"`
	Pages    int             `json:"pages"`
	Metadata documentReading `json:"metadata"`
	Content  *string         `json:"content,omitempty"`
}

// documentReading says how a document was read.
type documentReading struct {
	answers.Reading
	OCRPages    int `json:"ocrPages"`
	UnreadPages int `json:"unreadPages"`
}

// documentItemBody returns a document as an entry of a listing, which does not include the
// size.
func documentItemBody(d vault.Document) documentItem {
	return documentItem{d.ID, d.Name, orNull(d.MediaType), 0, parentOrNull(d.Folder), d.Version, moment(d.CreatedAt), moment(d.UpdatedAt), d.SHA256, nil}
}

func documentBody(d vault.Document) document {
	item := documentItemBody(d)
	item.Size = d.Size
	return document{item, d.Title, d.Pages, documentReading{answers.ReadingOf(d.Confidence), d.OCRPages, d.UnreadPages}, d.Content}
}

// documents handles GET /documents.
func (s *Server) documents(c *call) (any, error) {
	f := form.NewQuery(c.Request)
	q := listing.ReadDocuments(f, s.Limits.PageSize)
	if err := f.Err(); err != nil {
		return nil, err
	}
	q.Tag = NormalizeTag(q.Tag)
	docs, next, err := s.Queries.Documents(c.Context(), c.user, q.DocumentFilter)
	if err != nil {
		return nil, err
	}
	list := s.listing(c, each(docs, func(d vault.Document) documentItem {
		item := documentItemBody(d)
		if q.Size {
			item.Size = d.Size
		}
		if tags := orEmpty(d.Tags); q.Tags {
			item.Tags = &tags
		}
		return item
	}), next)
	if !q.Count {
		return list, nil
	}
	n, err := s.Queries.CountDocuments(c.Context(), c.user, q.DocumentFilter)
	return withHeader("X-Total-Count", strconv.Itoa(n), list), err
}

// document handles GET /documents/{id}.
func (s *Server) document(c *call, id uuid.UUID) (any, error) {
	d, err := s.Queries.Document(c.Context(), c.user, id)
	return tagged(http.StatusOK, tagOf(d), documentBody(d)), err
}

// tagOf returns the ETag of a document. A folder summary has no version, so its ETag depends
// on the body.
func tagOf(d vault.Document) conditional.Tag {
	if d.SHA256 == "" {
		return conditional.Weak
	}
	return conditional.Document(d.Version)
}

// showItem replies with a document in the form of a listing's entry.
func (s *Server) showItem(ctx context.Context, c *call, id uuid.UUID) (reply, error) {
	d, err := s.Queries.Describe(ctx, c.user, id)
	return tagged(http.StatusOK, tagOf(d), documentItemBody(d)), err
}

// changeDocument handles PATCH /documents/{id}.
func (s *Server) changeDocument(c *call, id uuid.UUID) (any, error) {
	f, err := form.ReadFields(c.Request, s.Limits.JSONBytes)
	if err != nil {
		return nil, err
	}
	change := commands.ChangeDocument{ID: id, Name: f.OptionalText("name"), Folder: f.OptionalID("folderId", false)}
	if change.Name == nil && change.Folder == nil {
		f.Refuse("name or folderId should be given")
	}
	change.Version = versionForDocument(c, f)
	if err := f.Err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.ChangeDocument(c.Context(), c.user, Correlation(c.Context()), change)
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showItem(ctx, c, id) }), nil
}

// versionForDocument returns the document version on which a change is based, from If-Match or
// the body.
func versionForDocument(c *call, f form.Fields) int {
	version, given := f.Version()
	return conditional.DocumentVersion(c.Header, version, given, f.Wrong)
}

// deleteDocument handles DELETE /documents/{id}.
func (s *Server) deleteDocument(c *call, id uuid.UUID) (any, error) {
	f := form.NewQuery(c.Request)
	version, given := f.Integer("version", math.MaxInt32)
	version = conditional.DocumentVersion(c.Header, version, given, &f.Wrong)
	if err := f.Err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.DeleteDocument(c.Context(), c.user, Correlation(c.Context()), commands.DeleteDocument{ID: id, Version: version})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, gone), nil
}

// maxBatch is the maximum number of documents in a POST /documents/batch.
const maxBatch = 100

// documentBatch handles POST /documents/batch.
func (s *Server) documentBatch(c *call) (any, error) {
	text, err := form.ReadBody(c.Request, s.Limits.JSONBytes)
	if err != nil {
		return nil, err
	}
	ids, err := batchIDs(text, c.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	if err := s.begin(c, 0); err != nil {
		return nil, err
	}
	docs, err := s.Queries.DocumentBatch(c.Context(), c.user, ids)
	if err == nil {
		s.recordBatch(c, ids, docs)
	}
	return each(docs, documentBody), err
}

// batchIDs returns the document ids in the body of a POST /documents/batch.
func batchIDs(text []byte, contentType string) ([]uuid.UUID, error) {
	f, err := form.ParseFields(text, contentType)
	if err != nil {
		return nil, err
	}
	list := f.List("ids", 1, maxBatch)
	if err := f.Err(); err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(list))
	for i, v := range list {
		text, _ := v.(string)
		var ok bool
		if ids[i], ok = form.ParseID(text); !ok {
			return nil, problem.Rejected{"each value in ids must be a UUID"}
		}
	}
	return ids, nil
}

// markdown handles GET /documents/{id}/markdown.
func (s *Server) markdown(c *call, id uuid.UUID) (any, error) {
	// Read the version before the text. If the document changes between the two reads, the
	// ETag is outdated, and a change that names it is refused.
	d, err := s.Queries.Describe(c.Context(), c.user, id)
	if err != nil {
		return nil, err
	}
	write, err := s.Queries.Markdown(c.Context(), c.user, id)
	if err != nil {
		return nil, err
	}
	var summary string
	if d.Content != nil {
		summary = *d.Content
	}
	return s.sendMarkdown(c, d, tagOf(d)([]byte(summary)), write), nil
}

// sendMarkdown replies with the text of a document.
func (s *Server) sendMarkdown(c *call, d vault.Document, etag string, write func(io.Writer) error) reply {
	return func(w http.ResponseWriter, r *http.Request) error {
		if conditional.Unchanged(w, r, etag) {
			return nil
		}
		h := w.Header()
		h.Set("Content-Type", "text/markdown; charset=utf-8")
		h.Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": strings.TrimSuffix(d.Name, ".md") + ".md"}))
		h.Set("Content-Security-Policy", sandboxPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		c.read.Keep() // the text is read from the store while it is sent
		if err := write(w); err != nil {
			if c.Context().Err() == nil {
				s.log(c.Request, err)
			}
			panic(http.ErrAbortHandler) // otherwise the client would mistake a part of the text for the whole
		}
		return nil
	}
}

type tagsBody struct {
	Tags []string `json:"tags"`
}

// documentTags handles GET /documents/{id}/tags.
func (s *Server) documentTags(c *call, id uuid.UUID) (any, error) {
	return s.showTags(c.Context(), c, id)
}

func (s *Server) showTags(ctx context.Context, c *call, id uuid.UUID) (reply, error) {
	d, err := s.Queries.Describe(ctx, c.user, id)
	return tagged(http.StatusOK, tagOf(d), tagsBody{orEmpty(d.Tags)}), err
}

// tagDocument handles PUT /documents/{id}/tags.
func (s *Server) tagDocument(c *call, id uuid.UUID) (any, error) {
	f, err := form.ReadFields(c.Request, s.Limits.JSONBytes)
	if err != nil {
		return nil, err
	}
	tags := f.Texts("tags", 8*naming.MaxTags)
	version := versionForDocument(c, f)
	if err := f.Err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.ChangeDocument(c.Context(), c.user, Correlation(c.Context()), commands.ChangeDocument{ID: id, Version: version, Tags: &tags})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showTags(ctx, c, id) }), nil
}

// tags handles GET /tags.
func (s *Server) tags(c *call) (any, error) {
	tags, err := s.Queries.VisibleTags(c.Context(), c.user)
	return tagsBody{orEmpty(tags)}, err
}

// NormalizeTag returns a tag in the form in which tags are stored. It returns an invalid tag
// unchanged; no document has such a tag.
func NormalizeTag(tag string) string {
	if tags, err := naming.Tags([]string{tag}); err == nil {
		return tags[0]
	}
	return tag
}
