package text_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/commands/importer/extract/extracttest"
)

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

// BenchmarkTextYardstick only reads the file of BenchmarkText, for comparison.
func BenchmarkTextYardstick(b *testing.B) {
	path := extracttest.LargeFile(b, "a.txt", 64<<20, proseLine)
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
	path := extracttest.LargeFile(b, name, 64<<20, line)
	r := extracttest.LocalReader(b)
	b.SetBytes(64 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, name, extracttest.Discard, nil); err != nil {
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
	r := extracttest.LocalReader(b)
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, "a.md", extracttest.Discard, nil); err != nil {
			b.Fatal(err)
		}
	}
}
