// Package text reads plain text and Markdown in all common encodings. It recognises headings, and
// the front matter of Markdown. It imports extract, extract/charset and events/fault.
package text

import (
	"context"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/charset"
)

// Read reads plain text in constant memory. It recognises headings by their words, and by the
// blank lines around them.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	return read(ctx, f, w, readPlain)
}

// ReadMarkdown splits Markdown at its headings, except those in quotes, lists and code. The text
// of sections is the Markdown source.
func ReadMarkdown(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	return read(ctx, f, w, readMarkdown)
}

func read(ctx context.Context, f extract.File, w *extract.Writer, by func(context.Context, *charset.File, *extract.Writer) (extract.Info, error)) (extract.Info, error) {
	encoded := charset.File{File: f}
	info, err := by(ctx, &encoded, w)
	info.Warnings = append(info.Warnings, encoded.Warnings()...)
	return info, err
}
