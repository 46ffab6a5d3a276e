//go:build !race

package docx_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

func TestWordRecall(t *testing.T) {
	dir := extracttest.Corpora(t)
	r := extracttest.LocalReader(t)
	var sum float64
	items := extracttest.JSONLines[struct {
		File  string
		Words []string
	}](t, dir+"/docx/ordinary.jsonl")
	poor := 0
	for _, item := range items {
		text, info, err := extracttest.Markdown(t, r, dir+"/docx/ordinary/"+item.File, item.File)
		if err != nil {
			t.Errorf("%s: %v", item.File, err)
			continue
		}
		if warnings := strings.Join(info.Warnings, " "); strings.Contains(warnings, "cut off") || strings.Contains(warnings, "more headings") {
			t.Errorf("%s reached a limit: %s", item.File, warnings)
		}
		got := map[string]bool{}
		for _, w := range strings.Fields(extracttest.Normal(text)) {
			got[w] = true
		}
		found := 0
		var missing []string
		for _, w := range item.Words {
			if got[extracttest.Normal(w)] {
				found++
			} else {
				missing = append(missing, w)
			}
		}
		share := float64(found) / float64(max(len(item.Words), 1))
		if share < .98 {
			poor++
			t.Logf("%s: %.3f, without %.300q", item.File, share, missing)
		}
		sum += share
	}
	recall := sum / float64(len(items))
	t.Logf("word recall %.4f of %d files, %d under .98", recall, len(items), poor)
	if recall < .993 {
		t.Errorf("word recall %.4f, want .993", recall)
	}
}

func TestHostileWordCorpusEnds(t *testing.T) {
	dir := extracttest.Corpora(t)
	r := extracttest.LocalReader(t)
	for _, sub := range []string{"ordinary-empty", "hostile"} {
		files, _ := filepath.Glob(dir + "/docx/" + sub + "/*.docx")
		for _, path := range files {
			text, info, err := extracttest.Markdown(t, r, path, filepath.Base(path))
			if sub == "ordinary-empty" && err != nil {
				t.Errorf("%s: %v", filepath.Base(path), err)
			}
			t.Logf("%s: %d bytes, %+v, %v", filepath.Base(path), len(text), info, err)
		}
	}
}

type peerCase struct {
	File, Format     string
	Hard             bool
	Must_contain     []string
	Must_not_contain []string
	Headings         []string
}

func TestWordCases(t *testing.T) {
	dir := extracttest.Corpora(t)
	r := extracttest.LocalReader(t)
	all := extracttest.JSONLines[[]peerCase](t, dir+"/cases/cases.json")
	count := map[string][2]int{}
	add := func(key string, ok bool) {
		c := count[key]
		c[1]++
		if ok {
			c[0]++
		}
		count[key] = c
	}
	for _, c := range all[0] {
		if c.Format == "pdf" {
			continue
		}
		text, _, err := extracttest.Markdown(t, r, dir+"/cases/files/"+c.File, filepath.Base(c.File))
		if err != nil {
			t.Errorf("%s: %v", c.File, err)
		}
		key := c.Format + map[bool]string{true: " hard", false: " core"}[c.Hard]
		whole := extracttest.Squashed(text)
		for _, want := range c.Must_contain {
			ok := strings.Contains(whole, extracttest.Squashed(want))
			if add(key, ok); !ok {
				t.Logf("%s (hard: %t) without %q", c.File, c.Hard, want)
			}
		}
		for _, not := range c.Must_not_contain {
			add("must not", !strings.Contains(whole, extracttest.Squashed(not)))
		}
		for _, h := range c.Headings {
			found := false
			for line := range strings.Lines(text) {
				found = found || strings.HasPrefix(line, "#") && strings.Contains(extracttest.Squashed(line), extracttest.Squashed(h))
			}
			if add("headings", found); !found {
				t.Logf("%s without heading %q", c.File, h)
			}
		}
	}
	t.Log(count)
	for key, least := range map[string]float64{"docx core": .98, "docx hard": .89, "md core": .99, "headings": .98} {
		if c := count[key]; c[1] > 0 && float64(c[0])/float64(c[1]) < least {
			t.Errorf("%s: %d of %d, want %.2f", key, c[0], c[1], least)
		}
	}
}

func TestHostileWordDocumentsAreRefused(t *testing.T) {
	huge := strings.Repeat("x", 16<<20+1<<20)
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"no archive":   {[]byte("PK\x03\x04 and nothing more"), "ZIP archive"},
		"text":         {[]byte("just text"), "ZIP archive"},
		"old document": {[]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 more"), "password"},
		"a PDF":        {[]byte("%PDF-1.4 more"), "is a PDF"},
		"no body":      {extracttest.DOCX(t, "", map[string]string{"_rels/.rels": extracttest.RelsHead + "</Relationships>", "word/document.xml": ""}), "damaged"},
		"depth":        {extracttest.DOCX(t, strings.Repeat("<w:sdt>", 100_000), nil), "nested more than 400 deep"},
		"cut off":      {extracttest.DOCX(t, extracttest.P("a"), map[string]string{"word/document.xml": `<w:document ` + extracttest.WordNS + `><w:body><w:p><w:r><w:t>cut`}), "damaged"},
		"entities":     {extracttest.DOCX(t, "", map[string]string{"word/document.xml": `<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:document ` + extracttest.WordNS + `><w:body>` + extracttest.P("&b;") + `</w:body></w:document>`}), "document type definition"},
		"inflation":    {extracttest.DOCX(t, strings.Repeat("<w:p/>", 12<<20), nil), "uncompressed"},
		"huge token":   {extracttest.DOCX(t, extracttest.P(huge), nil), ""},
		"huge styles":  {extracttest.DOCX(t, extracttest.P("a"), map[string]string{"word/styles.xml": "<w:styles>" + strings.Repeat("<x> </x>", 2<<20+1)}), "uncompressed"},
	} {
		peak := extracttest.PeakHeap(func() {
			start := time.Now()
			_, _, err := extracttest.Read(t, "a.docx", c.content)
			if !fault.Is(err, fault.Invalid) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s: %v, want an invalid file (%s)", name, err, c.want)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("%s took %s", name, took)
			}
		})
		if peak > 160<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, peak>>20)
		}
	}
}

func TestLargeWordDocumentMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a large document")
	}
	body := strings.Repeat(extracttest.P("A paragraph like many others in this long document.")+"<w:tbl><w:tr><w:tc>"+extracttest.P("a")+"</w:tc><w:tc>"+extracttest.P("b")+"</w:tc></w:tr></w:tbl>", 60_000)
	content := extracttest.DOCX(t, body, nil)
	bytesRead := 0
	path := filepath.Join(t.TempDir(), "a.docx")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r := extracttest.LocalReader(t)
	peak := extracttest.PeakHeap(func() {
		if _, err := r.Read(t.Context(), path, "a.docx", func(s extract.Section) error { bytesRead += len(s.Text); return nil }, nil); err != nil {
			t.Error(err)
		}
	})
	t.Logf("the heap grew by %d MiB", peak>>20)
	if bytesRead < 3_000_000 || peak > 20<<20 {
		t.Errorf("%d bytes read, the heap grew by %d MiB", bytesRead, peak>>20)
	}
}
