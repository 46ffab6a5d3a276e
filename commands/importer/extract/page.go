package extract

import (
	"context"
	"strings"
)

// Viewer shows single pages of files of the formats that have pages. Pages are counted from 1.
// The errors are of kind fault.Invalid, with a text for the user, if the file's type has no
// pages that can be shown, or the page cannot be read within its limits; fault.NotFound if there
// is no such page; and fault.Unavailable if it may work later.
type Viewer interface {
	// Picture draws a page of a file as a PNG file. The picture is width pixels wide, or narrower
	// if it would exceed the limits of a picture.
	Picture(ctx context.Context, file Original, page, width int) ([]byte, error)
	// Words reads the words of a page of a file.
	Words(ctx context.Context, file Original, page int) (Page, error)
}

// Original is a stored file.
type Original struct {
	Path      string
	MediaType string
	SHA256    string // of its content, in lower-case hex; "" if it is not known
}

// ShowsPages reports whether a Viewer shows the pages of files of a type.
func ShowsPages(mediaType string) bool {
	return mediaType == PDF || strings.HasPrefix(mediaType, "image/")
}

// Page is a page as displayed. Its sizes are in points.
type Page struct {
	Width, Height float32
	Words         []PageWord // in reading order
}

// PageWord is a word of a page, with the left, top, width and height of its box in points.
type PageWord struct {
	Text                string
	X, Y, Width, Height float32
	Confidence          float32 // of the recognition, from 0 to 1; 0 if the word is text of the file
}
