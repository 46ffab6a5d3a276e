package pdf_test

import (
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
)

// BenchmarkPDF reads the ordinary PDFs of extracttest.Corpora with one process per core and, for
// comparison, with pdftotext -layout in as many processes. The metric ratio is the speed of this package divided
// by that of pdftotext.
func BenchmarkPDF(b *testing.B) {
	files, _ := filepath.Glob(extracttest.Corpora(b) + "/pdf/ordinary/*.pdf")
	if _, err := exec.LookPath("pdftotext"); err != nil {
		b.Skip("pdftotext is not installed (package poppler-utils)")
	}
	r := extracttest.ProcessReader(b, extract.Limits{})
	var pages atomic.Int64
	ours := func(path string) error {
		info, err := r.Read(b.Context(), path, filepath.Base(path), extracttest.Discard, nil)
		pages.Add(int64(info.Pages))
		return err
	}
	theirs := func(path string) error {
		return exec.CommandContext(b.Context(), "pdftotext", "-layout", "-enc", "UTF-8", path, "/dev/null").Run()
	}
	var took [2]time.Duration
	var rounds int
	both := func(b *testing.B) {
		for b.Loop() { // both in each iteration, so that they are measured under the same load of the machine
			took[0] += extracttest.InParallel(b, files, ours)
			took[1] += extracttest.InParallel(b, files, theirs)
			rounds++
		}
	}
	extracttest.InParallel(b, files, ours) // one run before the measurement, to start the processes
	pages.Store(0)
	b.Run("beside pdftotext", func(b *testing.B) {
		both(b)
		perRound := float64(pages.Load()) / float64(rounds)
		b.ReportMetric(perRound*float64(rounds)/took[0].Seconds(), "pages/s")
		b.ReportMetric(perRound*float64(rounds)/took[1].Seconds(), "pdftotext-pages/s")
		b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
	})
}
