package importer

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/events"
	"annals/events/memory"

	"pgregory.net/rapid"
)

// word returns a Word document with the given body, and the size of its uncompressed XML.
func word(t testing.TB, body string) (file string, xml int) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	xml, err = fmt.Fprint(w, `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`+body+`</w:body></w:document>`)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String(), xml
}

// logged returns the size in bytes of two sets of events in the log: the events of texts,
// and all events except those that accept files.
func (b *fixture) logged() (texts, all int) {
	for after := events.Position(0); ; {
		records, through, err := b.driver.ReadAll(b.Context(), after, 1000, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range records {
			if strings.HasPrefix(r.Stream, "text-") {
				texts += r.Size()
			}
			if r.Type != "FileAccepted" && r.Type != "ImportRequested" {
				all += r.Size()
			}
		}
		if through == after {
			return texts, all
		}
		after = through
	}
}

func allowed(bytes int) int { return max(64<<10, 8*bytes) }

// headings returns count nested Markdown headings. Each title ends with a word of the length
// title.
func headings(count, title int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "%s %d%s\n\n", strings.Repeat("#", 1+i%6), i, strings.Repeat("t", title))
	}
	return b.String()
}

func TestEventsBoundedByFileSize(t *testing.T) {
	spanned := func(rows, span int) string {
		return `<w:tbl>` + strings.Repeat(fmt.Sprintf(`<w:tr><w:trPr><w:gridBefore w:val="%[1]d"/></w:trPr><w:tc><w:tcPr><w:gridSpan w:val="%[1]d"/></w:tcPr><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>y</w:t></w:r></w:p></w:tc></w:tr>`, span), rows) + `</w:tbl>`
	}
	nested := func(count int) string {
		var b strings.Builder
		for i := range count {
			fmt.Fprintf(&b, `<w:p><w:pPr><w:outlineLvl w:val="%d"/></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, i%9, strings.Repeat("ü", 400))
		}
		return b.String()
	}
	// One row has 900 columns. Each of the other rows has text in the last column only.
	diagonal := `<w:tbl><w:tr>` + strings.Repeat(`<w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>`, 900) + `</w:tr>` +
		strings.Repeat(`<w:tr><w:trPr><w:gridBefore w:val="899"/></w:trPr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr>`, 1000) + `</w:tbl>`
	for _, test := range []struct {
		name, file, body string
		want             string // text that the document must contain
	}{
		{"spans of 1000 columns", "a.docx", spanned(1000, 1000), "| x | y |"},
		{"long titles in paths", "a.docx", nested(800), "ü"},
		{"rows that begin far right", "a.docx", diagonal, "x"},
		{"page breaks", "a.docx", `<w:p><w:r><w:t>x</w:t><w:lastRenderedPageBreak/>` + strings.Repeat(`<w:br w:type="page"/>`, 9000) + `<w:t>y</w:t></w:r></w:p>`, "x"},
		{"many short headings", "a.md", strings.Repeat("# A\n", 20_000), "A"},
		{"deep paths", "a.md", headings(500, 900), "t"},
		{"characters that JSON escapes", "a.txt", strings.Repeat("<<<<<<<&\u2028\n", 30_000), "<"},
		{"a small file", "a.md", strings.Repeat("# A\n", 500), "A"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newFixture(t)
			b.TB = t
			size := len(test.body)
			if strings.HasSuffix(test.file, ".docx") {
				test.body, size = word(t, test.body)
			}
			job, work := b.accept(alice, doc{test.file, "Library", test.body})
			i := b.importer(b.driver)
			i.textLimit = 0
			b.deliver(i, work)
			o := b.outcome(job)
			texts, all := b.logged()
			if all > allowed(size) {
				t.Errorf("%d bytes of file or XML became %d bytes of events", size, all)
			}
			if len(o.failed) > 0 || texts == 0 {
				t.Fatalf("failed with %q, after %d bytes of text", o.failed[0], texts)
			}
			text := o.text[o.documents[o.imported[0].Document].TextStream]
			if !strings.Contains(text, test.want) {
				t.Errorf("text = %.80q, want %q in it", text, test.want)
			}
			t.Logf("%d bytes, %d of text, %d of events, %v", size, len(text), all, o.imported[0].Warnings)
		})
	}
}

func TestTextLimit(t *testing.T) {
	b := newFixture(t)
	rapid.Check(t, func(rt *rapid.T) {
		b := b.on(memory.New())
		defer b.log.Close()
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[<>&"\\\x00-\x1f\x7f]{0,40}`), rapid.SampledFrom([]string{"\xff\xfe", "\u2028", "ü"}))
		weight := rapid.IntRange(1, 4000)
		section := rapid.Custom(func(rt *rapid.T) extract.Section {
			return extract.Section{
				Index: rapid.IntRange(0, 50_000).Draw(rt, "index"), Part: rapid.IntRange(0, 9).Draw(rt, "part"), Level: rapid.IntRange(0, 16).Draw(rt, "level"),
				Title: text.Draw(rt, "title"), Path: rapid.SliceOfN(text, 0, 4).Draw(rt, "path"),
				StartPage: rapid.IntRange(0, 1<<30).Draw(rt, "page"), PageBreaks: rapid.SliceOfN(rapid.IntRange(0, 1<<16), 0, 30).Draw(rt, "breaks"),
				Text: strings.Repeat(text.Draw(rt, "text"), weight.Draw(rt, "times")),
			}
		})
		read := rapid.SliceOfN(section, 0, 60).Draw(rt, "sections")
		b.reader = script(func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			for _, s := range read {
				if err := emit(s); err != nil {
					return extract.Info{}, err
				}
			}
			return extract.Info{}, nil
		})
		job, work := b.accept(alice, doc{"a.md", "Library", "x"})
		i := b.importer(b.driver)
		i.textLimit, i.spoolMem, i.SpoolDir = 0, 4<<10, t.TempDir()
		b.deliver(i, work)
		texts, all := b.logged()
		if all > allowed(1) {
			rt.Fatalf("a file of 1 byte became %d bytes of events", all)
		}
		if o := b.outcome(job); len(o.failed) > 0 && texts > 0 {
			rt.Fatalf("a file that failed with %q added %d bytes of text", o.failed[0], texts)
		}
		if left, err := os.ReadDir(i.SpoolDir); len(left) > 0 || err != nil {
			rt.Fatalf("temporary files were left: %v, %v", left, err)
		}
	})
}

// wordPieces and textPieces are the parts of generated documents; %s is some text.
var (
	wordPieces = []string{
		`<w:p><w:r><w:t>%s</w:t></w:r></w:p>`, `<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`,
		`<w:p><w:pPr><w:outlineLvl w:val="8"/></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, `<w:p><w:r><w:br w:type="page"/><w:tab/><w:t>%s</w:t><w:cr/><w:sym w:char="F0FE"/></w:r></w:p>`,
		`<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="999"/></w:tcPr><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>|</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`,
		`<w:tbl><w:tr><w:trPr><w:gridBefore w:val="500"/></w:trPr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:tbl><w:tr><w:tc><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>`,
		`<w:p><w:r><w:lastRenderedPageBreak/></w:r></w:p>`, `<w:p><w:pPr><w:pStyle w:val="Quote"/></w:pPr><w:r><w:t>%s</w:t><w:br/><w:br/></w:r></w:p>`,
	}
	textPieces = []string{"# %s\n", "###### %s\n", "%s\n", "%s", "\n\n", "- %s\n", "%s\n===\n", "| %s | |\n", "<&>\"\\\u2028", "\f", "```\n", "\u0958\u0344"}
)

func TestGeneratedEventsBoundedByFileSize(t *testing.T) {
	first := newFixture(t)
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; checks > 40 {
			return
		}
		b := first.on(memory.New())
		defer b.log.Close()
		name := rapid.SampledFrom([]string{"a.docx", "a.md", "a.txt"}).Draw(rt, "name")
		pieces := textPieces
		if name == "a.docx" {
			pieces = wordPieces
		}
		some := rapid.OneOf(rapid.Just("x"), rapid.StringMatching(`[a-z ü\x{2028}]{0,60}`), rapid.Custom(func(rt *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"title ", "ü", "&lt;"}).Draw(rt, "part"), rapid.IntRange(1, 300).Draw(rt, "parts"))
		}))
		var body strings.Builder
		for range rapid.IntRange(1, 12).Draw(rt, "kinds") {
			piece := strings.ReplaceAll(rapid.SampledFrom(pieces).Draw(rt, "piece"), "%s", some.Draw(rt, "text"))
			body.WriteString(strings.Repeat(piece, rapid.SampledFrom([]int{1, 3, 40, 400}).Draw(rt, "times")))
		}
		text := body.String()
		size := len(text)
		if name == "a.docx" {
			text, size = word(t, text)
		}
		job, work := b.accept(alice, doc{name, "Library", text})
		i := b.importer(b.driver)
		i.textLimit = 0
		b.deliver(i, work)
		texts, all := b.logged()
		if all > allowed(size) {
			rt.Fatalf("%d bytes became %d bytes of events", size, all)
		}
		if o := b.outcome(job); len(o.failed) > 0 {
			if texts > 0 {
				rt.Errorf("a file that failed added %d bytes of text", texts)
			}
			if strings.Contains(o.failed[0], "too much text") {
				rt.Errorf("the reader exceeded the limit: %s", o.failed[0])
			}
		}
	})
}

func TestFailedFileLeavesNoText(t *testing.T) {
	broken, _ := word(t, strings.Repeat(`<w:p><w:r><w:t>`+strings.Repeat("some words ", 200)+`</w:t></w:r></w:p>`, 3000))
	broken = broken[:len(broken)*9/10]
	for _, test := range []struct {
		name string
		file doc
		gone bool // the file's folder is deleted while the file is read
		read script
		want string
	}{
		{"damaged near its end", doc{"a.docx", "Library", broken}, false, nil, "damaged"},
		{"a reader that fails after much text", doc{"a.md", "Library", "x"}, false, func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			return extract.Info{}, errors.Join(sections(emit, "text", 40), errors.New("secret"))
		}, "internal"},
		{"a reader that emits a section that is too large", doc{"a.md", "Library", "x"}, false, func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			return extract.Info{}, errors.Join(sections(emit, "text", 20), emit(extract.Section{Text: strings.Repeat("x", 1<<20)}))
		}, "divide it by headings"},
		{"a folder that is deleted meanwhile", doc{"a.md", "Library", "x"}, true, nil, "was deleted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newFixture(t)
			b.TB = t
			if test.gone {
				library := b.folder("Library")
				test.read = func(ctx context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
					_, err := b.log.Append(ctx, events.Folders, events.AnyRevision, events.Cause{}, events.New{Data: events.FolderDeleted{Folder: library}})
					return extract.Info{}, errors.Join(sections(emit, "text", 20), err)
				}
			}
			if test.read != nil {
				b.reader = test.read
			}
			job, work := b.accept(alice, test.file)
			i := b.importer(b.driver)
			i.spoolMem, i.SpoolDir = 64<<10, t.TempDir()
			b.deliver(i, work)
			o := b.outcome(job)
			if texts, _ := b.logged(); texts > 0 || !strings.Contains(o.failed[0], test.want) {
				t.Errorf("failed with %q after %d bytes of text; want %q and none", o.failed[0], texts, test.want)
			}
			if left, err := os.ReadDir(i.SpoolDir); len(left) > 0 || err != nil {
				t.Errorf("temporary files were left: %v, %v", left, err)
			}
		})
	}
}

func TestSpoolReturnsSections(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		s := spool{dir: dir, memory: rapid.IntRange(1, 200).Draw(rt, "memory")}
		var want []string
		for i := range rapid.IntRange(0, 30).Draw(rt, "sections") {
			text := rapid.String().Draw(rt, "text")
			want = append(want, text)
			if err := s.add(events.SectionExtracted{Index: i, Text: text, Path: []string{text, "a"}, PageBreaks: []int{i, 7}, OCR: i > 0, Confidence: float64(i) / 1000}, 20); err != nil {
				rt.Fatal(err)
			}
		}
		for range 2 {
			var got []string
			err := s.each(func(d spooled) error {
				if d.Index != len(got) || d.size != 20 || d.Path[0] != d.Text || d.PageBreaks[1] != 7 || d.OCR != (d.Index > 0) || d.Confidence != float64(d.Index)/1000 {
					rt.Errorf("section %d = %+v", len(got), d)
				}
				got = append(got, d.Text)
				return nil
			})
			if err != nil || strings.Join(got, "\x00") != strings.Join(want, "\x00") {
				rt.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
		if err := s.close(); err != nil {
			rt.Fatal(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			rt.Errorf("%v was left, want no file", left)
		}
	})
}

func TestSweepSpool(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"text-1234.spool", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := SweepSpool(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "other" {
		t.Errorf("%v was left (%v), want only the other file", left, err)
	}
}
