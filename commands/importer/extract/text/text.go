// Package text reads plain text and Markdown in any usual encoding: the headings
// of both, and the metadata that Markdown begins with. It imports the port
// extract and events/fault.
package text

import (
	"context"
	"fmt"

	"annals/commands/importer/extract"
)

// Read reads plain text in constant memory. It recognises headings by their words and by
// the blank lines around them.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	return read(ctx, f, w, readPlain)
}

// ReadMarkdown cuts Markdown at its headings; sections keep the source as it
// is. Headings inside quotes, lists and code do not begin sections.
func ReadMarkdown(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	return read(ctx, f, w, readMarkdown)
}

func read(ctx context.Context, f extract.File, w *extract.Writer, by func(context.Context, *file, *extract.Writer) (extract.Info, error)) (extract.Info, error) {
	encoded := file{File: f}
	info, err := by(ctx, &encoded, w)
	if encoded.nuls > 0 {
		info.Warnings = append(info.Warnings, fmt.Sprintf("The file holds zero bytes where text should be (%d in all); they are read as spaces.", encoded.nuls))
	}
	return info, err
}
