package docx_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract/extracttest"
)

// BenchmarkDOCX reports the uncompressed bytes of the main part per second.
func BenchmarkDOCX(b *testing.B) {
	body := strings.Repeat(extracttest.P("A paragraph like many others in this long document, with some words to read.")+extracttest.Styled("Heading1", "A heading"), 5_000)
	path := filepath.Join(b.TempDir(), "a.docx")
	if err := os.WriteFile(path, extracttest.DOCX(b, body, nil), 0o600); err != nil {
		b.Fatal(err)
	}
	r := extracttest.LocalReader(b)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, "a.docx", extracttest.Discard, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBesidePandoc reads the ordinary Word documents of extracttest.Corpora with as many goroutines
// as cores and, for comparison, with pandoc in as many processes. The metric ratio is the speed of this
// package divided by that of pandoc; large-ratio is the same for one document of 10,000 paragraphs, where
// the start of pandoc does not count.
func BenchmarkBesidePandoc(b *testing.B) {
	files, _ := filepath.Glob(extracttest.Corpora(b) + "/docx/ordinary/*.docx")
	if _, err := exec.LookPath("pandoc"); err != nil {
		b.Skip("pandoc is not installed")
	}
	large := filepath.Join(b.TempDir(), "large.docx")
	body := strings.Repeat(extracttest.P("A paragraph like many others in this long document, with some words to read.")+extracttest.Styled("Heading1", "A heading"), 5_000)
	if err := os.WriteFile(large, extracttest.DOCX(b, body, nil), 0o600); err != nil {
		b.Fatal(err)
	}
	r := extracttest.LocalReader(b)
	ours := func(path string) error {
		_, err := r.Read(b.Context(), path, filepath.Base(path), extracttest.Discard, nil)
		return err
	}
	theirs := func(path string) error {
		return exec.CommandContext(b.Context(), "pandoc", "-f", "docx", "-t", "markdown", "-o", os.DevNull, path).Run()
	}
	var took [4]time.Duration
	for b.Loop() { // both in each iteration, so that they are measured under the same load of the machine
		took[0] += extracttest.InParallel(b, files, ours)
		took[1] += extracttest.InParallel(b, files, theirs)
		took[2] += extracttest.InParallel(b, []string{large}, ours)
		took[3] += extracttest.InParallel(b, []string{large}, theirs)
	}
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
	b.ReportMetric(took[3].Seconds()/took[2].Seconds(), "large-ratio")
}
