package marks_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/http/console/marks"
	"annals/http/console/richtext"
	"annals/projections/readmodel/passages"
)

func TestMain(m *testing.M) { extracttest.Main(m) }

// place is a passage of a file, and its pages.
type place struct {
	text        string
	first, last int
}

// perFile is the number of passages of each file that are compared, at equal distances.
const perFile = 4

// maxPages is the number of pages after which the rest of a file is left out, which takes long.
const maxPages = 20

var errRead = errors.New("enough pages were read")

// TestRectanglesCoverPassages compares rectangles with the boxes that another program,
// pdftotext, finds for the words. A passage counts as covered if the rectangles cover
// at least nine of ten of the words that stand once on its pages and once in it, and if of
// the words of the page that are not in the passage at most one for ten covered ones is covered.
func TestRectanglesCoverPassages(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(extracttest.Corpora(t), "pdf", "ordinary", "*.pdf"))
	if err != nil || len(files) == 0 {
		t.Skip("the development corpora have no ordinary PDF files")
	}
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("pdftotext is not installed: run scripts/test-deps")
	}
	if testing.Short() {
		t.Skip("reads all ordinary PDF files of the corpora")
	}
	reader := extracttest.ProcessReader(t, extract.Limits{})
	var mu sync.Mutex
	good, all := 0, 0
	t.Run("files", func(t *testing.T) {
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				for _, p := range choose(placesOf(t, reader, file)) {
					complaints := compare(t, reader.(extract.Viewer), file, p)
					mu.Lock()
					if all++; complaints == "" {
						good++
					}
					mu.Unlock()
					if complaints != "" {
						t.Logf("pages %d to %d: %s: %.200q", p.first, p.last, complaints, p.text)
					}
				}
			})
		}
	})
	t.Logf("%d of %d passages are covered", good, all)
	if all < 50 || float64(good) < .97*float64(all) {
		t.Errorf("%d of %d passages are covered, want 97 of 100", good, all)
	}
}

// placesOf reads a file, and cuts its text into passages as they are indexed.
func placesOf(t *testing.T, reader extract.Reader, file string) (all []place) {
	_, err := reader.Read(t.Context(), file, filepath.Base(file), func(s extract.Section) error {
		if s.StartPage > maxPages {
			return errRead
		}
		at := 0
		for i, text := range passages.Cut(s.Text, s.Part) {
			at += strings.Index(s.Text[at:], text)
			p := place{text, pageAt(s, at), pageAt(s, max(at, at+len(text)-1))}
			if i == 0 && s.Part == 0 && s.Title != "" {
				p.text = "## " + s.Title + "\n\n" + text
			}
			at += len(text)
			if len(richtext.WordsOf(p.text)) >= 8 {
				all = append(all, p)
			}
		}
		return nil
	}, nil)
	if err != nil && !errors.Is(err, errRead) {
		t.Logf("%s is left out: %v", file, err)
		return nil
	}
	return all
}

func pageAt(s extract.Section, offset int) int {
	n, _ := slices.BinarySearch(s.PageBreaks, offset+1)
	return s.StartPage + n
}

func choose(all []place) []place {
	if len(all) <= perFile {
		return all
	}
	out := make([]place, perFile)
	for i := range out {
		out[i] = all[(2*i+1)*len(all)/(2*perFile)]
	}
	return out
}

// seenWord is a word with its box, as pdftotext prints it.
type seenWord struct {
	Left   float64 `xml:"xMin,attr"`
	Top    float64 `xml:"yMin,attr"`
	Right  float64 `xml:"xMax,attr"`
	Bottom float64 `xml:"yMax,attr"`
	Text   string  `xml:",chardata"`
}

func seenWords(t *testing.T, file string, page int) (words []seenWord) {
	n := strconv.Itoa(page)
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-bbox", "-f", n, "-l", n, file, "-").Output()
	if err != nil {
		t.Fatalf("pdftotext: %v", err)
	}
	out = bytes.Map(func(r rune) rune { // pdftotext prints characters that XML does not have
		if r < ' ' && r != '\n' {
			return -1
		}
		return r
	}, bytes.ToValidUTF8(out, nil))
	d := xml.NewDecoder(bytes.NewReader(out))
	d.Strict, d.Entity = false, xml.HTMLEntity
	for {
		token, err := d.Token()
		if err != nil {
			return words
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "word" {
			var w seenWord
			if err := d.DecodeElement(&w, &start); err != nil {
				t.Fatal(err)
			}
			words = append(words, w)
		}
	}
}

// compare returns what is wrong with the rectangles of a passage, or "".
func compare(t *testing.T, viewer extract.Viewer, file string, p place) string {
	var shown []marks.Page
	for n := p.first; n <= min(p.last, p.first+2); n++ {
		page, err := viewer.Words(t.Context(), extract.Original{Path: file, MediaType: extract.PDF}, n)
		if err != nil {
			t.Fatal(err)
		}
		m := marks.Page{Number: n, Width: float64(page.Width), Height: float64(page.Height)}
		for _, w := range page.Words {
			m.Words = append(m.Words, marks.Word{Text: w.Text, Box: marks.Box{X: float64(w.X), Y: float64(w.Y), Width: float64(w.Width), Height: float64(w.Height)}})
		}
		shown = append(shown, m)
	}
	passage := richtext.WordsOf(p.text)
	inPassage := map[string]int{}
	for _, w := range passage {
		inPassage[extracttest.Normal(w)]++
	}
	onPages := map[string]int{}
	seen := make([][]seenWord, len(shown))
	for i, page := range shown {
		seen[i] = seenWords(t, file, page.Number)
		for _, w := range seen[i] {
			for _, part := range parts(w.Text) {
				onPages[part]++
			}
		}
	}
	wanted, covered, touched, foreign := 0, 0, 0, 0
	var missed, wrong []string
	for i, rectangles := range marks.On(shown, passage, 0, 0) {
		for _, w := range seen[i] {
			pieces := parts(w.Text)
			if len(pieces) == 0 {
				continue
			}
			in := slices.ContainsFunc(rectangles, func(r marks.Rectangle) bool { return covers(r.Box, w) })
			known, once := false, true
			for _, part := range pieces {
				known = known || inPassage[part] > 0
				once = once && inPassage[part] == 1 && onPages[part] == 1
			}
			if in {
				touched++
			}
			if in && !known && !slices.ContainsFunc(pieces, func(part string) bool { return within(part, inPassage) }) {
				foreign++
				wrong = append(wrong, w.Text)
			}
			if once {
				if wanted++; in {
					covered++
				} else {
					missed = append(missed, w.Text)
				}
			}
		}
	}
	var complaints []string
	if covered*10 < wanted*9 || touched == 0 {
		complaints = append(complaints, fmt.Sprintf("%d of %d words are covered, not %.150q", covered, wanted, missed))
	}
	if foreign*10 > touched {
		complaints = append(complaints, fmt.Sprintf("%d of %d covered words are others: %.150q", foreign, touched, wrong))
	}
	return strings.Join(complaints, "; ")
}

// within reports whether a word is a part of one of the passage, or that of it, such as the half
// of a word that is divided at the end of a line.
func within(part string, passage map[string]int) bool {
	for w := range passage {
		if strings.Contains(w, part) || len(w) > 2 && strings.Contains(part, w) {
			return true
		}
	}
	return false
}

func parts(text string) []string {
	return strings.FieldsFunc(extracttest.Normal(text), unicode.IsSpace)
}

// covers reports whether the middle of a word is in a box.
func covers(b marks.Box, w seenWord) bool {
	x, y := (w.Left+w.Right)/2, (w.Top+w.Bottom)/2
	return math.Abs(x-b.X-b.Width/2) <= b.Width/2+.5 && math.Abs(y-b.Y-b.Height/2) <= b.Height/2+.5
}
