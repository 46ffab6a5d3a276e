//go:build !race

// Not with the race detector, which needs far more memory than a reader process may use.

package reader_test

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

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/reader"
	"annals/events/fault"
)

func TestPDFSections(t *testing.T) {
	var body strings.Builder
	for i := range 20 {
		fmt.Fprintf(&body, "BT /F1 10 Tf 72 %d Td (Line %d of the text of the page, long enough to fill it up.) Tj ET\n", 600-12*i, i)
	}
	path := filepath.Join(t.TempDir(), "report.pdf")
	err := os.WriteFile(path, extracttest.PDF(
		"BT /F2 24 Tf 72 700 Td (The Whole Report) Tj ET\nBT /F2 16 Tf 72 650 Td (Beginnings) Tj ET\n"+body.String(),
		"BT /F1 10 Tf 72 700 Td (More of the beginnings.) Tj ET\nBT /F2 16 Tf 72 650 Td (Endings) Tj ET\n"+body.String(),
		"q 612 0 0 792 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q",
		"",
	), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var got []extract.Section
	var steps []int
	info, err := extracttest.ProcessReader(t, extract.Limits{}).Read(t.Context(), path, "report.pdf", extracttest.Collect(&got), func(step string, page, pages int) {
		if page > 0 {
			steps = append(steps, page)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := extract.Info{MediaType: "application/pdf", Title: "The Whole Report", Pages: 4, Sections: 3, UnreadPages: 1, Warnings: []string{"1 of 4 pages looks scanned, and the text in its picture is missing: 3."}}
	if !reflect.DeepEqual(info, want) {
		t.Errorf("info %+v, want %+v", info, want)
	}
	if len(got) != 3 || got[1].Title != "Beginnings" || !reflect.DeepEqual(got[1].Path, []string{"The Whole Report", "Beginnings"}) ||
		got[1].StartPage != 1 || got[1].EndPage != 2 || len(got[1].PageBreaks) != 1 ||
		strings.TrimSpace(got[1].Text[got[1].PageBreaks[0]:]) != "More of the beginnings." {
		t.Errorf("sections %+v", got)
	}
	if !reflect.DeepEqual(steps, []int{1, 2, 3, 4}) {
		t.Errorf("progress reported pages %v", steps)
	}
}

func TestProcessReadsLikeLocal(t *testing.T) {
	dir := t.TempDir()
	local, pooled := extracttest.LocalReader(t), extracttest.ProcessReader(t, extract.Limits{})
	for name, content := range map[string]string{
		"a.md":       "+++\ntitle = \"T\"\nby = \"x\"\n+++\n# One\n\ntext\n\n## Two *b*\n\n" + strings.Repeat("A line of it.\n", 10_000),
		"a.txt":      "Title: A text\n\nCHAPTER I\n\nwith \x00 zeros\n",
		"latin.txt":  strings.Repeat("Gr\xfc\xdfe aus M\xfcnchen.\n", 50),
		"a.docx":     string(extracttest.DOCX(t, extracttest.Styled("Heading1", "Head")+extracttest.P("Body.")+extracttest.P("More."), nil)),
		"bad.docx":   "no archive",
		"empty.md":   "",
		"named.md":   "%PDF-1.4 but it is not",
		"pdf.pdf":    "\x89PNG\r\n\x1a\n",
		"unknown.xy": "x",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var want, got []extract.Section
		wantInfo, wantErr := local.Read(t.Context(), path, name, extracttest.Collect(&want), nil)
		gotInfo, gotErr := pooled.Read(t.Context(), path, name, extracttest.Collect(&got), nil)
		if (wantErr == nil) != (gotErr == nil) || wantErr != nil && (wantErr.Error() != gotErr.Error() || !fault.Is(gotErr, fault.KindOf(wantErr))) {
			t.Errorf("%s: local error %v, process error %v", name, wantErr, gotErr)
		}
		if !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 || !reflect.DeepEqual(gotInfo, wantInfo) {
			t.Errorf("%s: local %d sections, %+v; process %d, %+v", name, len(want), wantInfo, len(got), gotInfo)
		}
	}
}

func TestProcessReadsWordLikeLocal(t *testing.T) {
	dir := extracttest.Corpora(t)
	local, pooled := extracttest.LocalReader(t), extracttest.ProcessReader(t, extract.Limits{})
	files, _ := filepath.Glob(dir + "/docx/ordinary/*.docx")
	for _, path := range files[:min(len(files), 40)] {
		want, wantInfo, wantErr := extracttest.Markdown(t, local, path, filepath.Base(path))
		got, gotInfo, gotErr := extracttest.Markdown(t, pooled, path, filepath.Base(path))
		if got != want || !reflect.DeepEqual(gotInfo, wantInfo) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: %d bytes, %+v, %v; want %d, %+v, %v", filepath.Base(path), len(got), gotInfo, gotErr, len(want), wantInfo, wantErr)
		}
	}
}

func TestLimitNamesFlag(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// A text without tags is one token, which the reader buffers as a whole and copies while
	// the buffer grows.
	heavy := write("heavy.docx", string(extracttest.DOCX(t, extracttest.P(strings.Repeat("x", 15<<20)), nil)))
	r := extracttest.ProcessReader(t, extract.Limits{Memory: 72 << 20})
	if _, err := r.Read(t.Context(), heavy, "heavy.docx", extracttest.Discard, nil); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "72 MiB of memory (--extract-memory): split it, save it again as PDF or plain text, or ask") {
		t.Errorf("heavy: %v", err)
	}
	slow := write("slow.txt", strings.Repeat("\xe4\xf6\xfc line\n", 20<<20/9))
	r = extracttest.ProcessReader(t, extract.Limits{Time: 50 * time.Millisecond})
	if _, err := r.Read(t.Context(), slow, "slow.txt", extracttest.Discard, nil); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "took longer than 50ms (--extract-time)") {
		t.Errorf("slow: %v", err)
	}
	if _, err := r.Read(t.Context(), write("quick.md", "# a\n"), "quick.md", extracttest.Discard, nil); err != nil {
		t.Errorf("the next file: %v", err)
	}
}

func TestKilledReaderIsDied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("some text\n", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := extracttest.ProcessReader(t, extract.Limits{})
	for _, r := range []extract.Reader{r, reader.Isolated(r)} {
		killed := false
		_, err := r.Read(t.Context(), path, "a.txt", func(extract.Section) error {
			if !killed {
				killed = true
				killChildren(t)
			}
			return nil
		}, nil)
		var died *process.Died
		if !errors.As(err, &died) || !strings.Contains(died.Detail, "killed") {
			t.Errorf("Read: %v, want process.Died", err)
		}
	}
	if info, err := r.Read(t.Context(), path, "a.txt", extracttest.Discard, nil); err != nil || info.Sections != 1 {
		t.Errorf("next Read = %+v, %v", info, err)
	}
	idle := reader.Idle(r)
	if _, err := reader.Isolated(r).Read(t.Context(), path, "a.txt", extracttest.Discard, nil); err != nil || reader.Idle(r) != idle {
		t.Errorf("after an isolated Read %d processes are idle, want %d as before: %v", reader.Idle(r), idle, err)
	}
}

func TestContextEndsReading(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("some text\n", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := extracttest.ProcessReader(t, extract.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := r.Read(ctx, path, "a.txt", func(extract.Section) error { cancel(); return nil }, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want %v", err, context.Canceled)
	}
	stop := errors.New("stop")
	if _, err := r.Read(t.Context(), path, "a.txt", func(extract.Section) error { return stop }, nil); err != stop {
		t.Errorf("Read = %v, want %v", err, stop)
	}
}

// If emit is slow, pages and sections fill the connections in both directions. If emit then
// fails, nobody reads them any more. Read must return all the same.
func TestEmitErrorEndsLongPDF(t *testing.T) {
	var page strings.Builder
	for i := range 50 {
		fmt.Fprintf(&page, "BT /F1 10 Tf 72 %d Td (Line %d of the text of the page, %s.) Tj ET\n", 700-12*i, i, strings.Repeat("long enough to fill it up ", 4))
	}
	path := filepath.Join(t.TempDir(), "long.pdf")
	if err := os.WriteFile(path, extracttest.PDF(slices.Repeat([]string{page.String()}, 400)...), 0o600); err != nil {
		t.Fatal(err)
	}
	r := extracttest.ProcessReader(t, extract.Limits{})
	stop, ended := errors.New("stop"), make(chan error, 1)
	go func() {
		_, err := r.Read(t.Context(), path, "long.pdf", func(extract.Section) error { time.Sleep(500 * time.Millisecond); return stop }, nil)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != stop {
			t.Errorf("Read = %v, want %v", err, stop)
		}
	case <-time.After(20 * time.Second):
		killChildren(t)
		t.Errorf("Read blocked until its processes were killed, then returned %v", <-ended)
	}
}

// BenchmarkSmallMarkdownByProcess is like BenchmarkSmallMarkdown, but reads the file in a
// reader process, as the server does.
func BenchmarkSmallMarkdownByProcess(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.md")
	text := "# dir\n\n> List *files*.\n> More information: <https://example.org>.\n\n- Show all:\n\n`dir /a`\n\n- Sort by size:\n\n`dir /os`\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	r := extracttest.ProcessReader(b, extract.Limits{})
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, "a.md", extracttest.Discard, nil); err != nil {
			b.Fatal(err)
		}
	}
}
