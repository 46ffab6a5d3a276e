package reader

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/ocr"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/events/fault"
)

const (
	maxWords = 100_000          // words of a page that are shown
	maxWait  = 10 * time.Second // how long a page waits until others have been recognised
	maxShown = 20 * time.Second // how long a request waits until its page has been recognised
)

// Picture is extract.Viewer.Picture.
func (r *pooled) Picture(ctx context.Context, original extract.Original, page, width int) ([]byte, error) {
	file, err := openPages(original)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	picture, err := r.pagesOf(original.MediaType).Draw(ctx, pdfium.File{File: file}, pdfium.Drawing{Page: page, Width: width})
	return picture.Data, err
}

// Words is extract.Viewer.Words.
func (r *pooled) Words(ctx context.Context, original extract.Original, page int) (extract.Page, error) {
	file, err := openPages(original)
	if err != nil {
		return extract.Page{}, err
	}
	defer file.Close()
	b, err := r.pagesOf(original.MediaType).ReadPage(ctx, pdfium.File{File: file}, page)
	if err != nil {
		return extract.Page{}, err
	}
	p, err := pdfium.DecodePage(b)
	if err != nil {
		return extract.Page{}, fault.Errorf(fault.Invalid, "page %d cannot be read: %w", page, errInvalidResponse)
	}
	if p.Scanned && r.ocr.engine != nil && p.Width > 0 && p.Height > 0 {
		s := &scanner{recogniser: r.ocr, file: file, hash: original.SHA256, source: r.pagesOf(original.MediaType)}
		found, err := s.recogniseAgain(ctx, p, maxShown)
		if err != nil {
			return extract.Page{}, err
		}
		if replaces(found, p) {
			return recognisedWords(p, found), nil
		}
	}
	return wordsOf(p), nil
}

// recogniseAgain returns what was recognised on a scanned page when its file was read. If that is
// not known any more, it recognises the page again. If that takes longer than limit, the error is
// of kind fault.Unavailable, and the text is in the cache later.
func (s *scanner) recogniseAgain(ctx context.Context, p pdfium.Page, limit time.Duration) (ocr.Result, error) {
	key := s.key(p.Number)
	if kept, ok := s.kept(key); ok {
		return kept, nil
	}
	slot, err := s.turn(ctx)
	if err != nil {
		return ocr.Result{}, err
	}
	drawn, err := s.source.Draw(ctx, pdfium.File{File: s.file}, drawingOf(p))
	if err != nil {
		slot.Release()
		return ocr.Result{}, err
	}
	type outcome struct {
		found ocr.Result
		err   error
	}
	ended := make(chan outcome, 1)
	running, cancel := context.WithCancel(s.running)
	waits := context.AfterFunc(ctx, cancel)
	s.recogniser.pages.Go(func() {
		defer cancel()
		defer slot.Release()
		found, _, err := slot.Recognise(running, pictureOf(p, drawn))
		if err == nil {
			s.keep(key, found)
		}
		ended <- outcome{found, err}
	})
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case o := <-ended:
		return o.found, o.err
	case <-late.C:
		waits() // the end of the request does not end the recognition any more
		return ocr.Result{}, fault.Errorf(fault.Unavailable, "recognising page %d takes long: try again in a minute", p.Number)
	}
}

// turn waits until a page can be recognised at once.
func (s *scanner) turn(ctx context.Context) (*ocr.Slot, error) {
	timed, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	slot, err := s.engine.Acquire(timed)
	if err == nil {
		if err = slot.Wait(timed); err != nil {
			slot.Release()
		}
	}
	if err != nil && ctx.Err() == nil {
		err = fault.Errorf(fault.Unavailable, "too many other pages are being recognised: try again")
	}
	return slot, err
}

// recognisedWords returns the words that were recognised in the picture of a page.
func recognisedWords(p pdfium.Page, r ocr.Result) extract.Page {
	out := extract.Page{Width: p.Width, Height: p.Height, Words: []extract.PageWord{}}
	scale := p.Width / float32(r.Width)
	if r.Turn%2 == 1 {
		scale = p.Width / float32(r.Height) // the size is that of the upright picture
	}
	for _, line := range r.Lines {
		for _, w := range line.Words[:min(len(line.Words), maxWords-len(out.Words))] {
			left, top, right, bottom := r.Original(w)
			out.Words = append(out.Words, extract.PageWord{
				Text: strings.ToValidUTF8(w.Text, "\ufffd"),
				X:    left * scale, Y: top * scale, Width: max(0, right-left) * scale, Height: max(0, bottom-top) * scale,
				Confidence: min(max(w.Confidence, 0.001), 1), // 0 would mean text of the file
			})
		}
	}
	return out
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
func openPages(original extract.Original) (*os.File, error) {
	if !extract.ShowsPages(original.MediaType) {
		return nil, fault.Errorf(fault.Invalid, "the document has no pages that can be shown: only PDFs and images have")
	}
	file, err := os.Open(original.Path)
	if err != nil {
		return nil, fmt.Errorf("open a file to show a page: %w", err)
	}
	return file, nil
}
