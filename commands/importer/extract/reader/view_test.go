//go:build !race

package reader_test

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

func TestViewer(t *testing.T) {
	viewer := extracttest.ProcessReader(t, extract.Limits{}).(extract.Viewer)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, extracttest.PDF("BT /F1 20 Tf 72 700 Td (first) Tj ET", "BT /F1 20 Tf 72 700 Td (the second page) Tj ET"), 0o600); err != nil {
		t.Fatal(err)
	}
	picture, err := viewer.Picture(t.Context(), extract.Original{Path: path, MediaType: extract.PDF}, 2, 300)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := png.Decode(bytes.NewReader(picture)); err != nil || m.Bounds().Dx() != 300 {
		t.Errorf("Picture = %v, %v; want 300 pixels in width", m.Bounds(), err)
	}
	page, err := viewer.Words(t.Context(), extract.Original{Path: path, MediaType: extract.PDF}, 2)
	if err != nil || page.Width != 612 || page.Height != 792 || len(page.Words) != 3 {
		t.Fatalf("Words = %+v, %v", page, err)
	}
	for i, want := range []string{"the", "second", "page"} {
		w := page.Words[i]
		if w.Text != want || w.X < 72 || w.Y > 92 || w.Y+w.Height < 92 || w.Width <= 0 || w.Confidence != 0 {
			t.Errorf("word %d = %+v, want %q with a box around the baseline at 92", i, w, want)
		}
		if i > 0 && w.X < page.Words[i-1].X+page.Words[i-1].Width {
			t.Errorf("words overlap: %+v", page.Words)
		}
	}
	for name, c := range map[string]struct {
		mediaType string
		page      int
		want      fault.Kind
	}{"no such page": {extract.PDF, 3, fault.NotFound}, "no pages": {extract.Markdown, 1, fault.Invalid}} {
		if _, err := viewer.Picture(t.Context(), extract.Original{Path: path, MediaType: c.mediaType}, c.page, 300); !fault.Is(err, c.want) {
			t.Errorf("%s: Picture = %v, want %v", name, err, c.want)
		}
		if _, err := viewer.Words(t.Context(), extract.Original{Path: path, MediaType: c.mediaType}, c.page); !fault.Is(err, c.want) {
			t.Errorf("%s: Words = %v, want %v", name, err, c.want)
		}
	}
}

// A page is drawn, or refused with a reason, within its limits.
func TestViewerOfHostileFiles(t *testing.T) {
	dir := filepath.Join(extracttest.Corpora(t), "pdf", "hostile")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Skip(err)
	}
	viewer := extracttest.ProcessReader(t, extract.Limits{}).(extract.Viewer)
	drawn := 0
	for _, file := range files {
		path, begun := filepath.Join(dir, file.Name()), time.Now()
		picture, err := viewer.Picture(t.Context(), extract.Original{Path: path, MediaType: extract.PDF}, 1, 300)
		if err == nil && len(picture) > 0 {
			drawn++
		} else if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.NotFound) {
			t.Errorf("Picture of %s: %d bytes, %v", file.Name(), len(picture), err)
		}
		if _, err := viewer.Words(t.Context(), extract.Original{Path: path, MediaType: extract.PDF}, 1); err != nil && !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.NotFound) {
			t.Errorf("Words of %s: %v", file.Name(), err)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("the first page of %s took %v", file.Name(), took)
		}
	}
	if drawn < len(files)/2 {
		t.Errorf("only %d of %d files have a first page that can be drawn", drawn, len(files))
	}
}
