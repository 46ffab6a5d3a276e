package extract

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test binary be a process that reads files.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "reader" {
		if err := Main(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// pdfReaderFor returns a Reader by processes, whose compiled PDFium lasts from
// test to test.
func pdfReaderFor(t testing.TB, limits Limits) Reader {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	r := New(Options{Limits: limits, Command: []string{os.Args[0], "reader"}, CacheDir: cache + "/annals-test-pdfium"})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
