//go:build !race

package extract

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
)

func TestWordDocumentsHoldTheirWords(t *testing.T) {
	dir := corpora(t)
	r := New(Options{})
	defer r.Close()
	var sum float64
	items := jsonLines[struct {
		File  string
		Words []string
	}](t, dir+"/docx/ordinary.jsonl")
	poor := 0
	for _, item := range items {
		text, info, err := markdownOf(t, r, dir+"/docx/ordinary/"+item.File, item.File)
		if err != nil {
			t.Errorf("%s: %v", item.File, err)
			continue
		}
		if told := strings.Join(info.Warnings, " "); strings.Contains(told, "cut off") || strings.Contains(told, "more headings") {
			t.Errorf("%s meets a bound: %s", item.File, told)
		}
		got := map[string]bool{}
		for _, w := range strings.Fields(normal(text)) {
			got[w] = true
		}
		found := 0
		var missing []string
		for _, w := range item.Words {
			if got[normal(w)] {
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
	if recall < .97 {
		t.Errorf("word recall %.4f, want .97", recall)
	}
}

func TestEmptyAndHostileWordDocumentsEnd(t *testing.T) {
	dir := corpora(t)
	r := New(Options{})
	defer r.Close()
	for _, sub := range []string{"ordinary-empty", "hostile"} {
		files, _ := filepath.Glob(dir + "/docx/" + sub + "/*.docx")
		for _, path := range files {
			text, info, err := markdownOf(t, r, path, filepath.Base(path))
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

func TestWhatOtherReadersExpectIsFound(t *testing.T) {
	dir := corpora(t)
	r := New(Options{})
	defer r.Close()
	all := jsonLines[[]peerCase](t, dir+"/cases/cases.json")
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
		text, _, err := markdownOf(t, r, dir+"/cases/files/"+c.File, filepath.Base(c.File))
		if err != nil {
			t.Errorf("%s: %v", c.File, err)
		}
		key := c.Format + map[bool]string{true: " hard", false: " core"}[c.Hard]
		whole := squashed(text)
		for _, want := range c.Must_contain {
			ok := strings.Contains(whole, squashed(want))
			if add(key, ok); !ok {
				t.Logf("%s (hard: %t) without %q", c.File, c.Hard, want)
			}
		}
		for _, not := range c.Must_not_contain {
			add("must not", !strings.Contains(whole, squashed(not)))
		}
		for _, h := range c.Headings {
			found := false
			for line := range strings.Lines(text) {
				found = found || strings.HasPrefix(line, "#") && strings.Contains(squashed(line), squashed(h))
			}
			if add("headings", found); !found {
				t.Logf("%s without heading %q", c.File, h)
			}
		}
	}
	t.Log(count)
	for key, least := range map[string]float64{"docx core": .98, "md core": .99, "headings": .98} {
		if c := count[key]; c[1] > 0 && float64(c[0])/float64(c[1]) < least {
			t.Errorf("%s: %d of %d, want %.2f", key, c[0], c[1], least)
		}
	}
}

func TestHostileWordDocumentsAreRefusedInASentence(t *testing.T) {
	huge := strings.Repeat("x", maxTokenBytes+1<<20)
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"no archive":   {[]byte("PK\x03\x04 and nothing more"), "ZIP archive"},
		"text":         {[]byte("just text"), "ZIP archive"},
		"old document": {[]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 more"), "password"},
		"a PDF":        {[]byte("%PDF-1.4 more"), "is a PDF"},
		"no body":      {docxOf(t, "", map[string]string{"_rels/.rels": relsHead + "</Relationships>", "word/document.xml": ""}), "damaged"},
		"depth":        {docxOf(t, strings.Repeat("<w:sdt>", 100_000), nil), "inside each other"},
		"cut off":      {docxOf(t, p("a"), map[string]string{"word/document.xml": `<w:document ` + wordNS + `><w:body><w:p><w:r><w:t>cut`}), "damaged"},
		"entities":     {docxOf(t, "", map[string]string{"word/document.xml": `<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:document ` + wordNS + `><w:body>` + p("&b;") + `</w:body></w:document>`}), "document type definition"},
		"inflation":    {docxOf(t, strings.Repeat("<w:p/>", 7<<20), nil), "inflates"},
		"huge token":   {docxOf(t, p(huge), nil), ""},
		"huge styles":  {docxOf(t, p("a"), map[string]string{"word/styles.xml": "<w:styles>" + strings.Repeat("<x> </x>", maxPartBytes/8+1)}), "inflates"},
	} {
		peak := peakHeap(func() {
			start := time.Now()
			_, _, err := readBytes(t, "a.docx", c.content)
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

func TestALargeWordDocumentIsReadInLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a large document")
	}
	body := strings.Repeat(p("A paragraph like many others in this long document.")+"<w:tbl><w:tr><w:tc>"+p("a")+"</w:tc><w:tc>"+p("b")+"</w:tc></w:tr></w:tbl>", 60_000)
	content := docxOf(t, body, nil)
	bytesRead := 0
	path := filepath.Join(t.TempDir(), "a.docx")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r := New(Options{})
	defer r.Close()
	peak := peakHeap(func() {
		if _, err := r.Read(t.Context(), path, "a.docx", func(s Section) error { bytesRead += len(s.Text); return nil }, nil); err != nil {
			t.Error(err)
		}
	})
	t.Logf("the heap grew by %d MiB", peak>>20)
	if bytesRead < 3_000_000 || peak > 20<<20 {
		t.Errorf("%d bytes read, the heap grew by %d MiB", bytesRead, peak>>20)
	}
}
