package reader

import (
	"context"
	"errors"
	"fmt"
	"os"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/csv"
	"annals/commands/importer/extract/docx"
	"annals/commands/importer/extract/epub"
	"annals/commands/importer/extract/html"
	"annals/commands/importer/extract/mail"
	"annals/commands/importer/extract/odt"
	"annals/commands/importer/extract/pptx"
	"annals/commands/importer/extract/rtf"
	"annals/commands/importer/extract/text"
	"annals/commands/importer/extract/xlsx"
)

// format reads files of one format. It sets the title only if the file contains one.
type format func(context.Context, extract.File, *extract.Writer) (extract.Info, error)

// formats returns a function for each media type; pdf is the one that reads PDFs
// and images.
func formats(pdf format) map[string]format {
	return map[string]format{
		extract.PDF:          pdf,
		extract.Word:         docx.Read,
		extract.Markdown:     text.ReadMarkdown,
		extract.PlainText:    text.Read,
		extract.HTML:         html.Read,
		extract.PowerPoint:   pptx.Read,
		extract.Excel:        xlsx.Read,
		extract.OpenDocument: odt.Read,
		extract.CSV:          csv.Read,
		extract.TSV:          csv.Read,
		extract.Mail:         mail.Read,
		extract.EPUB:         epub.Read,
		extract.RTF:          rtf.Read,
		extract.PNG:          pdf,
		extract.JPEG:         pdf,
		extract.TIFF:         pdf,
		extract.WebP:         pdf,
		extract.BMP:          pdf,
	}
}

// local is a Reader that reads files in this process.
type local struct {
	limits  extract.Limits
	allowed extract.Formats
	formats map[string]format // by media type
}

func (r *local) Close() error { return nil }

func (r *local) Read(ctx context.Context, path, name string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
	if _, err := mediaTypeOf(name, r.allowed); err != nil {
		return extract.Info{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return extract.Info{}, fmt.Errorf("open %s: %w", name, err)
	}
	defer file.Close()
	timed, cancel := context.WithTimeoutCause(ctx, r.limits.Time, errTooSlow)
	defer cancel()
	info, err := r.readFile(timed, file, name, emit, progress)
	if err != nil && context.Cause(timed) == errTooSlow && errors.Is(err, context.DeadlineExceeded) {
		err = tooSlow(r.limits)
	}
	return info, err
}

var errTooSlow = errors.New("reading the file took too long")

// readFile reads an open file, without a limit of time.
func (r *local) readFile(ctx context.Context, opened *os.File, name string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
	mediaType, err := mediaTypeOf(name, r.allowed)
	if err != nil {
		return extract.Info{}, err
	}
	file, err := check(opened, name, mediaType)
	if err != nil {
		return extract.Info{}, err
	}
	file.Limits = r.limits
	if progress != nil {
		progress("reading", 0, 0)
	}
	w := extract.NewWriter(emit, r.limits.TextBytes)
	w.Limit(file.Size)
	info, err := r.formats[mediaType](ctx, file, w)
	err = extract.UnlessFull(err)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return extract.Info{}, err
	}
	info.MediaType = mediaType
	info.Sections = w.Sections()
	info.Title = extract.CleanTitle(info.Title)
	if info.Title == "" {
		info.Title = extract.TitleOfName(name)
	}
	info.Warnings = append(info.Warnings, w.Warnings()...)
	if info.Sections == 0 && len(info.Warnings) == 0 {
		info.Warnings = append(info.Warnings, "No text was found in the file.")
	}
	return info, nil
}
