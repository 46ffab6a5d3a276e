package http

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"annals/events/fault"
	"annals/http/conditional"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// A browser may only show an uploaded file. PDF viewers do not start in a sandbox, but
// a PDF cannot reach this origin, so for PDF the other rules suffice.
const (
	contentPolicy = "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
	sandboxPolicy = "sandbox; " + contentPolicy
	pdfPolicy     = contentPolicy + "; object-src 'self'"
)

// content answers GET /documents/{id}/content.
func (s *Server) content(c *call, id uuid.UUID) (any, error) {
	d, err := s.Queries.Describe(c.Context(), c.user, id)
	if err != nil {
		return nil, err
	}
	return s.original(c, d)
}

// deepLink answers GET /documents/{id}.{ext}. The extension must be that of the
// document.
func (s *Server) deepLink(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	d, err := s.Queries.Describe(c.Context(), c.user, id)
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(d.Extension(), c.path("ext")) {
		return nil, fault.Errorf(fault.NotFound, "document %s is no .%s file", id, c.path("ext"))
	}
	return s.original(c, d)
}

// original answers with a document's stored bytes, or with the text of one
// that was never a file.
func (s *Server) original(c *call, d vault.Document) (any, error) {
	if d.SHA256 == "" {
		if d.Content == nil {
			return nil, fmt.Errorf("document %s has neither an original nor a text", d.ID)
		}
		sum := sha256.Sum256([]byte(*d.Content))
		return serveContent(c, d, hex.EncodeToString(sum[:]), strings.NewReader(*d.Content), nil), nil
	}
	o, err := s.Originals.Open(c.Context(), d.SHA256)
	if err != nil {
		// The log says that it was stored, so its absence is an internal fault, which
		// operators may repair.
		return nil, fault.Hide(fault.Unavailable, "the original of document "+d.ID.String()+" cannot be read at the moment", err)
	}
	return serveContent(c, d, d.SHA256, o, o), nil
}

// serveContent sends a file, whole or the ranges that were asked for.
func serveContent(c *call, d vault.Document, sum string, content io.ReadSeeker, closer io.Closer) reply {
	return func(w http.ResponseWriter, r *http.Request) error {
		if closer != nil {
			defer closer.Close()
		}
		media := d.MediaType
		if media == "" {
			media = "application/octet-stream"
		}
		disposition, cache := "inline", "private, no-cache"
		if c.page {
			media, disposition = shownAs(media)
			cache = "private, no-store" // somebody else may use the browser next
		}
		policy := sandboxPolicy
		if media == "application/pdf" {
			policy = pdfPolicy
		}
		given := w.Header().Clone()
		h := w.Header()
		if c.page {
			h.Set("Referrer-Policy", "no-referrer") // linked sites must not learn the document's URL
		}
		h.Set("Content-Type", media)
		h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": d.Name}))
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", cache)
		h.Set("ETag", `"`+sum+`"`)
		return conditional.ServeRanges(w, r, given, content)
	}
}
