//go:build !race

package reader_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/reader"

	"golang.org/x/sync/errgroup"
)

// BenchmarkScans reads a scanned PDF, and reports how fast that is beside as many processes of
// Tesseract as there are cores, which read the same pages from files, with the same priority.
func BenchmarkScans(b *testing.B) {
	const pages = 16
	var scans []extracttest.ScanPage
	for n := range pages {
		lines := []string{fmt.Sprintf("Page %d of a long story", n+1)}
		for range 2 {
			lines = append(lines, extracttest.Story...)
		}
		scans = append(scans, extracttest.ScanPage{Picture: extracttest.Printed(b, lines...)})
	}
	path := filepath.Join(b.TempDir(), "scan.pdf")
	if err := os.WriteFile(path, extracttest.ScannedPDF(b, scans...), 0o600); err != nil {
		b.Fatal(err)
	}
	r := extracttest.OCRReader(b, reader.OCR{})
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	dir := b.TempDir()
	for n := range pages {
		p, err := reader.Drawn(b.Context(), r, file, n+1)
		if err == nil {
			err = os.WriteFile(fmt.Sprintf("%s/%d.pgm", dir, n), append(fmt.Appendf(nil, "P5\n%d %d\n255\n", p.Width, p.Height), p.Data...), 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	languages := reader.OCRLanguages(r)
	var ours, bare time.Duration
	for b.Loop() {
		begun := time.Now()
		info, err := r.Read(b.Context(), path, "scan.pdf", extracttest.Discard, nil)
		if err != nil || info.OCRPages != pages {
			b.Fatalf("Read = %+v, %v", info, err)
		}
		ours += time.Since(begun)
		begun = time.Now()
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		for n := range pages {
			g.Go(func() error {
				cmd := exec.Command("nice", "-n", "19", "tesseract", fmt.Sprintf("%s/%d.pgm", dir, n), "stdout", "-l", languages, "--dpi", "200", "-c", "tessedit_create_tsv=1")
				cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
				return cmd.Run()
			})
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(begun)
	}
	b.ReportMetric(float64(pages)*float64(b.N)/ours.Seconds(), "pages/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "of-tesseract")
}
