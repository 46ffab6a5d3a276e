package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/sandbox"
)

// maxResident is the resident memory, in bytes, above which a process is not reused.
const maxResident = 64 << 20

// pooled is a Reader that reads files in processes of a pool; this process does not parse
// any part of a file. Callers limit how many files are read at a time.
type pooled struct {
	limits  extract.Limits
	allowed extract.Formats
	text    *process.Pool
	pdf     *pdfium.Readers
	images  *pdfium.Readers
	ocr     *recogniser
	alone   bool
}

func newPooled(o Options) *pooled {
	workers := cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	command := func(kind string) []string { return append(o.Command[:len(o.Command):len(o.Command)], kind) }
	pages := pdfium.Config{Processes: workers, Memory: o.Limits.Memory, Time: o.Limits.Time, PageTime: o.Limits.PageTime, Pixels: o.Limits.Pixels}
	pdfs, images := pages, pages
	pdfs.Command, pdfs.CacheDir, pdfs.Reserved = command(kindPDF), o.CacheDir, o.Reserved
	images.Command, images.Images, images.Reserved = command(kindImage), true, workers
	return &pooled{
		limits: o.Limits, allowed: o.Formats,
		text:   process.NewPool(process.Config{Command: command(kindText), Memory: o.Limits.Memory, MaxResident: maxResident, Uses: 1000}),
		pdf:    pdfium.New(pdfs),
		images: pdfium.New(images),
		ocr:    newRecogniser(o.OCR, command(kindOCR), cmp.Or(o.Recognised, workers)),
	}
}

func (r *pooled) Close() error {
	return errors.Join(r.ocr.close(), r.text.Close(), r.pdf.Close(), r.images.Close())
}

// Isolated returns a Reader that is like r, but reads each file in new processes that read
// only this file. Only r needs to be closed. If r does not use processes, Isolated returns
// r.
func Isolated(r extract.Reader) extract.Reader {
	p, ok := r.(*pooled)
	if !ok {
		return r
	}
	alone := *p
	alone.alone = true
	return &alone
}

// Inspect returns the sandbox report of a process of r.
func Inspect(ctx context.Context, r extract.Reader) (sandbox.Report, error) {
	pooled, ok := r.(*pooled)
	if !ok {
		return sandbox.Report{Lacks: []string{"separate processes"}}, nil
	}
	p, err := pooled.text.Take(ctx, false)
	if err != nil {
		return sandbox.Report{}, err
	}
	defer pooled.text.Release(p)
	return p.Report, nil
}

func (r *pooled) Read(ctx context.Context, path, name string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
	mediaType, err := mediaTypeOf(name, r.allowed)
	if err != nil {
		return extract.Info{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return extract.Info{}, fmt.Errorf("open %s: %w", name, err)
	}
	defer file.Close()
	p, err := r.text.Take(ctx, r.alone)
	if err != nil {
		return extract.Info{}, err
	}
	defer r.text.Release(p)
	if progress == nil {
		progress = func(string, int, int) {}
	}
	s := session{pooled: r, p: p, file: file, emit: emit, progress: progress, check: checker{limits: r.limits}}
	s.source = r.pagesOf(mediaType)
	s.scans = &scanner{recogniser: r.ocr, file: file, source: s.source, progress: progress}
	info, err := s.run(ctx, name, s.source != nil)
	p.Unusable = p.Unusable || r.alone
	if err != nil {
		return extract.Info{}, err
	}
	info.MediaType = mediaType
	info.Warnings = append(info.Warnings, s.scans.warnings(info.UnreadPages)...)
	return info, nil
}

// pagesOf returns what reads the pages of files of a media type; nil if they have none.
func (r *pooled) pagesOf(mediaType string) *pdfium.Readers {
	switch {
	case mediaType == extract.PDF:
		return r.pdf
	case extract.ShowsPages(mediaType):
		return r.images
	}
	return nil
}
