package extract

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test binary be the process that reads PDFs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "extract-pdf" {
		if err := ServePDF(context.Background(), os.Stdin, os.Stdout, ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// pdfReaderFor returns a Reader of PDFs whose compiled PDFium lasts from test
// to test.
func pdfReaderFor(t testing.TB, limits Limits) Reader {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	r := New(Options{Limits: limits, PDFCommand: []string{os.Args[0], "extract-pdf"}, CacheDir: cache + "/annals-test-pdfium"})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
