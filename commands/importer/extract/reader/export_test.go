package reader

import (
	"context"
	"os"
	"strings"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/pdf/pdfium"
)

// Idle returns the number of idle processes for files other than PDFs.
func Idle(r extract.Reader) int { return r.(*pooled).text.Idle() }

// Drawn returns page n of a PDF in grey, as it is drawn to be recognised.
func Drawn(ctx context.Context, r extract.Reader, file *os.File, n int) (pdfium.Picture, error) {
	readers := r.(*pooled).pdf
	payload, err := readers.ReadPage(ctx, pdfium.File{File: file}, n)
	if err != nil {
		return pdfium.Picture{}, err
	}
	page, err := pdfium.DecodePage(payload)
	if err != nil {
		return pdfium.Picture{}, err
	}
	return readers.Draw(ctx, pdfium.File{File: file}, drawingOf(page))
}

// DrawScan draws the only page of an image as it is drawn to be recognised while its file is read,
// by a process that may have read other files: draw.
func DrawScan(ctx context.Context, r extract.Reader, file *os.File, draw pdfium.Draw) (pdfium.Picture, error) {
	p := r.(*pooled)
	s := &scanner{recogniser: p.ocr, file: file, source: p.images, progress: func(string, int, int) {}}
	slot, picture, err := s.draw(ctx, pdfium.Page{Number: 1, Width: 100, Height: 100}, draw)
	if err == nil {
		slot.Release()
	}
	return picture, err
}

// OCRLanguages returns the languages that r recognises.
func OCRLanguages(r extract.Reader) string {
	return strings.Join(r.(*pooled).ocr.Program.Languages, "+")
}

// RecogniseAgain recognises the page of an image, which a request waits for only until limit.
func RecogniseAgain(ctx context.Context, r extract.Reader, file *os.File, hash string, limit time.Duration) error {
	p := r.(*pooled)
	s := &scanner{recogniser: p.ocr, file: file, hash: hash, source: p.images}
	_, err := s.recogniseAgain(ctx, pdfium.Page{Number: 1, Width: 400, Height: 500}, limit)
	return err
}
