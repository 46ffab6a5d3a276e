package pdfium

import (
	"errors"
	"os"

	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

const (
	maxFile         = 2<<30 - 1 // bytes; PDFium's offsets have 32 bits
	maxOutline      = 10_000    // bookmarks; outlines may be cyclic
	maxOutlineLevel = 16
)

// document is an open PDF.
type document struct {
	*engine
	ref        references.FPDF_DOCUMENT
	pages      int
	file       *os.File
	forms      *forms
	frame      // of the page that is read
	knownFonts map[fontKey]*font
}

// unreadable is an error that tells the owner of a file why it cannot be read.
type unreadable string

func (u unreadable) Error() string { return string(u) }

// open opens a PDF. Closing the document closes the file. If the file is the reason for a
// failure, the error is an unreadable.
func (e *engine) open(file *os.File) (*document, error) {
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.Size() == 0:
		err = unreadable("the file is empty")
	case info.Size() > maxFile:
		err = unreadable("the PDF is larger than 2 GiB: split it, and upload the parts")
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	reply, err := e.FPDF_LoadCustomDocument(&requests.FPDF_LoadCustomDocument{
		Reader: &window{file: file, size: info.Size(), space: e.space}, Size: info.Size(),
	})
	if err != nil {
		file.Close()
		return nil, openError(err)
	}
	d := &document{engine: e, ref: reply.Document, file: file}
	count, err := e.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: d.ref})
	if err != nil {
		d.close()
		return nil, err
	}
	d.pages = count.PageCount
	return d, nil
}

func openError(err error) error {
	switch {
	case errors.Is(err, pdferrors.ErrPassword):
		return unreadable("the PDF is protected by a password: save it without a password, and import it again")
	case errors.Is(err, pdferrors.ErrSecurity):
		return unreadable("the PDF is encrypted in a way that is not supported: save it without encryption, and import it again")
	case errors.Is(err, pdferrors.ErrFormat), errors.Is(err, pdferrors.ErrFile), errors.Is(err, pdferrors.ErrPage),
		errors.Is(err, pdferrors.ErrUnknown), errors.Is(err, pdferrors.ErrSuccess), errors.Is(err, pdferrors.ErrUnexpected):
		return unreadable("the file is not a PDF, or too damaged to be opened: save it again, and upload the new file")
	}
	return err
}

func (d *document) close() error {
	d.forms.close()
	_, err := d.FPDF_CloseDocument(&requests.FPDF_CloseDocument{Document: d.ref})
	return errors.Join(err, d.file.Close())
}

// describe returns the document's number of pages, title and outline. Whatever is missing or
// malformed in the file is left out.
func (d *document) describe() Document {
	out := Document{Pages: d.pages, Outline: d.outline()}
	if meta, err := d.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: d.ref, Tag: "Title"}); err == nil {
		out.Title = meta.Value
	}
	return out
}

// outline returns the bookmarks in order. Their number is limited, because they may be cyclic.
func (d *document) outline() []Bookmark {
	var out []Bookmark
	var walk func(parent *references.FPDF_BOOKMARK, level int)
	walk = func(parent *references.FPDF_BOOKMARK, level int) {
		first, err := d.FPDFBookmark_GetFirstChild(&requests.FPDFBookmark_GetFirstChild{Document: d.ref, Bookmark: parent})
		if err != nil || level > maxOutlineLevel {
			return
		}
		for mark := first.Bookmark; mark != nil && len(out) < maxOutline; {
			out = append(out, d.bookmark(*mark, level))
			walk(mark, level+1)
			next, err := d.FPDFBookmark_GetNextSibling(&requests.FPDFBookmark_GetNextSibling{Document: d.ref, Bookmark: *mark})
			if err != nil {
				return
			}
			mark = next.Bookmark
		}
	}
	walk(nil, 1)
	return out
}

func (d *document) bookmark(mark references.FPDF_BOOKMARK, level int) Bookmark {
	b := Bookmark{Level: level, Y: -1}
	if title, err := d.FPDFBookmark_GetTitle(&requests.FPDFBookmark_GetTitle{Bookmark: mark}); err == nil {
		b.Title = title.Title
	}
	dest, ok := d.destination(mark)
	if !ok {
		return b
	}
	page, err := d.FPDFDest_GetDestPageIndex(&requests.FPDFDest_GetDestPageIndex{Document: d.ref, Dest: dest})
	if err != nil || page.Index < 0 || page.Index >= d.pages {
		return b
	}
	b.Page = page.Index + 1
	at, err := d.FPDFDest_GetLocationInPage(&requests.FPDFDest_GetLocationInPage{Dest: dest})
	if err != nil || at.Y == nil {
		return b
	}
	size, err := d.FPDF_GetPageSizeByIndex(&requests.FPDF_GetPageSizeByIndex{Document: d.ref, Index: page.Index})
	if err == nil {
		b.Y = max(0, float32(size.Height)-*at.Y)
	}
	return b
}

// destination returns the target of a bookmark or of its action.
func (d *document) destination(mark references.FPDF_BOOKMARK) (references.FPDF_DEST, bool) {
	direct, err := d.FPDFBookmark_GetDest(&requests.FPDFBookmark_GetDest{Document: d.ref, Bookmark: mark})
	if err == nil && direct.Dest != nil {
		return *direct.Dest, true
	}
	action, err := d.FPDFBookmark_GetAction(&requests.FPDFBookmark_GetAction{Bookmark: mark})
	if err != nil || action.Action == nil {
		return "", false
	}
	through, err := d.FPDFAction_GetDest(&requests.FPDFAction_GetDest{Document: d.ref, Action: *action.Action})
	if err != nil || through.Dest == nil {
		return "", false
	}
	return *through.Dest, true
}
