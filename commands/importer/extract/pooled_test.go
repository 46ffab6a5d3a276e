package extract

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
)

func TestProcessesReadWhatThisOneDoes(t *testing.T) {
	dir := t.TempDir()
	here, there := New(Options{}), pdfReaderFor(t, Limits{})
	for name, content := range map[string]string{
		"a.md":       "+++\ntitle = \"T\"\nby = \"x\"\n+++\n# One\n\ntext\n\n## Two *b*\n\n" + strings.Repeat("A line of it.\n", 10_000),
		"a.txt":      "Title: A text\n\nCHAPTER I\n\nwith \x00 zeros\n",
		"latin.txt":  strings.Repeat("Gr\xfc\xdfe aus M\xfcnchen.\n", 50),
		"a.docx":     string(docxOf(t, styled("Heading1", "Head")+p("Body.")+p("More."), nil)),
		"bad.docx":   "no archive",
		"empty.md":   "",
		"named.md":   "%PDF-1.4 it is none",
		"pdf.pdf":    "\x89PNG\r\n\x1a\n",
		"unknown.xy": "x",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var want, got []Section
		wantInfo, wantErr := here.Read(t.Context(), path, name, collected(&want), nil)
		gotInfo, gotErr := there.Read(t.Context(), path, name, collected(&got), nil)
		if (wantErr == nil) != (gotErr == nil) || wantErr != nil && (wantErr.Error() != gotErr.Error() || !fault.Is(gotErr, fault.KindOf(wantErr))) {
			t.Errorf("%s: %v here, %v by a process", name, wantErr, gotErr)
		}
		if !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 || !reflect.DeepEqual(gotInfo, wantInfo) {
			t.Errorf("%s: %d sections, %+v here; %d, %+v by a process", name, len(want), wantInfo, len(got), gotInfo)
		}
	}
}

func TestWordDocumentsComeOutOfProcessesAsTheyDoHere(t *testing.T) {
	dir := corpora(t)
	here, there := New(Options{}), pdfReaderFor(t, Limits{})
	files, _ := filepath.Glob(dir + "/docx/ordinary/*.docx")
	for _, path := range files[:min(len(files), 40)] {
		want, wantInfo, wantErr := markdownOf(t, here, path, filepath.Base(path))
		got, gotInfo, gotErr := markdownOf(t, there, path, filepath.Base(path))
		if got != want || !reflect.DeepEqual(gotInfo, wantInfo) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: %d bytes, %+v, %v; want %d, %+v, %v", filepath.Base(path), len(got), gotInfo, gotErr, len(want), wantInfo, wantErr)
		}
	}
}

func TestALimitIsNamedWithItsFlag(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// A part without a tag is held whole, and again when it grows.
	heavy := write("heavy.docx", string(docxOf(t, p(strings.Repeat("x", 15<<20)), nil)))
	r := pdfReaderFor(t, Limits{Memory: 72 << 20})
	if _, err := r.Read(t.Context(), heavy, "heavy.docx", func(Section) error { return nil }, nil); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "72 MiB of memory (--extract-memory)") {
		t.Errorf("heavy: %v", err)
	}
	slow := write("slow.txt", strings.Repeat("\xe4\xf6\xfc line\n", 20<<20/9))
	r = pdfReaderFor(t, Limits{Time: 50 * time.Millisecond})
	if _, err := r.Read(t.Context(), slow, "slow.txt", func(Section) error { return nil }, nil); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "took longer than 50ms (--extract-time)") {
		t.Errorf("slow: %v", err)
	}
	if _, err := r.Read(t.Context(), write("quick.md", "# a\n"), "quick.md", func(Section) error { return nil }, nil); err != nil {
		t.Errorf("the file after it: %v", err)
	}
}

func TestAReaderThatIsKilledIsNotTheFilesFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("some text\n", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := pdfReaderFor(t, Limits{}).(*pooled)
	for _, r := range []Reader{r, Isolated(r)} {
		killed := false
		_, err := r.Read(t.Context(), path, "a.txt", func(Section) error {
			if !killed {
				killed = true
				killChildren(t)
			}
			return nil
		}, nil)
		var died *Died
		if !errors.As(err, &died) || !strings.Contains(died.Detail, "killed") {
			t.Errorf("Read = %v, want that the reader died", err)
		}
	}
	if info, err := r.Read(t.Context(), path, "a.txt", func(Section) error { return nil }, nil); err != nil || info.Sections != 1 {
		t.Errorf("Read after it = %+v, %v", info, err)
	}
	idle := r.text.Idle()
	if _, err := Isolated(r).Read(t.Context(), path, "a.txt", func(Section) error { return nil }, nil); err != nil || r.text.Idle() != idle {
		t.Errorf("an isolated reading left %d processes, want %d as before it: %v", r.text.Idle(), idle, err)
	}
}

func TestAnEndedContextEndsTheReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("some text\n", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := pdfReaderFor(t, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := r.Read(ctx, path, "a.txt", func(Section) error { cancel(); return nil }, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want %v", err, context.Canceled)
	}
	stop := errors.New("stop")
	if _, err := r.Read(t.Context(), path, "a.txt", func(Section) error { return stop }, nil); err != stop {
		t.Errorf("Read = %v, want %v", err, stop)
	}
}

// While emit takes long, as where the log does not answer, pages and sections fill
// the connections both ways. Nobody reads them any more once it has failed.
func TestALateErrorOfEmitEndsALongPDF(t *testing.T) {
	var page strings.Builder
	for i := range 50 {
		fmt.Fprintf(&page, "BT /F1 10 Tf 72 %d Td (Line %d of the text of the page, %s.) Tj ET\n", 700-12*i, i, strings.Repeat("long enough to fill it up ", 4))
	}
	path := filepath.Join(t.TempDir(), "long.pdf")
	if err := os.WriteFile(path, pdfOf(slices.Repeat([]string{page.String()}, 400)...), 0o600); err != nil {
		t.Fatal(err)
	}
	r := pdfReaderFor(t, Limits{})
	stop, ended := errors.New("stop"), make(chan error, 1)
	go func() {
		_, err := r.Read(t.Context(), path, "long.pdf", func(Section) error { time.Sleep(500 * time.Millisecond); return stop }, nil)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != stop {
			t.Errorf("Read = %v, want %v", err, stop)
		}
	case <-time.After(20 * time.Second):
		killChildren(t)
		t.Errorf("Read waits for pages that nobody reads; it ended with %v when its processes were killed", <-ended)
	}
}

func TestWhatAProcessMayNotSendIsRefused(t *testing.T) {
	good := Section{Index: 0, Level: 1, Title: "t", Path: []string{"t"}, StartPage: 1, EndPage: 2, PageBreaks: []int{1}, Text: "ab"}
	next := Section{Index: 0, Part: 1, Level: 1, Title: "t", Path: []string{"t"}, StartPage: 2, EndPage: 2, Text: "c"}
	for name, change := range map[string]func(s *Section){
		"too much text":      func(s *Section) { s.Text = strings.Repeat("x", MaxPart+1) },
		"a long title":       func(s *Section) { s.Title = strings.Repeat("x", maxTitle+1) },
		"a deep path":        func(s *Section) { s.Path = make([]string, maxLevel+1) },
		"a long path":        func(s *Section) { s.Path = []string{strings.Repeat("x", maxTitle+1)} },
		"no UTF-8":           func(s *Section) { s.Text = "\xff" },
		"a section left out": func(s *Section) { s.Index, s.Part = 2, 0 },
		"a part left out":    func(s *Section) { s.Part = 2 },
		"an empty part":      func(s *Section) { s.Text = "" },
		"another title":      func(s *Section) { s.Title = "u" },
		"a page again":       func(s *Section) { s.StartPage, s.EndPage = 1, 1 },
		"a break outside":    func(s *Section) { s.PageBreaks, s.EndPage = []int{2}, 3 },
		"breaks not rising":  func(s *Section) { s.Text, s.PageBreaks, s.EndPage = "abc", []int{2, 1}, 4 },
		"a wrong end":        func(s *Section) { s.EndPage = 9 },
	} {
		c := checker{limits: Limits{TextBytes: 1 << 20}}
		s := next
		if err := errors.Join(c.section(good), c.section(s)); err != nil {
			t.Fatal(err)
		}
		c = checker{limits: Limits{TextBytes: 1 << 20}}
		change(&s)
		if c.section(good) != nil || c.section(s) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	c := checker{limits: Limits{TextBytes: 1 << 20}}
	endless := Section{Text: strings.Repeat("x", MaxPart)}
	n := 0
	for ; c.section(endless) == nil && n < 1000; n++ {
		endless.Part++
	}
	if n > 3*(1<<20)/MaxPart {
		t.Errorf("%d bytes were taken where %d are the limit", n*MaxPart, 1<<20)
	}
	c = checker{limits: Limits{TextBytes: 1 << 30}}
	tiny := Section{}
	for n = 0; c.section(tiny) == nil && n < 10*maxSections; n++ {
		tiny.Index++
	}
	if n > maxSections+10 {
		t.Errorf("%d empty sections were taken", n)
	}
}

// BenchmarkSmallMarkdownByProcess is BenchmarkSmallMarkdown as a server does it.
func BenchmarkSmallMarkdownByProcess(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.md")
	text := "# dir\n\n> List *files*.\n> More information: <https://example.org>.\n\n- Show all:\n\n`dir /a`\n\n- Sort by size:\n\n`dir /os`\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	r := pdfReaderFor(b, Limits{})
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, "a.md", func(Section) error { return nil }, nil); err != nil {
			b.Fatal(err)
		}
	}
}
