package http

import (
	"bytes"
	"net/http"

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
}

type document struct {
	documentItem
	Content *string `json:"content,omitempty"`
}

// documentItemBody leaves out the size, which listings do not tell.
func documentItemBody(d queries.Document) documentItem {
	return documentItem{d.ID, d.Name, orNull(d.MediaType), 0, parentOrNull(d.Folder), d.Version, moment(d.CreatedAt), moment(d.UpdatedAt)}
}

func documentBody(d queries.Document) document {
	item := documentItemBody(d)
	item.Size = d.Size
	return document{item, d.Content}
}

// documents answers GET /documents.
func (s *Server) documents(c *call) (any, error) {
	f := newFilter(c.Request)
	q := queries.DocumentFilter{Folder: f.id("folderId"), Tag: askedTag(f.text("tag")), Limit: f.limit(s.Limits.PageSize), Cursor: f.text("cursor")}
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
	return documentBody(d), err
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
	docs, err := s.Queries.DocumentBatch(c.Context(), c.user, ids)
	return each(docs, documentBody), err
}

// batchIDs reads the body of a batch.
func batchIDs(text []byte, contentType string) ([]uuid.UUID, error) {
	text, ok := isText(text)
	if !ok || !isJSON(contentType) {
		return nil, rejected{"body must be a JSON object"}
	}
	body, err := decodeJSON(bytes.TrimSpace(text))
	fields, ok := body.(map[string]any)
	if err != nil || !ok {
		return nil, rejected{"body must be a JSON object"}
	}
	list, ok := fields["ids"].([]any)
	switch {
	case !ok:
		return nil, rejected{"ids must be an array"}
	case len(list) == 0:
		return nil, rejected{"ids must contain at least 1 elements"}
	case len(list) > maxBatch:
		return nil, rejected{"ids must contain no more than 100 elements"}
	}
	ids := make([]uuid.UUID, len(list))
	for i, v := range list {
		text, _ := v.(string)
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
	write, err := s.Queries.Markdown(c.Context(), c.user, id)
	if err != nil {
		return nil, err
	}
	return reply(func(w http.ResponseWriter, r *http.Request) error {
		h := w.Header()
		h.Set("Content-Type", "text/markdown; charset=utf-8")
		h.Set("Cache-Control", "private, no-cache")
		h.Set("X-Content-Type-Options", "nosniff")
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
	tags, err := s.Queries.Tags(c.Context(), c.user, id)
	return tagsBody{orEmpty(tags)}, err
}

// tags answers GET /tags.
func (s *Server) tags(c *call) (any, error) {
	tags, err := s.Queries.VisibleTags(c.Context(), c.user)
	return tagsBody{orEmpty(tags)}, err
}
