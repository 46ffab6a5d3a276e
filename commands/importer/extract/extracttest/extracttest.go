// Package extracttest has test helpers for all formats: they create and read files, check
// sections, and find the development corpora. It imports extract, extract/ocr,
// extract/reader and events/fault.
package extracttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/ocr"
	"annals/commands/importer/extract/reader"
	"annals/events/fault"
)

// Main runs the tests or, if ProcessReader started the test binary as a reader process, runs
// that process.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "reader" {
		if err := reader.Main(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// ProcessReader returns a Reader that reads files in processes. It keeps the compiled PDFium
// in a cache for later tests. The TestMain of the package must call Main.
func ProcessReader(t testing.TB, limits extract.Limits) extract.Reader {
	return processReader(t, limits, reader.OCR{})
}

// OCRReader is like ProcessReader, but the Reader also recognises text in pictures. It skips the
// test if Tesseract is not installed. options.Program is set. change may change the other options.
func OCRReader(t testing.TB, options reader.OCR, change ...func(*reader.Options)) extract.Reader {
	var missing ocr.Missing
	program, err := ocr.Find(t.Context(), "", nil)
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	options.Program = program
	return processReader(t, extract.Limits{}, options, change...)
}

func processReader(t testing.TB, limits extract.Limits, options reader.OCR, change ...func(*reader.Options)) extract.Reader {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	o := reader.Options{Limits: limits, Command: []string{os.Args[0], "reader"}, CacheDir: cache + "/annals-test-pdfium", OCR: options}
	for _, f := range change {
		f(&o)
	}
	r := reader.New(o)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// LocalReader returns a Reader that reads files in this process, but no PDFs.
func LocalReader(t testing.TB) extract.Reader {
	r := reader.New(reader.Options{})
	t.Cleanup(func() { r.Close() })
	return r
}

// Collect returns a function that appends sections to out.
func Collect(out *[]extract.Section) func(extract.Section) error {
	return func(s extract.Section) error { *out = append(*out, s); return nil }
}

// Discard ignores a section.
func Discard(extract.Section) error { return nil }

// Read reads content as a file with the given name, in this process.
func Read(t testing.TB, name string, content []byte) ([]extract.Section, extract.Info, error) {
	t.Helper()
	r := reader.New(reader.Options{})
	defer r.Close()
	return ReadBy(t, r, filepath.Join(t.TempDir(), "file"), name, content)
}

// ReadBy is like Read, but with the Reader r and a file at path.
func ReadBy(t testing.TB, r extract.Reader, path, name string, content []byte) ([]extract.Section, extract.Info, error) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	var got []extract.Section
	info, err := r.Read(t.Context(), path, name, func(s extract.Section) error { got = append(got, s); return nil }, nil)
	return got, info, err
}

// FuzzReader returns a Reader, and the path of a file that all runs of a fuzz test may use.
func FuzzReader(f *testing.F) (extract.Reader, string) {
	r := reader.New(reader.Options{})
	f.Cleanup(func() { r.Close() })
	return r, filepath.Join(f.TempDir(), "file")
}

// CheckSections fails the test unless the sections have the properties that the sections of
// every file must have.
func CheckSections(t *testing.T, got []extract.Section, info extract.Info, err error) {
	if err != nil {
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("Read: %v of kind %v, want invalid", err, fault.KindOf(err))
		}
		return
	}
	last := -1
	for _, s := range got {
		if s.Index != last && s.Index != last+1 || len(s.Text) > extract.MaxPart+64 || !utf8.ValidString(s.Text+s.Title) || s.Level > 0 && (len(s.Path) == 0 || s.Path[len(s.Path)-1] != s.Title) {
			t.Errorf("invalid section %d after %d: %+v", s.Index, last, s)
		}
		last = s.Index
	}
	if info.Sections != last+1 || info.Title == "" {
		t.Errorf("info = %+v after %d sections", info, last+1)
	}
}

// PeakHeap runs work and returns the largest growth of the heap, in bytes.
func PeakHeap(work func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // keep garbage out of the measurement
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	var peak atomic.Uint64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				if m.HeapAlloc > before {
					peak.Store(max(peak.Load(), m.HeapAlloc-before))
				}
			}
		}
	}()
	work()
	close(done)
	<-stopped
	return peak.Load()
}
