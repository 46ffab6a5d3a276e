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

// Content security policies for originals: a browser may display them but run no scripts. PDFs
// get the policy without sandbox, because PDF viewers do not start in one. A PDF has no access
// to this origin anyway.
const (
	contentPolicy = "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
	sandboxPolicy = "sandbox; " + contentPolicy
	pdfPolicy     = contentPolicy + "; object-src 'self'"
)

// content handles GET /documents/{id}/content.
func (s *Server) content(c *call, id uuid.UUID) (any, error) {
	d, err := s.Queries.Describe(c.Context(), c.user, id)
	if err != nil {
		return nil, err
	}
	return s.original(c, d)
}

// deepLink handles GET /documents/{id}.{ext}. It replies 404 if ext is not the document's
// extension.
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
		return nil, fault.Errorf(fault.NotFound, "document %s is not a .%s file", id, c.path("ext"))
	}
	return s.original(c, d)
}

// original replies with the original of a document. A folder summary has no original, so the
// reply is its text.
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
		// An event refers to the original. If it is missing, the client made no mistake, and
		// an operator can restore it.
		return nil, fault.Hide(fault.Unavailable, "the original of document "+d.ID.String()+" cannot be read at the moment", err)
	}
	return serveContent(c, d, d.SHA256, o, o), nil
}

// serveContent replies with a document's content, or with the requested ranges of it.
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
		base := w.Header().Clone()
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
		return conditional.ServeRanges(w, r, base, content)
	}
}
