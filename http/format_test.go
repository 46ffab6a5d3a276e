package http_test

import (
	"encoding/json"
	"mime/multipart"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	httpd "annals/http"
	"annals/queries/vault"
	"annals/schema"
)

// A server refuses files of the types that it is not configured to import, and lists the others.
func TestFormats(t *testing.T) {
	formats, err := extract.ParseFormats([]string{".txt", ".pdf"})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, func(h *httpd.Server) { h.Limits.Formats = formats })
	resp, body := s.do("GET", "/core/formats", "")
	s.want(resp, body, 200, `{"formats":[{"extension":".pdf","media_type":"application/pdf","pages":true},{"extension":".txt","media_type":"text/plain","pages":false}],"file_bytes":1073741824,"files":10000,"upload_bytes":68719476736,"inbox":"Inbox/alice"}`)
	s.upload("", func(w *multipart.Writer) {
		addFile(w, "a.md", "text")
		addFile(w, "a.txt", "text")
	})
	files, _ := s.accepted()
	if len(files) != 2 || files[0].Refused != "files of this type cannot be imported; these can: .pdf, .txt" || files[1].Refused != "" {
		t.Errorf("files %+v", files)
	}

	contract, err := schema.OpenAPI.ReadFile("vault.openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range extract.AllFormats() {
		if strings.Count(string(contract), "\n        "+f.MediaType+":\n") < 2 {
			t.Errorf("schema/vault.openapi.yaml lacks the media type %s in the replies File and PartOfFile", f.MediaType)
		}
	}

	s = start(t, nil)
	_, body = s.do("GET", "/core/formats", "")
	var got struct{ Formats []struct{ Extension string } }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range got.Formats {
		names = append(names, f.Extension)
	}
	if list := strings.Join(names, ", "); list != ".pdf, .docx, .md, .markdown, .txt, .text" {
		t.Errorf("the standard formats are %s", list)
	}
}

func TestLinksHaveTheExtensionOfTheFormat(t *testing.T) {
	for _, f := range extract.AllFormats() {
		named := vault.Document{Name: "a document", MediaType: f.MediaType}
		if mediaType, _ := extract.AllFormats().Supports("a." + named.Extension()); mediaType != f.MediaType {
			t.Errorf("the link of a %s file ends with .%s: add its type to extensions in queries/vault/document.go", f.Extension, named.Extension())
		}
	}
}
