package consoletest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"annals/cmd/chromiumtest"
	"annals/commands/importer/extract/extracttest"
)

// maxCorpusFile is the maximum size in bytes of a PDF file of the corpora that is imported here.
const maxCorpusFile = 60_000

// corpusFiles returns a few small PDF files of the corpora. It skips the test if there are none.
func corpusFiles(t *testing.T) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(extracttest.Corpora(t), "pdf", "ordinary", "*.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if info, err := os.Stat(file); err == nil && info.Size() < maxCorpusFile && len(files) < 4 {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		t.Skip("the corpora have no small PDF files")
	}
	return files
}

// Somebody who has never been here before signs in, drops files, watches them come in, asks,
// and sees the line that answers marked on the page.
func (s *site) testNewcomer(t *testing.T) {
	const folder = "Papers of Carol"
	dir := t.TempDir()
	made := filepath.Join(dir, "report.pdf")
	text := pdf("Report", "This is the yearly report of the harbour of Tallinn.", "The new crane was installed by Maria Tamm in 2019.", "It lifts forty tonnes.")
	if err := os.WriteFile(made, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := s.page(t)
	p.Size(1600, 900)
	p.Open(s.base + "/")
	p.Write("input[name=username]", "carol")
	p.Write("input[name=password]", passwords["carol"])
	p.Click("form button")
	p.Wait("the first page", `location.pathname === "/" && document.querySelector("main h1")`)

	p.Drop("main", made)
	p.WaitFor("dialog[open] input[name=folder]")
	p.Write("dialog[open] input[name=folder]", folder)
	p.Press("Enter")
	p.WaitFor("#dock")
	p.Wait("the end of the import", `document.getElementById("dock").innerText.includes("1 of 1 file imported")`)
	p.Click("#dock a")
	p.Wait("the page of the import", `location.pathname.startsWith("/import/") && document.querySelector("#sentence.good")`)
	p.WaitText("report.pdf")

	p.Press("/")
	p.Wait("the first page", `location.pathname === "/" && document.querySelector(".field input[name=q]")`)
	p.Write(".field input[name=q]", "Who installed the new crane in Tallinn?")
	p.Press("Enter")
	p.Wait("the answer", `document.querySelector("#answer .text")?.innerText.includes("Maria Tamm")`)
	p.Click("#answer .cites a")
	s.wantMarked(t, p, "carol", "Maria Tamm")

	t.Run("Corpora", func(t *testing.T) { s.testCorpora(t, folder) })
}

// The passages of files as people have them are marked where their words stand.
func (s *site) testCorpora(t *testing.T, folder string) {
	files := corpusFiles(t)
	p := s.signedIn(t, "carol", "/import")
	p.Write("main input[name=folder]", folder)
	p.Drop("main form", files...)
	p.Wait("the end of the import", fmt.Sprintf(`!document.querySelector("[data-running]") && document.querySelector(".jobs").innerText.includes("%d of %[1]d files")`, len(files)))
	if p.Run(`document.querySelectorAll(".jobs .bad").length`) != "0" {
		t.Fatal("files were not imported")
	}
	const question = "information and number of the page"
	checked := 0
	for i := range 4 {
		s.ask(p, question)
		link := fmt.Sprintf(".passages li:nth-child(%d) h3 a[href*='page=']", i+1)
		if p.Run(`!!document.querySelector(`+chromiumtest.Quote(link)+`)`) != "true" {
			continue
		}
		p.Click(link)
		s.wantMarked(t, p, "carol", "")
		checked++
	}
	if checked == 0 {
		t.Errorf("no passage answers %q: %s", question, p.Run(`document.querySelector("main").innerText`))
	}
}

// wantMarked checks that rectangles are drawn over the words of the passage that is shown, and
// that they cover the words of text.
func (s *site) wantMarked(t *testing.T, p *chromiumtest.Page, user, text string) {
	t.Helper()
	p.Wait("the picture of the page", `(() => { const i = document.querySelector("#viewer img"); i?.scrollIntoView({block: "nearest"}); return i?.complete && i.naturalWidth > 100; })()`)
	p.WaitFor("#viewer svg rect")
	source := p.Run(`document.querySelector("#viewer img").getAttribute("src")`)
	picture := p.Rectangles("#viewer img")[0]
	marks := p.Rectangles("#viewer svg rect")
	at, err := url.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Width, Height float64
		Words         []struct {
			Text string
			chromiumtest.Rectangle
		}
	}
	path := strings.TrimSuffix(strings.TrimPrefix(at.Path, "/console/api"), ".png") + "/words"
	s.rest(t, user, http.MethodGet, path, "", http.NoBody, &page)
	scaleX, scaleY := picture.Width/page.Width, picture.Height/page.Height
	var covered []string
	for _, word := range page.Words {
		x, y := picture.X+(word.X+word.Width/2)*scaleX, picture.Y+(word.Y+word.Height/2)*scaleY
		for _, m := range marks {
			if x >= m.X && x <= m.X+m.Width && y >= m.Y && y <= m.Y+m.Height {
				covered = append(covered, word.Text)
				break
			}
		}
	}
	if got := strings.Join(covered, " "); text != "" && !strings.Contains(got, text) {
		t.Errorf("the rectangles cover %q, want %q among it", got, text)
	}
	// What is covered is the passage, and not what stands beside it.
	passage := words(p.Run(`document.querySelector("#viewer details .text")?.textContent`))
	inside := 0
	for _, word := range covered {
		if strings.Contains(passage, letters(word)) {
			inside++
		}
	}
	if len(covered) == 0 || inside*10 < len(covered)*8 {
		t.Errorf("of %d words under the rectangles %d are of the passage: %q, want %q", len(covered), inside, covered, passage)
	}
}

// words returns the letters of a text without what is between them.
func words(text string) string { return letters(strings.Join(strings.Fields(text), "")) }

func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// pdf returns a PDF file with a title and one page of lines.
func pdf(title string, lines ...string) string {
	var content, out strings.Builder
	content.WriteString("BT /F1 14 Tf 22 TL 60 700 Td ")
	for _, line := range lines {
		fmt.Fprintf(&content, "(%s) Tj T* ", line)
	}
	content.WriteString("ET")
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [5 0 R] /Count 1 >>", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", content.Len(), content.String()),
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
		"<< /Title (" + title + ") >>",
	}
	var offsets []int
	_, _ = io.WriteString(&out, "%PDF-1.4\n")
	for i, object := range objects {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&out, "trailer << /Size %d /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return out.String()
}

// folderOf returns the id of the folder of a document.
func (s *site) folderOf(t *testing.T, user, document string) string {
	t.Helper()
	var d struct{ FolderID string }
	s.rest(t, user, http.MethodGet, "/vault/documents/"+document, "", http.NoBody, &d)
	return d.FolderID
}

// jobOf returns the id of the last import of a user.
func (s *site) jobOf(t testing.TB, user string) string {
	t.Helper()
	var list struct {
		Jobs []struct {
			ID string `json:"job_id"`
		}
	}
	s.rest(t, user, http.MethodGet, "/core/jobs?limit=1", "", http.NoBody, &list)
	if len(list.Jobs) == 0 {
		text, _ := json.Marshal(list)
		t.Fatalf("the imports of %s: %s", user, text)
	}
	return list.Jobs[0].ID
}
