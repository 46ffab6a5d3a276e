//go:build !race

package pdf_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

// expectedPages returns the text of each page of a PDF, as another program has extracted it.
func expectedPages(t *testing.T, path string) []string {
	f, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(all), "\f")
}

// textByPage returns the text of sections by page.
func textByPage(sections []extract.Section, pages int) []string {
	out := make([]strings.Builder, pages+2)
	for _, s := range sections {
		if s.Part == 0 {
			out[s.StartPage].WriteString("\n" + s.Title + "\n")
		}
		from := 0
		for i := 0; i <= len(s.PageBreaks); i++ {
			to := len(s.Text)
			if i < len(s.PageBreaks) {
				to = s.PageBreaks[i]
			}
			out[s.StartPage+i].WriteString(s.Text[from:to] + "\n")
			from = to
		}
	}
	texts := make([]string, len(out))
	for i := range out {
		texts[i] = extracttest.Squashed(out[i].String())
	}
	return texts
}

var longWord = regexp.MustCompile(`[A-Za-z]{3,}`)

func TestPDFWordRecall(t *testing.T) {
	dir := extracttest.Corpora(t)
	r := extracttest.ProcessReader(t, extract.Limits{})
	var recall float64
	files, probes, found, right := 0, 0, 0, 0
	for _, item := range extracttest.JSONLines[struct{ File, Expected string }](t, dir+"/pdf/ordinary.jsonl") {
		want := expectedPages(t, dir+"/pdf/"+item.Expected)
		var sections []extract.Section
		info, err := r.Read(t.Context(), dir+"/pdf/ordinary/"+item.File, item.File, extracttest.Collect(&sections), nil)
		if err != nil {
			t.Errorf("%s: %v", item.File, err)
			continue
		}
		pages := textByPage(sections, info.Pages)
		all, words := strings.Join(pages, ""), map[string]bool{}
		for _, s := range sections {
			for w := range strings.FieldsSeq(extracttest.Normal(s.Title + " " + s.Text)) {
				words[w] = true
			}
		}
		wanted, had := map[string]bool{}, 0
		for w := range strings.FieldsSeq(extracttest.Normal(strings.Join(want, "\n"))) {
			if len([]rune(w)) >= 4 && !wanted[w] {
				wanted[w] = true
				if words[w] {
					had++
				}
			}
		}
		missed := 0
		for n, page := range want {
			for line := range strings.Lines(page) {
				line = strings.Join(strings.Fields(line), " ")
				if k := len(strings.Fields(line)); k < 8 || k > 25 || len(longWord.FindAllString(line, -1)) < 6 || strings.Count(strings.Join(want, ""), line) != 1 {
					continue
				}
				probes++
				probe := extracttest.Squashed(line)
				if !strings.Contains(all, probe) {
					missed++
					continue
				}
				found++
				if n+1 < len(pages) && strings.Contains(pages[n+1], probe) {
					right++
				} else if testing.Verbose() {
					t.Logf("%s: not on page %d: %q", item.File, n+1, line)
				}
			}
		}
		share := float64(had) / float64(max(len(wanted), 1))
		t.Logf("%-50.50s %3d pages, %3d sections, recall %.3f, %d lines missed, title %q %v", item.File, info.Pages, info.Sections, share, missed, info.Title, info.Warnings)
		recall += share
		files++
	}
	recall /= float64(files)
	t.Logf("word recall %.4f of %d files; of %d lines %.4f found, of these %.4f on their page", recall, files, probes, float64(found)/float64(probes), float64(right)/float64(found))
	if recall < .93 {
		t.Errorf("word recall %.4f, want .93", recall)
	}
	if float64(right) < .99*float64(found) {
		t.Errorf("%d of %d lines on their page, want .99", right, found)
	}
}

type pdfCase struct {
	File, Format string
	Hard         bool
	Wanted       []string `json:"must_contain"`
}

func TestPDFCases(t *testing.T) {
	dir := extracttest.Corpora(t)
	r := extracttest.ProcessReader(t, extract.Limits{})
	type tally struct{ normal, squashed, all int }
	count := map[bool]tally{}
	for _, c := range extracttest.JSONLines[[]pdfCase](t, dir+"/cases/cases.json")[0] {
		if c.Format != "pdf" {
			continue
		}
		text, info, err := extracttest.Markdown(t, r, dir+"/cases/files/"+c.File, filepath.Base(c.File))
		if err != nil {
			t.Errorf("%s: %v", c.File, err)
		}
		n := count[c.Hard]
		for _, want := range c.Wanted {
			n.all++
			inNormal, inSquashed := strings.Contains(extracttest.Normal(text), extracttest.Normal(want)), strings.Contains(extracttest.Squashed(text), extracttest.Squashed(want))
			if inNormal {
				n.normal++
			}
			if inSquashed {
				n.squashed++
			}
			if !inNormal {
				t.Logf("%s (hard: %t, squashed: %t) without %q", c.File, c.Hard, inSquashed, want)
			}
		}
		count[c.Hard] = n
		t.Logf("%s: title %q, %d sections, %v", c.File, info.Title, info.Sections, info.Warnings)
	}
	t.Logf("core %+v, hard %+v", count[false], count[true])
	if core := count[false]; float64(core.squashed) < .92*float64(core.all) {
		t.Errorf("%d of %d, want .92", core.squashed, core.all)
	}
}

func TestHostilePDFsEnd(t *testing.T) {
	dir := extracttest.Corpora(t)
	files, _ := filepath.Glob(dir + "/pdf/hostile/*.pdf")
	const deadline = 5 * time.Second
	r := extracttest.ProcessReader(t, extract.Limits{Time: deadline})
	if _, err := r.Read(t.Context(), writePDF(t, "warm up"), "warm.pdf", extracttest.Discard, nil); err != nil {
		t.Fatal(err)
	}
	read, refused := 0, 0
	for _, path := range files {
		begun := time.Now()
		text, info, err := extracttest.Markdown(t, r, path, filepath.Base(path))
		if took := time.Since(begun); took > deadline+30*time.Second {
			t.Errorf("%s took %v", filepath.Base(path), took)
		}
		switch {
		case err == nil:
			read++
			t.Logf("%s: %d pages, %d bytes, %v", filepath.Base(path), info.Pages, len(text), info.Warnings)
		case !fault.Is(err, fault.Invalid):
			t.Errorf("%s: %v, want invalid", filepath.Base(path), err)
		default:
			refused++
			t.Logf("%s: %v", filepath.Base(path), err)
		}
	}
	t.Logf("%d read, %d refused", read, refused)
}

// TestShowPDF prints the sections of the file in ANNALS_SHOW_PDF.
func TestShowPDF(t *testing.T) {
	path := os.Getenv("ANNALS_SHOW_PDF")
	if path == "" {
		t.Skip("ANNALS_SHOW_PDF is not set")
	}
	text, info, err := extracttest.Markdown(t, extracttest.ProcessReader(t, extract.Limits{}), path, filepath.Base(path))
	b, _ := json.MarshalIndent(info, "", " ")
	fmt.Println(text, string(b), err, slices.Sorted(slices.Values(info.Warnings)))
}
