package pdfium

import (
	"io"

	"annals/commands/importer/extract/process"
)

// The kinds of frames, for servers of other files that have pages.
const OpenedFrame, PageFrame, DoneFrame, PictureFrame = openedFrame, pageFrame, doneFrame, pictureFrame

// Request is a request of Readers; see request.
type Request struct {
	Open        bool
	Path        string
	MaxPages    int
	First, Last int
	Scans       bool
	Draw        Drawing
}

// DecodeRequest decodes the request in a frame.
func DecodeRequest(f process.Frame) (Request, error) {
	r, err := decodeRequest(f.Payload)
	if f.Kind != requestFrame {
		err = errUnexpected
	}
	return Request{r.open, r.path, r.maxPages, r.first, r.last, r.scans, r.draw}, err
}

// Fail responds to a request that the file cannot be read, with the reason for its owner.
func Fail(conn *process.Server, reason string) error {
	return conn.Send(failedFrame, failure{text: reason}.encode(), nil)
}

// Pieces returns a writer that sends the bytes of a picture. Call flush at the end.
func Pieces(conn *process.Server) (w io.Writer, flush func() error) {
	p := &pieces{conn: conn}
	return p, p.flush
}

// Size is the size, in pixels, of the picture of a page of the given size.
func (d Drawing) Size(pageWidth, pageHeight float32) (w, h int) {
	return pictureSize(pageWidth, pageHeight, d.Width, d.Pixels)
}
