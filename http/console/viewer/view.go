// Package viewer has what the console's pages show of a document: the addresses of its pages and
// of their pictures, and parts of long texts. It reads nothing itself.
//
// It imports http/console/marks and http/console/richtext.
package viewer

import (
	"cmp"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/http/console/marks"
)

// handThrough is the path below which browsers reach the REST interface.
const handThrough = "/console/api"

// Document is a document as the REST interface describes it.
type Document struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Title       string    `json:"title"`
	ContentType string    `json:"contentType"`
	Size        int64     `json:"size"`
	FolderID    string    `json:"folderId"`
	Version     int       `json:"version"`
	Past        int       `json:"-"` // the version that was asked for; 0 if it is the current one
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	Pages       int       `json:"pages"`
	Metadata    struct {
		OCRPages    int `json:"ocrPages"`
		UnreadPages int `json:"unreadPages"`
	} `json:"metadata"`
}

// Pictured reports whether there are pictures of the document's pages.
func (d Document) Pictured() bool {
	return d.Pages > 0 && (d.ContentType == "application/pdf" || strings.HasPrefix(d.ContentType, "image/"))
}

// Original returns the address of the file.
func (d Document) Original() string {
	return handThrough + d.Path() + "/content"
}

// Path returns the path of the document, or of its version, in the REST interface.
func (d Document) Path() string {
	path := "/vault/documents/" + d.ID
	if d.Past > 0 {
		path += "/versions/" + strconv.Itoa(d.Past)
	}
	return path
}

// Version returns the number of the version that an address asks for, 0 if that is the current
// one.
func Version(values url.Values) int {
	n, err := strconv.Atoi(values.Get("version"))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// View is what is shown of a document. Values are as in the address; those that make no sense
// are the default.
type View struct {
	Document  Document
	Beside    bool // it stands beside the passages of a question
	Page      int  // 0 if a part of the text is shown
	Zoom      int  // in percent
	Text      template.HTML
	Passage   template.HTML // the passage that was asked for
	Number    int           // of the pages that the passage is on; 0 if it was not found
	Lost      bool          // it was asked for, but not found
	Unmarked  bool          // the words of the page could not be had
	Size      marks.Page    // without words; its width is 0 if it is not known
	Marks     []marks.Rectangle
	FirstMark int // number of the rectangle to which the page scrolls
	Earlier   string
	Later     string
	Values    url.Values // of the address
}

// Zooms are the sizes in which pages are shown, in percent of the width of the window's part.
var Zooms = []int{100, 150, 200, 300}

// Title returns the title of the page.
func (w *View) Title() string {
	title := cmp.Or(w.Document.Title, w.Document.Name)
	if w.Page > 0 && w.Document.Pages > 1 {
		title += ", page " + strconv.Itoa(w.Page)
	}
	return title
}

// Address returns the address of this view with other values. Pairs are names and values; those
// with the value "" are left out.
func (w *View) Address(pairs ...string) string {
	values := url.Values{}
	for _, name := range []string{"q", "folder", "tag", "version", "page", "hit", "words", "zoom", "as"} {
		if value := w.Values.Get(name); value != "" {
			values.Set(name, value)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Del(pairs[i])
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	path := "/documents/" + w.Document.ID
	if w.Beside {
		path = "/"
		values.Set("open", w.Document.ID)
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return path
}

// At returns the address of a page of the document.
func (w *View) At(page int) string { return w.Address("page", strconv.Itoa(page)) }

// Previous returns the address of the previous page, "" on the first.
func (w *View) Previous() string {
	if w.Page <= 1 {
		return ""
	}
	return w.At(w.Page - 1)
}

// Next returns the address of the next page, "" on the last.
func (w *View) Next() string {
	if w.Page >= w.Document.Pages {
		return ""
	}
	return w.At(w.Page + 1)
}

// Away returns the address of the page of the passage, "" if that is shown.
func (w *View) Away() string {
	if w.Number == 0 || len(w.Marks) > 0 || w.Unmarked || w.Page == w.Number {
		return ""
	}
	return w.At(w.Number)
}

// Alone returns the address at which the document stands alone.
func (w *View) Alone() string {
	alone := *w
	alone.Beside = false
	return alone.Address()
}

// Back returns the address of the question, "" if there is none.
func (w *View) Back() string {
	values := url.Values{}
	for _, name := range []string{"q", "folder", "tag"} {
		if value := w.Values.Get(name); value != "" {
			values.Set(name, value)
		}
	}
	if !values.Has("q") {
		return ""
	}
	return "/?" + values.Encode()
}

// AsText returns the address of the document's text.
func (w *View) AsText() string { return w.Address("as", "text", "zoom", "") }

// AsPages returns the address of the document's pages.
func (w *View) AsPages() string { return w.Address("as", "") }

// Field is a value of a form.
type Field struct{ Name, Value string }

// Fields are the values of the form with which a page is chosen.
func (w *View) Fields() []Field {
	var out []Field
	for _, name := range []string{"q", "folder", "tag", "version", "hit", "words", "zoom"} {
		if value := w.Values.Get(name); value != "" {
			out = append(out, Field{name, value})
		}
	}
	if w.Beside {
		out = append(out, Field{"open", w.Document.ID})
	}
	return out
}

// Action returns the path of that form.
func (w *View) Action() string {
	if w.Beside {
		return "/"
	}
	return "/documents/" + w.Document.ID
}

// Smaller returns the address of the next smaller picture, or "".
func (w *View) Smaller() string { return w.zoomed(-1) }

// Larger returns the address of the next larger picture, or "".
func (w *View) Larger() string { return w.zoomed(1) }

func (w *View) zoomed(by int) string {
	i := slices.Index(Zooms, w.Zoom) + by
	if i < 0 || i >= len(Zooms) {
		return ""
	}
	return w.Address("zoom", strconv.Itoa(Zooms[i]), "page", strconv.Itoa(w.Page))
}

// Limits of the width of a page's picture in pixels: that of the REST interface, and that of a
// picture for a narrow window.
const (
	maxPicture  = 3_000
	leastWindow = 480
)

// Picture returns the address of the page's picture, for browsers that do not choose.
func (w *View) Picture() string { return w.picture(900 * w.Zoom / 100) }

func (w *View) picture(width int) string {
	return handThrough + w.Document.Path() + "/pages/" + strconv.Itoa(w.Page) + ".png?width=" + strconv.Itoa(min(width, maxPicture))
}

// Pictures returns the addresses and widths of the pictures among which a browser chooses.
func (w *View) Pictures() template.Srcset {
	var all []string
	for width := leastWindow; ; width = width * 3 / 2 {
		width = min(width, maxPicture)
		all = append(all, w.picture(width)+" "+strconv.Itoa(width)+"w")
		if width == maxPicture {
			return template.Srcset(strings.Join(all, ", ")) // addresses of this host, made of numbers and an id
		}
	}
}

// High returns the height of a picture that is wide pixels wide.
func (w *View) High(wide int) int {
	if w.Size.Width <= 0 {
		return 0
	}
	return int(math.Round(w.Size.Height / w.Size.Width * float64(wide)))
}
