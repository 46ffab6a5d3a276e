//go:build !race

// Not with the race detector, which needs more memory than reader processes have.

package reader_test

import (
	"bytes"
	"image/png"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

// The limits that an operator sets apply in the reader processes, and errors name their flags.
func TestLimitsAreConfigured(t *testing.T) {
	few := extracttest.ProcessReader(t, extract.Limits{Pages: 2, Inflated: 200_000, Nesting: 50})
	tight := extracttest.ProcessReader(t, extract.Limits{Inflation: 1000})
	// Processes with these limits read what the defaults refuse.
	wide := extracttest.ProcessReader(t, extract.Limits{Inflation: 1 << 30, Nesting: 5000})
	deep := func(n int) []byte {
		return extracttest.DOCX(t, strings.Repeat("<w:tbl><w:tr><w:tc>", n/3)+extracttest.P("inside")+strings.Repeat("</w:tc></w:tr></w:tbl>", n/3), nil)
	}
	long := extracttest.DOCX(t, extracttest.P("inside")+strings.Repeat("<!--"+strings.Repeat(" ", 1<<20)+"-->", 80), nil)
	for name, c := range map[string]struct {
		r       extract.Reader
		name    string
		content []byte
		want    string // in the error; "" if the file is read
	}{
		"inflated":       {few, "a.docx", extracttest.DOCX(t, strings.Repeat(extracttest.P("text"), 10_000), nil), "more than 200000 bytes uncompressed (--max-inflated-bytes, reached in part word/document.xml)"},
		"ratio":          {tight, "a.docx", long, "more than 1000 times the size of the file (--max-inflation, "},
		"ratio, raised":  {wide, "a.docx", long, ""},
		"depth":          {few, "a.docx", deep(60), "nested more than 50 deep (--max-nesting, "},
		"depth, raised":  {wide, "a.docx", deep(4_900), ""},
		"groups":         {few, "a.rtf", []byte(`{\rtf1 ` + strings.Repeat("{", 60)), "nested more than 50 deep (--max-nesting)"},
		"groups, raised": {wide, "a.rtf", []byte(`{\rtf1 ` + strings.Repeat("{", 4_900) + "inside"), ""},
		"pages":          {few, "a.pdf", extracttest.PDF("", "", ""), "the limit is 2 (--max-pages)"},
		"pages of TIFF":  {few, "a.tiff", manyPages(3), "the limit is 2 (--max-pages)"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := extracttest.ReadBy(t, c.r, filepath.Join(t.TempDir(), "file"), c.name, c.content)
			if c.want == "" && (err != nil || len(got) == 0 || !strings.Contains(got[0].Text, "inside")) {
				t.Errorf("Read = %+v, %v, want the text", got, err)
			}
			if c.want != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Read: %v, want %q", err, c.want)
			}
		})
	}
}

func TestPixelsAreConfigured(t *testing.T) {
	r := extracttest.ProcessReader(t, extract.Limits{Pixels: 100_000})
	for name, file := range map[string][]byte{extract.PDF: extracttest.PDF("0 0 600 800 re f"), extract.PNG: pngOf(t)} {
		path := filepath.Join(t.TempDir(), "file")
		extracttest.ReadBy(t, r, path, "a"+extract.Extension(extract.NameFor("a", name)), file)
		picture, err := r.(extract.Viewer).Picture(t.Context(), extract.Original{Path: path, MediaType: name}, 1, 3_000)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c, err := png.DecodeConfig(bytes.NewReader(picture))
		if pixels := c.Width * c.Height; err != nil || pixels > 100_000 || pixels < 95_000 {
			t.Errorf("%s: the picture has %d x %d pixels, %v, want almost 100,000", name, c.Width, c.Height, err)
		}
	}
}

func TestPageTimeIsConfigured(t *testing.T) {
	r := extracttest.ProcessReader(t, extract.Limits{PageTime: time.Second})
	path := filepath.Join(t.TempDir(), "file")
	extracttest.ReadBy(t, r, path, "a.pdf", extracttest.PDF(strings.Repeat("0 0 600 800 re f ", 100_000)))
	_, err := r.(extract.Viewer).Picture(t.Context(), extract.Original{Path: path, MediaType: extract.PDF}, 1, 2_800)
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "page 1 of the PDF took longer than 1s") {
		t.Errorf("Picture of a page that takes for ever: %v", err)
	}
}
