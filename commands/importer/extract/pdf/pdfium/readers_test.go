package pdfium

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

// readersOf returns Readers whose processes run the test binary in the given mode.
func readersOf(t *testing.T, mode string, config Config) *Readers {
	config.Command = []string{os.Args[0], mode}
	if cache, err := os.UserCacheDir(); err == nil {
		config.CacheDir = filepath.Join(cache, "annals-test-pdfium")
	}
	r := New(config)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// linePDF writes a PDF with one line on each page, and returns its path.
func linePDF(t *testing.T, lines ...string) string {
	var b strings.Builder
	var offsets []int
	object := func(body string) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), body)
	}
	b.WriteString("%PDF-1.4\n")
	kids := ""
	for i := range lines {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids, len(lines)))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i, line := range lines {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate %d /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 90*(i%4), 5+2*i))
		content := "BT /F1 2 Tf 6 0 0 6 100 700 Tm (" + line + ") Tj ET"
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	path := filepath.Join(t.TempDir(), "test.pdf")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// visitor is like Visitor, but gets decoded documents and pages.
type visitor struct {
	document func(Document) error // may be nil
	page     func(Page) error
	alone    bool
}

func visit(ctx context.Context, r *Readers, path string, maxPages int, v visitor) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return r.Read(ctx, File{File: file, MaxPages: maxPages, Alone: v.alone}, Visitor{
		Document: func(pages int, document []byte) error {
			d, err := DecodeDocument(document)
			if err != nil || d.Pages != pages {
				return fmt.Errorf("a document of %d pages: %+v, %v", pages, d, err)
			}
			if v.document == nil {
				return nil
			}
			return v.document(d)
		},
		Page: func(number int, page []byte) error {
			p, err := DecodePage(page)
			if err != nil || p.Number != number {
				return fmt.Errorf("page %d: %+v, %v", number, p, err)
			}
			return v.page(p)
		},
	})
}

// pagesOf reads a file and returns its pages.
func pagesOf(ctx context.Context, r *Readers, path string) (pages []Page, err error) {
	err = visit(ctx, r, path, 10, visitor{page: func(p Page) error { pages = append(pages, p); return nil }})
	return pages, err
}

// anyFile is passed to processes that do not read the file.
const anyFile = "readers_test.go"

func TestLinePositions(t *testing.T) {
	r := readersOf(t, "serve", Config{})
	pages, err := pagesOf(t.Context(), r, linePDF(t, "upright", "quarter", "half", "three quarters"))
	if err != nil || len(pages) != 4 {
		t.Fatalf("Read = %d pages, %v", len(pages), err)
	}
	for i, want := range []struct {
		x, y, width float32
		turned      bool
	}{{100, 92, 612, false}, {700, 100, 792, true}, {512, 700, 612, true}, {92, 512, 792, true}} {
		p := pages[i]
		if len(p.Lines) != 1 || p.Number != i+1 || p.Width != want.width {
			t.Fatalf("page %d: %+v", i+1, p)
		}
		if l := p.Lines[0]; l.X != want.x || l.Y != want.y || l.Turned != want.turned || l.Size != 12 {
			t.Errorf("page %d: line at %v, %v, turned %t, size %v; want %+v and size 12", i+1, l.X, l.Y, l.Turned, l.Size, want)
		}
	}
}

func TestProcessIsReused(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1, Files: 3})
	path := linePDF(t, "one")
	var idle []int
	for range 6 {
		if _, err := pagesOf(t.Context(), r, path); err != nil {
			t.Fatal(err)
		}
		idle = append(idle, r.pool.Idle())
	}
	if want := []int{1, 1, 0, 1, 1, 0}; !slices.Equal(idle, want) { // each process is replaced after three files
		t.Errorf("idle processes after each of 6 files = %v, want %v", idle, want)
	}
}

func TestFilesAreReadConcurrently(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 2})
	path := linePDF(t, "one", "two")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if pages, err := pagesOf(t.Context(), r, path); err != nil || len(pages) != 2 {
				t.Errorf("Read = %d pages, %v", len(pages), err)
			}
		})
	}
	group.Wait()
	if n := r.pool.Idle(); n > 2 {
		t.Errorf("%d processes, want at most 2", n)
	}
}

// PDFium gets the share of a reader process's memory limit that the documentation states.
func TestPDFiumMemoryShare(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits the memory of a process")
	}
	r := readersOf(t, "serve", Config{Processes: 1})
	read := func(mib int) error {
		// PDFium keeps this array of numbers, which is in the document's catalogue, in
		// memory.
		numbers := strings.Repeat("7 ", mib<<20/numberCost)
		path := filepath.Join(t.TempDir(), "big.pdf")
		body := "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R /Kept [" + numbers + "] >>\nendobj\n" +
			"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>\nendobj\n" +
			"trailer << /Size 4 /Root 1 0 R >>\n%%EOF\n"
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := pagesOf(t.Context(), r, path)
		return err
	}
	if err := read(150 - 17); err != nil { // PDFium takes 17 MiB at the start
		t.Errorf("Read of a PDF that takes 150 of %d MiB: %v", memoryOfPDFium(DefaultMemory)>>20, err)
	}
	if err := read(300); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "more memory than the 252 MiB") {
		t.Errorf("Read of a PDF that takes 300 MiB: %v, want a memory error", err)
	}
}

// numberCost is the memory in bytes that PDFium takes for a number in an array.
const numberCost = 28

func TestCrashFailsOnlyItsFile(t *testing.T) {
	for mode, want := range map[string]string{
		"hang":   "a page of the PDF took longer than 300ms (--page-time), and reading was stopped after page 1 of 3: save the file again, or ask the operator for more time",
		"crash":  "the PDF is damaged or needs more memory than the 252 MiB that --extract-memory (416 MiB) leaves for it, and reading stopped after page 1 of 3: save it again, or split it, and upload the new files",
		"babble": "the PDF is damaged or needs more memory than the 252 MiB that --extract-memory (416 MiB) leaves for it, and reading stopped after page 1 of 3: save it again, or split it, and upload the new files",
	} {
		r := readersOf(t, mode, Config{PageTime: 300 * time.Millisecond})
		for range 2 { // the file is read twice, each time in a new process
			pages, err := pagesOf(t.Context(), r, anyFile)
			if !fault.Is(err, fault.Invalid) || err.Error() != want || len(pages) != 1 {
				t.Errorf("%s: Read = %d pages, %v; want 1 and %s", mode, len(pages), err, want)
			}
		}
		if r.pool.Idle() != 0 {
			t.Errorf("%s: the failed process is idle, want it killed", mode)
		}
	}
}

func TestCPULimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits CPU time")
	}
	r := readersOf(t, "spin", Config{Time: time.Second, PageTime: time.Hour})
	if err := r.compile(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := r.pool.Take(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.pool.Release(p)
	if err := p.Begin(time.Second); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Send(requestFrame, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for err = error(nil); err == nil; {
		_, _, err = p.Receive(t.Context(), time.Minute)
	}
	if d := p.Died(); d.Cause != process.OverCPU {
		t.Errorf("death of a spinning process = %+v, want OverCPU", d)
	}
}

func TestTimeLimitOfFile(t *testing.T) {
	r := readersOf(t, "hang", Config{Time: 300 * time.Millisecond})
	_, err := pagesOf(t.Context(), r, anyFile)
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "took longer than 300ms") {
		t.Errorf("Read = %v", err)
	}
}

func TestReadHonoursContext(t *testing.T) {
	r := readersOf(t, "hang", Config{})
	ctx, cancel := context.WithCancel(t.Context())
	err := visit(ctx, r, anyFile, 10, visitor{page: func(Page) error { cancel(); return nil }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want context.Canceled", err)
	}
}

func TestStartFailureIsUnavailable(t *testing.T) {
	r := readersOf(t, "stillborn", Config{})
	_, err := pagesOf(t.Context(), r, anyFile)
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "no such subcommand") {
		t.Errorf("Read: %v, want unavailable with the stderr of the process", err)
	}
}

func TestVisitorErrorIsReturned(t *testing.T) {
	r := readersOf(t, "serve", Config{})
	want := errors.New("stop")
	path := linePDF(t, "one", "two")
	err := visit(t.Context(), r, path, 10, visitor{page: func(Page) error { return want }})
	if err != want {
		t.Errorf("Read = %v, want %v", err, want)
	}
	if pages, err := pagesOf(t.Context(), r, path); err != nil || len(pages) != 2 {
		t.Errorf("next Read = %d pages, %v", len(pages), err)
	}
}

func TestIdleProcessIsKilled(t *testing.T) {
	r := readersOf(t, "serve", Config{Idle: time.Millisecond})
	if _, err := pagesOf(t.Context(), r, linePDF(t, "one")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); r.pool.Idle() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if r.pool.Idle() != 0 {
		t.Error("the idle process was not killed")
	}
}

func TestErrorsNameCause(t *testing.T) {
	r := readersOf(t, "serve", Config{})
	dir := t.TempDir()
	for content, want := range map[string]string{
		"":              "the file is empty",
		"no PDF at all": "the file is not a PDF, or too damaged to be opened: save it again, and upload the new file",
	} {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := pagesOf(t.Context(), r, path); !fault.Is(err, fault.Invalid) || err.Error() != want {
			t.Errorf("%q: Read = %v, want %s", content, err, want)
		}
	}
	many := linePDF(t, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11")
	if _, err := pagesOf(t.Context(), r, many); !fault.Is(err, fault.Invalid) || err.Error() != "the PDF has 11 pages, and the limit is 10 (--max-pages): split it, and upload the parts" {
		t.Errorf("Read = %v", err)
	}
}

// BenchmarkStart measures the start of a process with the compiled PDFium on disk.
func BenchmarkStart(b *testing.B) {
	r := New(Config{Command: []string{os.Args[0], "serve"}, CacheDir: b.TempDir()})
	defer r.Close()
	if err := r.compile(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := r.pool.Take(b.Context(), true)
		if err != nil {
			b.Fatal(err)
		}
		p.Unusable = true
		r.pool.Release(p)
	}
}
