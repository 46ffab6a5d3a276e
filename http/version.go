package http

import (
	"strconv"

	"annals/http/conditional"
	"annals/queries/vault"

	"github.com/google/uuid"
)

type versionBody struct {
	Version     int        `json:"version"`
	CreatedAt   moment     `json:"createdAt"`
	CreatedBy   string     `json:"createdBy"`
	Change      string     `json:"change"`
	Name        string     `json:"name"`
	ContentType *string    `json:"contentType"`
	Size        int64      `json:"size"`
	SHA256      string     `json:"sha256"`
	FolderID    *uuid.UUID `json:"folderId"`
	Tags        []string   `json:"tags"`
}

// versions handles GET /documents/{id}/versions.
func (s *Server) versions(c *call, id uuid.UUID) (any, error) {
	list, err := s.Queries.Versions(c.Context(), c.user, id)
	return each(list, func(v vault.Version) versionBody {
		return versionBody{v.Version, moment(v.CreatedAt), string(v.CreatedBy), v.Change, v.Name, orNull(v.MediaType), v.Size, v.SHA256, parentOrNull(v.Folder), orEmpty(v.Tags)}
	}), err
}

// documentVersion handles GET /documents/{id}/versions/{version}. Its ETag depends on the
// body, not on the version number. It is therefore not valid in If-Match: only the current
// version can be changed.
func (s *Server) documentVersion(c *call) (any, error) {
	id, version, err := c.pathVersion()
	if err != nil {
		return nil, err
	}
	d, err := s.Queries.DocumentVersion(c.Context(), c.user, id, version, true)
	return documentBody(d), err
}

// versionContent handles GET /documents/{id}/versions/{version}/content.
func (s *Server) versionContent(c *call) (any, error) {
	d, err := s.versionOf(c)
	if err != nil {
		return nil, err
	}
	return s.original(c, d)
}

// versionMarkdown handles GET /documents/{id}/versions/{version}/markdown.
func (s *Server) versionMarkdown(c *call) (any, error) {
	id, version, err := c.pathVersion()
	if err != nil {
		return nil, err
	}
	d, write, err := s.Queries.VersionMarkdown(c.Context(), c.user, id, version)
	if err != nil {
		return nil, err
	}
	return s.sendMarkdown(c, d, conditional.Weak([]byte(c.URL.Path)), write), nil // the text of a version never changes
}

// versionOf returns the document as of the version in the path of a request, without its text.
func (s *Server) versionOf(c *call) (vault.Document, error) {
	id, version, err := c.pathVersion()
	if err != nil {
		return vault.Document{}, err
	}
	return s.Queries.DocumentVersion(c.Context(), c.user, id, version, false)
}

// pathVersion returns the document id and the version number in the path of a request.
func (c *call) pathVersion() (id uuid.UUID, version int, err error) {
	if id, err = c.pathID(); err != nil {
		return id, 0, err
	}
	text := c.path("version")
	version, err = strconv.Atoi(text)
	if err != nil || version < 1 || strconv.Itoa(version) != text {
		return id, 0, errNoVersion
	}
	return id, version, nil
}
