package extract

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// largeFile writes a file of about size bytes of what line makes.
func largeFile(t testing.TB, name string, size int, line func(i int) string) string {
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i, n := 0, 0; n < size; i++ {
		k, err := w.WriteString(line(i))
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func proseLine(i int) string {
	if i%12 == 0 {
		return "\n"
	}
	return fmt.Sprintf("Line %d of a long text that goes on and on, as such texts do.\n", i)
}

func headedLine(i int) string {
	if i%1000 == 0 {
		return fmt.Sprintf("\n## Part %d of *many*\n\n", i/1000)
	}
	return proseLine(i)
}

func BenchmarkText(b *testing.B)     { benchmarkLarge(b, "a.txt", proseLine) }
func BenchmarkMarkdown(b *testing.B) { benchmarkLarge(b, "a.md", headedLine) }
func BenchmarkUTF16(b *testing.B) {
	benchmarkLarge(b, "a.txt", func(i int) string {
		var out strings.Builder
		for _, c := range proseLine(i) {
			out.WriteByte(byte(c))
			out.WriteByte(0)
		}
		return out.String()
	})
}
func BenchmarkTextOfOneLine(b *testing.B) {
	benchmarkLarge(b, "a.txt", func(i int) string { return "word " })
}
func BenchmarkTextOfUmlauts(b *testing.B) {
	benchmarkLarge(b, "a.txt", func(i int) string {
		return fmt.Sprintf("Zeile %d, für Größe und Länge mit Umlauten geschrieben.\n", i)
	})
}

// BenchmarkTextYardstick reads the same file as BenchmarkText and does
// nothing with it.
func BenchmarkTextYardstick(b *testing.B) {
	path := largeFile(b, "a.txt", 64<<20, proseLine)
	b.SetBytes(64 << 20)
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func benchmarkLarge(b *testing.B, name string, line func(int) string) {
	path := largeFile(b, name, 64<<20, line)
	r := New(Options{})
	defer r.Close()
	b.SetBytes(64 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, name, func(Section) error { return nil }, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSmallMarkdown(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.md")
	text := "# dir\n\n> List *files*.\n> More information: <https://example.org>.\n\n- Show all:\n\n`dir /a`\n\n- Sort by size:\n\n`dir /os`\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	r := New(Options{})
	defer r.Close()
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, "a.md", func(Section) error { return nil }, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDOCX counts the bytes of the inflated document part.
func BenchmarkDOCX(b *testing.B) {
	body := strings.Repeat(p("A paragraph like many others in this long document, with some words to read.")+styled("Heading1", "A heading"), 5_000)
	path := filepath.Join(b.TempDir(), "a.docx")
	if err := os.WriteFile(path, docxOf(b, body, nil), 0o600); err != nil {
		b.Fatal(err)
	}
	r := New(Options{})
	defer r.Close()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, "a.docx", func(Section) error { return nil }, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// peakHeap runs work and returns by how many bytes the heap grew at most.
func peakHeap(work func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // so that garbage counts for little
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
