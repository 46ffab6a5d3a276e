package http

import (
	"context"
	"math"
	"mime"
	"net/http"
	"strings"

	"annals/commands"
	"annals/queries"

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
}

type document struct {
	documentItem
	Content *string `json:"content,omitempty"`
}

// documentItemBody leaves out the size, which listings do not tell.
func documentItemBody(d queries.Document) documentItem {
	return documentItem{d.ID, d.Name, orNull(d.MediaType), 0, parentOrNull(d.Folder), d.Version, moment(d.CreatedAt), moment(d.UpdatedAt), d.SHA256}
}

func documentBody(d queries.Document) document {
	item := documentItemBody(d)
	item.Size = d.Size
	return document{item, d.Content}
}

// documents answers GET /documents.
func (s *Server) documents(c *call) (any, error) {
	f := newFilter(c.Request)
	q := queries.DocumentFilter{Folder: f.id("folderId"), Tag: AskedTag(f.text("tag")), Limit: f.limit(s.Limits.PageSize), Cursor: f.text("cursor")}
	if err := f.err(); err != nil {
		return nil, err
	}
	docs, next, err := s.Queries.Documents(c.Context(), c.user, q)
	if err != nil {
		return nil, err
	}
	return s.listing(c, each(docs, documentItemBody), next), nil
}

// document answers GET /documents/{id}.
func (s *Server) document(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	d, err := s.Queries.Document(c.Context(), c.user, id)
	return vaultDialect.tagged(http.StatusOK, tagOf(d), documentBody(d)), err
}

// tagOf names a document's version. A folder's summary, which was never a
// file, has none of its own.
func tagOf(d queries.Document) tagger {
	if d.SHA256 == "" {
		return weakTag
	}
	return documentTag(d.Version)
}

// showItem answers with a document as listings tell it, as it is now.
func (s *Server) showItem(ctx context.Context, c *call, id uuid.UUID) (reply, error) {
	d, err := s.Queries.Describe(ctx, c.user, id)
	return vaultDialect.tagged(http.StatusOK, tagOf(d), documentItemBody(d)), err
}

// changeDocument answers PATCH /documents/{id}.
func (s *Server) changeDocument(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	f, err := s.readFields(c)
	if err != nil {
		return nil, err
	}
	change := commands.ChangeDocument{ID: id, Name: f.optionalText("name"), Folder: f.optionalID("folderId", false)}
	if change.Name == nil && change.Folder == nil {
		f.refuse("name or folderId should be given")
	}
	change.Version = f.versionForDocument(c)
	if err := f.err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.ChangeDocument(c.Context(), c.user, Correlation(c.Context()), change)
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showItem(ctx, c, id) }), nil
}

// deleteDocument answers DELETE /documents/{id}.
func (s *Server) deleteDocument(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	f := newFilter(c.Request)
	version, given := f.integer("version", math.MaxInt32)
	version = c.versionForDocument(version, given, &f.wrong)
	if err := f.err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.DeleteDocument(c.Context(), c.user, Correlation(c.Context()), commands.DeleteDocument{ID: id, Version: version})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, gone), nil
}

// Bounds of one batch.
const maxBatch = 100

// documentBatch answers POST /documents/batch.
func (s *Server) documentBatch(c *call) (any, error) {
	text, err := s.readBody(c.Request)
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

// batchIDs reads the body of a batch.
func batchIDs(text []byte, contentType string) ([]uuid.UUID, error) {
	f, err := parseFields(text, contentType)
	if err != nil {
		return nil, err
	}
	list := f.list("ids", 1, maxBatch)
	if err := f.err(); err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(list))
	for i, v := range list {
		text, _ := v.(string)
		var ok bool
		if ids[i], ok = parseID(text); !ok {
			return nil, rejected{"each value in ids must be a UUID"}
		}
	}
	return ids, nil
}

// markdown answers GET /documents/{id}/markdown.
func (s *Server) markdown(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	// Asked for first: should it change in between, the tag is too old, and the
	// client's next change is refused.
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
	etag := tagOf(d)([]byte(summary))
	return reply(func(w http.ResponseWriter, r *http.Request) error {
		if unchanged(w, r, etag) {
			return nil
		}
		h := w.Header()
		h.Set("Content-Type", "text/markdown; charset=utf-8")
		h.Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": strings.TrimSuffix(d.Name, ".md") + ".md"}))
		h.Set("Content-Security-Policy", sandboxPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		c.turn.Keep() // the text is read while it is sent
		if err := write(w); err != nil {
			if c.Context().Err() == nil {
				s.log(c.Request, err)
			}
			panic(http.ErrAbortHandler) // so that nobody takes what came for all of it
		}
		return nil
	}), nil
}

type tagsBody struct {
	Tags []string `json:"tags"`
}

// documentTags answers GET /documents/{id}/tags.
func (s *Server) documentTags(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	return s.showTags(c.Context(), c, id)
}

func (s *Server) showTags(ctx context.Context, c *call, id uuid.UUID) (reply, error) {
	d, err := s.Queries.Describe(ctx, c.user, id)
	return vaultDialect.tagged(http.StatusOK, tagOf(d), tagsBody{orEmpty(d.Tags)}), err
}

// tagDocument answers PUT /documents/{id}/tags.
func (s *Server) tagDocument(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	f, err := s.readFields(c)
	if err != nil {
		return nil, err
	}
	tags := f.texts("tags", 8*commands.MaxTags)
	version := f.versionForDocument(c)
	if err := f.err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.ChangeDocument(c.Context(), c.user, Correlation(c.Context()), commands.ChangeDocument{ID: id, Version: version, Tags: &tags})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showTags(ctx, c, id) }), nil
}

// tags answers GET /tags.
func (s *Server) tags(c *call) (any, error) {
	tags, err := s.Queries.VisibleTags(c.Context(), c.user)
	return tagsBody{orEmpty(tags)}, err
}
