package http

import (
	"context"
	"math"
	"net/http"
	"strconv"

	"annals/commands/importer/extract"
	"annals/events/fault"
	"annals/http/conditional"
	"annals/http/form"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// Pages shows pages of originals. *pages.Pages implements it, and describes the methods.
type Pages interface {
	Tag(original string, page, width int) string
	Picture(ctx context.Context, original, mediaType string, page, width int) ([]byte, error)
	Words(ctx context.Context, original, mediaType string, page int) (extract.Page, error)
}

// Widths of pictures of pages, in pixels.
const (
	leastPageWidth   = 16
	maxPageWidth     = 3_000
	defaultPageWidth = 600
)

// pagePicture handles GET /documents/{id}/pages/{page}.png.
func (s *Server) pagePicture(c *call, id uuid.UUID) (any, error) {
	d, err := s.Queries.Describe(c.Context(), c.user, id)
	if err != nil {
		return nil, err
	}
	return s.picture(c, d)
}

// versionPagePicture handles GET /documents/{id}/versions/{version}/pages/{page}.png.
func (s *Server) versionPagePicture(c *call) (any, error) {
	d, err := s.versionOf(c)
	if err != nil {
		return nil, err
	}
	return s.picture(c, d)
}

// pageWords handles GET /documents/{id}/pages/{page}/words.
func (s *Server) pageWords(c *call, id uuid.UUID) (any, error) {
	d, err := s.Queries.Describe(c.Context(), c.user, id)
	if err != nil {
		return nil, err
	}
	return s.words(c, d)
}

// versionPageWords handles GET /documents/{id}/versions/{version}/pages/{page}/words.
func (s *Server) versionPageWords(c *call) (any, error) {
	d, err := s.versionOf(c)
	if err != nil {
		return nil, err
	}
	return s.words(c, d)
}

// picture replies with a page of a document as a picture.
func (s *Server) picture(c *call, d vault.Document) (any, error) {
	f := form.NewQuery(c.Request)
	width, given := f.Integer("width", maxPageWidth)
	switch {
	case !given:
		width = defaultPageWidth
	case width > 0 && width < leastPageWidth:
		f.Wrong = append(f.Wrong, "width must not be less than "+strconv.Itoa(leastPageWidth))
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	page, err := s.pathPage(c, d)
	if err != nil {
		return nil, err
	}
	etag := `"` + s.Pages.Tag(d.SHA256, page, width) + `"`
	var picture []byte
	if !conditional.Known(c.Request, etag) {
		if picture, err = s.Pages.Picture(c.Context(), d.SHA256, d.MediaType, page, width); err != nil {
			return nil, err
		}
	}
	return reply(func(w http.ResponseWriter, r *http.Request) error {
		if conditional.Unchanged(w, r, etag) {
			return nil
		}
		h := w.Header()
		h.Set("Content-Type", "image/png")
		h.Set("Content-Length", strconv.Itoa(len(picture)))
		h.Set("Content-Security-Policy", sandboxPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		_, _ = w.Write(picture) // an error means that the client has disconnected
		return nil
	}), nil
}

type pageBody struct {
	Page   int        `json:"page"`
	Width  float64    `json:"width"`
	Height float64    `json:"height"`
	Words  []wordBody `json:"words"`
}

type wordBody struct {
	Text       string  `json:"text"`
	X          float64 `json:"x"`
	Y          float64 `json:"y"`
	Width      float64 `json:"width"`
	Height     float64 `json:"height"`
	Confidence float64 `json:"confidence,omitempty"`
}

// words replies with the words of a page of a document.
func (s *Server) words(c *call, d vault.Document) (any, error) {
	page, err := s.pathPage(c, d)
	if err != nil {
		return nil, err
	}
	p, err := s.Pages.Words(c.Context(), d.SHA256, d.MediaType, page)
	return pageBody{page, shortened(p.Width), shortened(p.Height), each(p.Words, func(w extract.PageWord) wordBody {
		return wordBody{w.Text, shortened(w.X), shortened(w.Y), shortened(w.Width), shortened(w.Height), shortened(w.Confidence)}
	})}, err
}

// shortened returns a number with at most three decimals.
func shortened(n float32) float64 { return math.Round(float64(n)*1000) / 1000 }

// pathPage returns the page number in the path of a request, which is a page of d that can be
// shown.
func (s *Server) pathPage(c *call, d vault.Document) (int, error) {
	switch {
	case d.Pages == 0 || !extract.ShowsPages(d.MediaType):
		return 0, fault.Errorf(fault.Invalid, "document %q has no pages that can be shown: only PDFs and images have", d.Name)
	case s.Pages == nil:
		return 0, fault.Errorf(fault.Unavailable, "this server does not show pages")
	}
	text := c.path("page")
	page, err := strconv.Atoi(text)
	if err != nil || page < 1 || page > d.Pages || strconv.Itoa(page) != text {
		return 0, fault.Errorf(fault.NotFound, "document %s has no page %s", d.ID, text)
	}
	return page, nil
}
