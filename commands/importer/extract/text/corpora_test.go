//go:build !race

package text_test

import (
	"bytes"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
)

func TestHostileMarkdownIsReadInTime(t *testing.T) {
	for name, source := range map[string]string{
		"quotes":         strings.Repeat(">", 20_000) + " deep\n" + strings.Repeat("- ", 5_000),
		"lists":          strings.Repeat("- ", 5_000) + "deep",
		"growing":        growing(300),
		"brackets":       strings.Repeat("[", 200_000) + "\n# " + strings.Repeat("[", 200_000),
		"emphasis":       strings.Repeat("*a _b ", 100_000) + "\n# " + strings.Repeat("*a _b ", 100_000),
		"backticks":      backticks(2_000),
		"sections":       strings.Repeat("# a\n", 140_000),
		"headings":       strings.Repeat("# a\n", 500_000),
		"underlines":     strings.Repeat("a\n=\n", 300_000),
		"references":     strings.Repeat("[a]: b\n", 200_000),
		"html":           strings.Repeat("<div>\n\n", 200_000),
		"long line":      strings.Repeat("word ", 1_000_000),
		"tables":         strings.Repeat("|", 500_000) + "\n" + strings.Repeat("-|", 250_000),
		"blank quotes":   strings.Repeat(">\n", 500_000),
		"deep lists":     growing(2_000),
		"less deep":      growing(1_000),
		"blanks":         growing(99) + strings.Repeat("\n", 140_000),
		"nested":         strings.Repeat(strings.Repeat("> - ", 45)+"a\n", 40_000),
		"braces":         strings.Repeat("# a "+strings.Repeat("{a=", 300)+"\n", 5_000),
		"open":           strings.Repeat("# "+strings.Repeat("[a](<", 200)+"\n", 5_000),
		"in headings":    strings.Repeat("# "+strings.Repeat("*a **a ", 140)+"\n", 5_000),
		"pipes":          strings.Repeat(strings.Repeat("|", 60)+"\n", 100_000),
		"tags":           strings.Repeat("<a b=\"<c d='", 600_000),
		"braces in tags": strings.Repeat("<a b={", 1_200_000),
		"comments":       strings.Repeat("<!-- <? <![CDATA[ ", 400_000),
		"entities":       strings.Repeat("&amp;&lt;", 800_000),
		"shortcodes":     strings.Repeat("{{< a {{% ", 700_000),
		"open tags":      strings.Repeat("<a b c d ", 800_000),
		"end tags":       strings.Repeat("<x>", 700_000) + strings.Repeat("</x>\n", 700_000),
		"html blocks":    strings.Repeat("<table><tr><td>a\n\n", 100_000),
		"code in text":   strings.Repeat("a `<` ", 1_000_000),
	} {
		start := time.Now()
		var got []extract.Section
		var err error
		if peak := extracttest.PeakHeap(func() { got, _, err = extracttest.Read(t, "a.md", []byte(source)) }); peak > 200<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, peak>>20)
		}
		if took := time.Since(start); err != nil || took > time.Minute {
			t.Errorf("%s: %v after %s", name, err, took)
		} else {
			t.Logf("%s: %d parts in %s", name, len(got), took.Round(time.Millisecond))
		}
		if n := len(got); n > 0 && got[n-1].Index >= extract.MaxSections {
			t.Errorf("%s: section %d", name, got[n-1].Index)
		}
	}
}

// growing returns the lines of a list in which each item is nested one level deeper than the
// item before.
func growing(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(strings.Repeat("  ", i) + "- item\n")
	}
	return out.String()
}

// backticks returns runs of backticks of different lengths, so that no run closes another
// one.
func backticks(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(strings.Repeat("`", i) + " ")
	}
	return out.String()
}

func TestChaptersOfNovels(t *testing.T) {
	dir := extracttest.Corpora(t)
	for name, c := range map[string]struct {
		title, chapter string
		sections       int
	}{
		"pride_and_prejudice.txt": {"Pride and Prejudice", "Chapter 61", 61},
		"sherlock_holmes.txt":     {"The Adventures of Sherlock Holmes", "XII. THE ADVENTURE OF THE COPPER BEECHES", 12},
	} {
		content, err := exec.Command("zstd", "-dcq", filepath.Join(dir, "gutenberg", name+".zst")).Output()
		if err != nil {
			t.Skip("zstd: ", err)
		}
		got, info, err := extracttest.Read(t, name, content)
		found := false
		for _, s := range got {
			found = found || s.Title == c.chapter && len(s.Text) > 5000
		}
		if err != nil || info.Title != c.title || !found || info.Sections < c.sections || info.Sections > c.sections+12 {
			t.Errorf("%s: %+v, %v, chapter found: %t", name, info, err, found)
		}
	}
}

// metadata matches front matter, of which only a part is kept in the text.
var metadata = regexp.MustCompile(`^(?s:---\n.*?\n---\n|\+\+\+\n.*?\n\+\+\+\n|<!--\{\n.*?\n\}-->\n)`)

// tags matches HTML, the text of which is kept only in code, and shortcodes.
var tags = regexp.MustCompile(`(?s)<!--.*?-->|<(?:script|style|svg|textarea|select|button|nav)\b.*?</(?:script|style|svg|textarea|select|button|nav)>|</?[A-Za-z][^<>]*>`)

// component matches a tag of the Rust book that is no HTML.
var component = regexp.MustCompile(`</?Listing[^>]*>`)

func TestMarkdownCorpora(t *testing.T) {
	dir := extracttest.Corpora(t)
	r := extracttest.LocalReader(t)
	for _, name := range []string{"rust-book", "golang-website", "tldr-en"} {
		root := t.TempDir()
		unpack := exec.Command("sh", "-c", `zstd -dcq "$1" | tar -x -C "$2"`, "sh", filepath.Join(dir, "trees", name+".tar.zst"), root)
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Skipf("unpack %s: %v, %s", name, err, out)
		}
		files, bytesIn, bytesOut := 0, 0, 0
		var took time.Duration
		err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if _, ok := extract.StandardFormats().Supports(path); err != nil || e.IsDir() || !ok {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			start := time.Now()
			text, _, err := extracttest.Markdown(t, r, path, path)
			took += time.Since(start)
			if err != nil && len(content) > 0 {
				t.Errorf("%s: %v", path, err)
			}
			files, bytesIn, bytesOut = files+1, bytesIn+len(content), bytesOut+len(text)
			if files%20 != 0 && name == "tldr-en" { // compare only some files of this corpus, because comparing takes longer than reading
				return nil
			}
			content = bytes.TrimSpace(tags.ReplaceAll(metadata.ReplaceAll(content, nil), nil))
			want, got := len(extracttest.Squashed(html.UnescapeString(string(content)))), len(extracttest.Squashed(tags.ReplaceAllString(html.UnescapeString(text), "")))
			if got < want*95/100 {
				t.Errorf("%s: %d letters of text from %d", path, got, want)
			}
			if leaked := component.FindString(text); leaked != "" {
				t.Errorf("%s: the text contains %s", path, leaked)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d files, %d bytes, %d of text, %s a file", name, files, bytesIn, bytesOut, took/time.Duration(max(files, 1)))
	}
}

func TestLargeTextMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes large files")
	}
	const size = 64 << 20
	r := extracttest.LocalReader(t)
	for name, line := range map[string]func(int) string{
		"lines.txt":    proseLine,
		"one-line.txt": func(int) string { return "word " },
		"no-space.txt": func(int) string { return "世界" },
		"headings.md":  headedLine,
		"one-line.md":  func(int) string { return "word " },
	} {
		path := extracttest.LargeFile(t, name, size, line)
		read := 0
		peak := extracttest.PeakHeap(func() {
			_, err := r.Read(t.Context(), path, name, func(s extract.Section) error {
				read += len(s.Text)
				if len(s.Text) > extract.MaxPart {
					t.Errorf("%s: a part of %d bytes", name, len(s.Text))
				}
				return nil
			}, nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if read < size*9/10 {
			t.Errorf("%s: %d bytes read of %d", name, read, size)
		}
		if peak > 32<<20 {
			t.Errorf("%s: the heap grew by %d MiB, want at most 32", name, peak>>20)
		}
		t.Logf("%s: the heap grew by %d MiB", name, peak>>20)
		os.Remove(path)
	}
}
