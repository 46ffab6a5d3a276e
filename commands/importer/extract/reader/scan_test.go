//go:build !race

package reader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/reader"
	"annals/events/fault"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// pageCache is a PageCache in memory.
type pageCache struct {
	mu     sync.Mutex
	values map[string][]byte
	hits   int
}

func (c *pageCache) Get(hash, name string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[hash+name]
	if ok {
		c.hits++
	}
	return v, ok
}

func (c *pageCache) Put(hash, name string, value []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string][]byte{}
	}
	c.values[hash+name] = value
	return nil
}

func (c *pageCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.values)
}

const typed = "BT /F1 12 Tf 40 400 Td (This page was typed, not scanned.) Tj ET"

// mixed writes a PDF with a typed page between scanned ones, and an empty page.
func mixed(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "mixed.pdf")
	page := extracttest.Printed(t, extracttest.Story...)
	file := extracttest.ScannedPDF(t,
		extracttest.ScanPage{Picture: page}, extracttest.ScanPage{Content: typed}, extracttest.ScanPage{Picture: page, Rotate: 180}, extracttest.ScanPage{},
		extracttest.ScanPage{Picture: extracttest.Printed(t, "Only a few words here.")})
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScannedPagesAreRecognised(t *testing.T) {
	path := mixed(t)
	cache := &pageCache{}
	r := extracttest.OCRReader(t, reader.OCR{Cache: cache})
	for pass := range 2 {
		var sections []extract.Section
		var mu sync.Mutex
		var steps []string
		info, err := r.Read(t.Context(), path, "mixed.pdf", extracttest.Collect(&sections), func(step string, page, pages int) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, fmt.Sprintf("%s %d of %d", step, page, pages))
		})
		if err != nil {
			t.Fatal(err)
		}
		if info.Pages != 5 || info.OCRPages != 3 || info.UnreadPages != 0 || info.Confidence < .8 || info.Confidence > 1 || len(info.Warnings) > 0 {
			t.Errorf("info %+v", info)
		}
		pages := pagesOf(sections, 5)
		for n, want := range map[int][]string{1: extracttest.Story, 2: {"This page was typed, not scanned."}, 3: extracttest.Story, 5: {"Only a few words here."}} {
			got := extracttest.Normal(pages[n])
			for _, line := range want {
				if !strings.Contains(got, extracttest.Normal(line)) {
					t.Errorf("page %d is %q, want %q", n, got, line)
				}
			}
		}
		for _, s := range sections {
			if scanned := s.StartPage != 2; s.OCR != scanned || scanned && s.Confidence <= .8 || s.OCR && s.EndPage > s.StartPage && s.StartPage < 3 {
				t.Errorf("pages %d-%d: OCR %v, confidence %v, though only page 2 was typed: %q", s.StartPage, s.EndPage, s.OCR, s.Confidence, s.Text)
			}
		}
		joined := strings.Join(steps, ", ")
		if pass == 0 && (!strings.Contains(joined, "ocr 1 of 5") || !strings.Contains(joined, "ocr 5 of 5") || strings.Contains(joined, "ocr 2 of 5")) {
			t.Errorf("steps %s", joined)
		}
		if pass == 1 && (cache.hits != 3 || strings.Contains(joined, "ocr")) {
			t.Errorf("the second time: %d pages from the cache, steps %s", cache.hits, joined)
		}
	}
}

// pagesOf returns the text of the sections by page.
func pagesOf(sections []extract.Section, pages int) []string {
	out := make([]string, pages+1)
	for _, s := range sections {
		out[s.StartPage] += "\n" + s.Title + "\n"
		from := 0
		for i := 0; i <= len(s.PageBreaks); i++ {
			to := len(s.Text)
			if i < len(s.PageBreaks) {
				to = s.PageBreaks[i]
			}
			out[s.StartPage+i] += s.Text[from:to]
			from = to
		}
	}
	return out
}

func TestUnreadPagesAreCounted(t *testing.T) {
	path := mixed(t)
	for name, c := range map[string]struct {
		reader extract.Reader
		want   string
	}{
		"missing":       {extracttest.ProcessReader(t, extract.Limits{}), ""},
		"page time":     {extracttest.OCRReader(t, reader.OCR{PageTime: time.Millisecond}), "--ocr-page-time"},
		"time of files": {extracttest.OCRReader(t, reader.OCR{Time: time.Nanosecond}), "--ocr-time"},
	} {
		text, info, err := extracttest.Markdown(t, c.reader, path, "mixed.pdf")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		warnings := strings.Join(info.Warnings, " ")
		if info.UnreadPages < 1 || info.UnreadPages+info.OCRPages != 3 || !strings.Contains(warnings, "looks scanned") && !strings.Contains(warnings, "look scanned") || !strings.Contains(warnings, c.want) {
			t.Errorf("%s: %+v", name, info)
		}
		if !strings.Contains(text, "typed, not scanned") {
			t.Errorf("%s: text %q, want the typed page", name, text)
		}
	}
}

// A file that has to be recognised says so before it waits for pages of other files, so that
// the caller can stop reading it.
func TestScannedFileDoesNotWaitBeforeItsStep(t *testing.T) {
	path := mixed(t)
	r := extracttest.OCRReader(t, reader.OCR{}, func(o *reader.Options) { o.Workers, o.Recognised = 2, 1 })
	release := make(chan struct{})
	steps := make(chan int, 2)
	var files sync.WaitGroup
	for n := range 2 {
		files.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := r.Read(ctx, path, "mixed.pdf", extracttest.Discard, func(step string, _, _ int) {
				if step == "ocr" {
					steps <- n
					<-release
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Read = %v, want %v", err, context.Canceled)
			}
		})
	}
	for range 2 {
		select {
		case <-steps:
		case <-time.After(30 * time.Second):
			t.Error("a file waits for another one before its step")
		}
	}
	close(release)
	files.Wait()
}

// What was recognised before reading is stopped stays in the cache.
func TestStoppedReadingContinuesFromCache(t *testing.T) {
	path := mixed(t)
	cache := &pageCache{}
	r := extracttest.OCRReader(t, reader.OCR{Cache: cache})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := r.Read(ctx, path, "mixed.pdf", extracttest.Discard, func(step string, page, _ int) {
		if step == "ocr" && page == 5 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Read = %v, want %v", err, context.Canceled)
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		cache.mu.Lock()
		n := len(cache.values)
		cache.mu.Unlock()
		if n == 2 {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("%d pages are in the cache, want 2", n)
		}
	}
	if info, err := r.Read(t.Context(), path, "mixed.pdf", extracttest.Discard, nil); err != nil || info.OCRPages != 3 || cache.hits != 2 {
		t.Errorf("Read = %+v, %v, with %d pages from the cache, want 2", info, err, cache.hits)
	}
}

func TestImagesAreRecognised(t *testing.T) {
	page := extracttest.Printed(t, extracttest.Story...)
	files := map[string]func(*bytes.Buffer) error{
		"a.png": func(b *bytes.Buffer) error { return png.Encode(b, page) },
		"b.jpg": func(b *bytes.Buffer) error { return jpeg.Encode(b, page, nil) },
		"c.tif": func(b *bytes.Buffer) error { return tiff.Encode(b, page, nil) },
		"d.bmp": func(b *bytes.Buffer) error { return bmp.Encode(b, page) },
	}
	r, without := extracttest.OCRReader(t, reader.OCR{}), extracttest.ProcessReader(t, extract.Limits{})
	for name, encode := range files {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		text, info, err := extracttest.Markdown(t, r, path, name)
		if err != nil || info.Pages != 1 || info.OCRPages != 1 || info.UnreadPages != 0 || info.Confidence < .8 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		for _, line := range extracttest.Story {
			if !strings.Contains(extracttest.Normal(text), extracttest.Normal(line)) {
				t.Errorf("%s: text %q, want %q", name, text, line)
			}
		}
		viewer := r.(extract.Viewer)
		if picture, err := viewer.Picture(t.Context(), extract.Original{Path: path, MediaType: info.MediaType}, 1, 200); err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
			t.Errorf("%s: picture of %d bytes, %v", name, len(picture), err)
		}
		if words, err := viewer.Words(t.Context(), extract.Original{Path: path, MediaType: info.MediaType}, 1); err != nil || len(words.Words) < 50 {
			t.Errorf("%s: %d words, %v", name, len(words.Words), err)
		}
		if _, info, err := extracttest.Markdown(t, without, path, name); err != nil || info.UnreadPages != 1 || len(info.Warnings) == 0 {
			t.Errorf("%s without Tesseract: %+v, %v", name, info, err)
		}
	}
	for name, content := range map[string]string{"text.png": "not an image", "cut.png": "\x89PNG\r\n\x1a\n\x00\x00", "cut.tif": "II*\x00\xff\xff\xff\xff"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(t.Context(), path, name, extracttest.Discard, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}

// If a process that has read other files dies while it draws a page, the page is drawn by another
// process, which knows whether the page is the cause.
func TestPageIsDrawnAgainAfterItsProcessDied(t *testing.T) {
	r := extracttest.OCRReader(t, reader.OCR{})
	died := fmt.Errorf("draw: %w", &process.Died{Death: process.Death{Cause: process.OverMemory, Detail: "exit status 2"}})
	for name, content := range map[string][]byte{"small.png": pngOf(t), "memory.png": sizedPNG(t, 40_000, 30_000)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		picture, err := reader.DrawScan(t.Context(), r, file, func(context.Context, pdfium.Drawing) (pdfium.Picture, error) {
			return pdfium.Picture{}, died
		})
		if name == "small.png" && (err != nil || len(picture.Data) == 0) {
			t.Errorf("%s: a picture of %d bytes, %v", name, len(picture.Data), err)
		}
		if name == "memory.png" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "--extract-memory")) {
			t.Errorf("%s: %v, want a sentence for the owner", name, err)
		}
	}
}

// TestScansOfCorpora recognises every fifth scan, or all (two minutes) if ANNALS_TEST_SCANS is "all", as in make check.
func TestScansOfCorpora(t *testing.T) {
	dir := extracttest.Corpora(t)
	r := extracttest.OCRReader(t, reader.OCR{})
	total, files := 0.0, 0
	all := os.Getenv("ANNALS_TEST_SCANS") == "all"
	for i, item := range extracttest.JSONLines[struct {
		File  string
		Words []string
	}](t, dir+"/pdf/scanned.jsonl") {
		if !all && i%5 > 0 {
			continue
		}
		text, info, err := extracttest.Markdown(t, r, filepath.Join(dir, "pdf/scanned", item.File), item.File)
		if err != nil {
			t.Errorf("%s: %v", item.File, err)
			continue
		}
		have := map[string]bool{}
		for w := range strings.FieldsSeq(extracttest.Normal(text)) {
			have[w] = true
		}
		found := 0
		var lost []string
		for _, w := range item.Words {
			if have[extracttest.Normal(w)] {
				found++
			} else {
				lost = append(lost, w)
			}
		}
		recall := float64(found) / float64(max(len(item.Words), 1))
		t.Logf("%-50.50s recall %.3f of %d words, %d of %d pages recognised, confidence %.2f, without %.10q %v", item.File, recall, len(item.Words), info.OCRPages, info.Pages, info.Confidence, lost, info.Warnings)
		total, files = total+recall, files+1
	}
	if total < .9*float64(files) {
		t.Errorf("word recall %.3f of %d files, want .9", total/float64(files), files)
	}
	t.Logf("word recall %.4f of %d files", total/float64(files), files)
}
