package consoletest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Content, titles and names with scripts in them never run, on no page.
func (s *site) testHostileContent(t *testing.T) {
	const (
		script = `<script>window.pwned = 1</script>`
		image  = `<img src=x onerror=window.pwned=1>`
		vector = `"><svg onload=window.pwned=1>`
	)
	tags := []string{vector, "{{.}}" + image}
	markdown := "# " + script + image + "\n\nThe hostile note. [Click](javascript:window.pwned=1) " + script + " ![x](x\" onerror=\"window.pwned=1) <a href=\"javascript:window.pwned=1\">here</a> <iframe srcdoc=\"" + script + "\"></iframe>\n\n| a | b |\n|---|---|\n| " + image + " | " + vector + " |\n"
	ids := s.importFiles(t, "alice",
		imported{image + ".md", vector + " folder", markdown, tags},
		imported{"hostile.pdf", vector + " folder", pdf("<script>window.pwned = 1<\\057script>"+image, "The hostile page has "+image+" in it."), tags},
		imported{vector + ".docx", vector + " folder", docx("The hostile letter has " + script + image + " in it."), tags})
	if len(ids) != 3 {
		t.Errorf("the documents are %q", ids)
	}
	paths := s.pages(t, "alice", ids)
	paths = append(paths, "/?q=hostile", "/?q=The+hostile+note&folder="+strings.ReplaceAll(vector, " ", "+")+"+folder", "/?q=%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E%22%3E%3Cimg+src%3Dx+onerror%3Dwindow.pwned%3D1%3E")
	p := s.signedIn(t, "alice", "/")
	for _, path := range paths {
		p.Open(s.base + path)
		p.Run(`for (const a of document.querySelectorAll("details")) a.open = true`)
		if bad := p.Run(`[...document.querySelectorAll("a, form, iframe, [onclick], [onload], [onerror]")].filter(e => /^\s*(javascript|data|vbscript):/i.test(e.getAttribute("href") ?? e.getAttribute("action") ?? "") || e.tagName === "IFRAME" || e.getAttributeNames().some(n => n.startsWith("on"))).map(e => e.outerHTML).join()`); bad != "" {
			t.Errorf("the page %s has %s", path, bad)
		}
		if got := p.Run(`typeof window.pwned`); got != "undefined" {
			t.Errorf("a script of a document runs in the page %s", path)
		}
	}
	// The passages of a question are put into the page by script, too.
	s.ask(p, "hostile")
	for i := range 3 {
		link := fmt.Sprintf(".passages li:nth-child(%d) h3 a", i+1)
		if p.Run(`!!document.querySelector(`+fmt.Sprintf("%q", link)+`)`) == "true" {
			p.Click(link)
			p.WaitFor("#viewer")
			s.ask(p, "hostile")
		}
	}
	if got := p.Run(`typeof window.pwned`); got != "undefined" {
		t.Error("a script of a document runs beside its passages")
	}
}

// docx returns a Word document with one paragraph.
func docx(text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, part := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`},
		{"word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>` + text + `</w:t></w:r></w:p></w:body></w:document>`},
	} {
		w, err := archive.Create(part[0])
		if err == nil {
			_, err = w.Write([]byte(part[1]))
		}
		if err != nil {
			panic(err) // unreachable: a buffer takes everything
		}
	}
	if err := archive.Close(); err != nil {
		panic(err)
	}
	return out.String()
}
