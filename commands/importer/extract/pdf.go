package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"annals/commands/importer/extract/pdfium"
	"annals/events/fault"
)

// pdfFormat returns the format that reads PDFs by processes of o.PDFCommand,
// and what ends those.
func pdfFormat(o Options) (format, func() error) {
	r := newPDFReader(o)
	return r.read, r.close
}

// ServePDF is what a process started by Options.PDFCommand runs: it reads the
// PDFs that in asks for and writes their pages to out, until in ends. What it
// compiles at its start is kept in cacheDir; where that is empty, in the
// Options.CacheDir of the Reader that started it.
func ServePDF(ctx context.Context, in io.Reader, out io.Writer, cacheDir string) error {
	return pdfium.Serve(ctx, in, out, cacheDir)
}

// pdfReader reads PDFs in processes of their own.
type pdfReader struct {
	limits  Limits
	readers *pdfium.Readers
}

func newPDFReader(o Options) *pdfReader {
	return &pdfReader{limits: o.Limits, readers: pdfium.New(pdfium.Config{
		Command:   o.PDFCommand,
		CacheDir:  o.CacheDir,
		Processes: o.Workers,
		Memory:    o.Limits.Memory,
		Time:      o.Limits.Time,
	})}
}

func (r *pdfReader) close() error { return r.readers.Close() }

// read reads a PDF page by page. A file whose reading stops in the middle
// keeps the pages that were read; a warning tells of the others.
func (r *pdfReader) read(ctx context.Context, f *file, w *sectionWriter) (Info, error) {
	var doc pdfium.Document
	var layout *pdfLayout
	var ours error                                                 // of the visitor, which is no fault of the file
	w.budget.later = func() int64 { return Allowance(f.size) / 2 } // how much text comes is not known
	err := r.readers.Read(ctx, f.Name(), r.limits.Pages, pdfium.Visitor{
		Document: func(d pdfium.Document) error {
			doc, layout = d, newPDFLayout(d, w)
			return nil
		},
		Page: func(p pdfium.Page) error {
			f.progress("reading", p.Number, doc.Pages)
			ours = layout.add(p)
			return ours
		},
	})
	err = unlessFull(err)
	tooSlow := context.Cause(ctx) == errTooSlow
	stopped := err != nil && ours == nil && (fault.Is(err, fault.Invalid) || tooSlow)
	if err != nil && !(stopped && layout != nil && layout.pages > 0) {
		if tooSlow && errors.Is(err, context.DeadlineExceeded) {
			return Info{}, fault.Errorf(fault.Invalid, "reading the PDF took longer than %v", r.limits.Time)
		}
		return Info{}, err
	}
	if err := unlessFull(layout.close()); err != nil {
		return Info{}, err
	}
	info := Info{Pages: doc.Pages, Title: layout.title, Warnings: layout.warnings()}
	if stopped {
		reason := err.Error()
		if tooSlow {
			reason = fmt.Sprintf("reading took longer than %v", r.limits.Time)
		}
		info.Warnings = append(info.Warnings, fmt.Sprintf("Only %d of %d pages were read: %s.", layout.pages, doc.Pages, reason))
	}
	return info, nil
}

// warnings are sentences on the pages that gave nothing.
func (l *pdfLayout) warnings() []string {
	var out []string
	if n := len(l.textless); n > 0 {
		out = append(out, fmt.Sprintf("%s no text and %s scanned: %s.", ofPages(n, l.doc.Pages, "holds", "hold"), looks(n), pageList(l.textless)))
	}
	if n := len(l.broken); n > 0 {
		out = append(out, fmt.Sprintf("%s damaged and could not be read in full: %s.", ofPages(n, l.doc.Pages, "is", "are"), pageList(l.broken)))
	}
	return out
}

func ofPages(n, all int, one, many string) string {
	switch {
	case all == 1:
		return "The only page " + one
	case n == 1:
		return fmt.Sprintf("1 of %d pages %s", all, one)
	}
	return fmt.Sprintf("%d of %d pages %s", n, all, many)
}

func looks(n int) string {
	if n == 1 {
		return "looks"
	}
	return "look"
}

// pageList writes rising page numbers as ranges, such as "1, 4-5"; a long list
// is cut.
func pageList(pages []int) string {
	var b strings.Builder
	for i, ranges := 0, 0; i < len(pages); ranges++ {
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		if ranges == 20 {
			b.WriteString(" and others")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, pages[i])
		if j > i {
			fmt.Fprintf(&b, "-%d", pages[j])
		}
		i = j + 1
	}
	return b.String()
}
