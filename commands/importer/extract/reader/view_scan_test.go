//go:build !race

package reader_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/reader"
	"annals/events/fault"
)

// The words that were recognised on a page are shown where they are in its picture, also if the
// page is upside down. They are recognised only once, and kept by the hash that is given, so that
// the file is not hashed for each page.
func TestViewerOfScannedPages(t *testing.T) {
	path := mixed(t)
	cache := &pageCache{}
	r := extracttest.OCRReader(t, reader.OCR{Cache: cache})
	viewer := r.(extract.Viewer)
	file := extract.Original{Path: path, MediaType: extract.PDF, SHA256: "its hash"}
	for i, number := range []int{1, 3} {
		page, err := viewer.Words(t.Context(), file, number)
		if err != nil {
			t.Fatal(err)
		}
		const width = 800
		picture, err := viewer.Picture(t.Context(), file, number, width)
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		var boxes []image.Rectangle
		for _, w := range page.Words {
			texts = append(texts, w.Text)
			at := func(points float32) int { return int(points * width / page.Width) }
			box := image.Rect(at(w.X), at(w.Y), at(w.X+w.Width)+1, at(w.Y+w.Height)+1)
			if w.Confidence <= 0 || w.Confidence > 1 || len(w.Text) > 2 && inked(m, box) == 0 {
				t.Errorf("page %d: the box %v of %+v has no ink", number, box, w)
			}
			boxes = append(boxes, box.Inset(-2))
		}
		got := extracttest.Normal(strings.Join(texts, " "))
		for _, line := range extracttest.Story {
			if !strings.Contains(got, extracttest.Normal(line)) {
				t.Errorf("page %d has the words %q, want %q", number, got, line)
			}
		}
		if all, in := inked(m, m.Bounds()), inked(m, boxes...); all == 0 || in < all*95/100 {
			t.Errorf("page %d: %d of %d dark pixels are in boxes of words", number, in, all)
		}
		if again, err := viewer.Words(t.Context(), file, number); err != nil || !reflect.DeepEqual(again, page) || cache.hits != i+1 {
			t.Errorf("page %d: the words are not the same again, %v, or not from the cache", number, err)
		}
	}
	for key := range cache.values {
		if !strings.HasPrefix(key, file.SHA256) {
			t.Errorf("words are kept as %s", key)
		}
	}
}

// Who shows a page does not wait long until it is recognised, but finds its text later.
func TestRecognitionOfShownPageGoesOn(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "a.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := png.Encode(file, extracttest.Printed(t, extracttest.Story...)); err != nil {
		t.Fatal(err)
	}
	cache := &pageCache{}
	r := extracttest.OCRReader(t, reader.OCR{Cache: cache})
	ctx, end := context.WithCancel(t.Context())
	if err := reader.RecogniseAgain(ctx, r, file, "its hash", 0); !fault.Is(err, fault.Unavailable) {
		t.Errorf("recognising with no time: %v, want unavailable", err)
	}
	end() // as the request does
	for begun := time.Now(); cache.len() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("the recognition has not gone on")
		}
	}
	if err := reader.RecogniseAgain(t.Context(), r, file, "its hash", 0); err != nil || cache.hits != 1 {
		t.Errorf("recognising again: %v, %d hits of the cache", err, cache.hits)
	}
}

// inked returns the number of dark pixels in rectangles of a picture.
func inked(m image.Image, in ...image.Rectangle) (n int) {
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			if color.GrayModel.Convert(m.At(x, y)).(color.Gray).Y >= 128 {
				continue
			}
			for _, r := range in {
				if image.Pt(x, y).In(r) {
					n++
					break
				}
			}
		}
	}
	return n
}
