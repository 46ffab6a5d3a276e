package reader

import (
	"context"
	"fmt"
	"os"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/events/fault"
)

// maxWords limits the words of a page that are shown.
const maxWords = 100_000

// Picture is extract.Viewer.Picture.
func (r *pooled) Picture(ctx context.Context, path, mediaType string, page, width int) ([]byte, error) {
	file, err := openPages(path, mediaType)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	picture, err := r.pdf.Draw(ctx, pdfium.File{File: file}, pdfium.Drawing{Page: page, Width: width})
	return picture.Data, err
}

// Words is extract.Viewer.Words.
func (r *pooled) Words(ctx context.Context, path, mediaType string, page int) (extract.Page, error) {
	file, err := openPages(path, mediaType)
	if err != nil {
		return extract.Page{}, err
	}
	defer file.Close()
	b, err := r.pdf.ReadPage(ctx, pdfium.File{File: file}, page)
	if err != nil {
		return extract.Page{}, err
	}
	p, err := pdfium.DecodePage(b)
	if err != nil {
		return extract.Page{}, fault.Errorf(fault.Invalid, "page %d cannot be read: %w", page, errInvalidResponse)
	}
	return wordsOf(p), nil
}

// wordsOf returns the words of a page, which may come from a hostile process.
func wordsOf(p pdfium.Page) extract.Page {
	out := extract.Page{Width: p.Width, Height: p.Height, Words: []extract.PageWord{}}
	for _, line := range p.Lines {
		for _, w := range line.Words[:min(len(line.Words), maxWords-len(out.Words))] {
			out.Words = append(out.Words, extract.PageWord{
				Text: strings.ToValidUTF8(w.Text, "\ufffd"),
				X:    w.X, Y: w.Top, Width: max(0, w.Right-w.X), Height: max(0, w.Bottom-w.Top), Confidence: line.Confidence,
			})
		}
	}
	return out
}

// openPages opens a file of a type whose pages can be shown.
func openPages(path, mediaType string) (*os.File, error) {
	if !extract.ShowsPages(mediaType) {
		return nil, fault.Errorf(fault.Invalid, "the document has no pages that can be shown: only PDFs and images have")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a file to show a page: %w", err)
	}
	return file, nil
}
