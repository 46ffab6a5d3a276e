package http_test

import (
	"slices"
	"strings"
	"testing"
)

type listedDocument struct {
	Name string    `json:"name"`
	Size int64     `json:"size"`
	Tags *[]string `json:"tags"`
}

func TestSortedDocuments(t *testing.T) {
	s := startStack(t)
	for name, text := range map[string]string{"b report.md": "# B", "a note.md": "# A long note", "C REPORT.md": "# C, of medium"} {
		s.file("A", name, text+" "+strings.Repeat("x", len(name)), "t")
	}
	s.file("A", "d.md", "# D")
	folder := s.folderNamed("A")
	for query, want := range map[string]string{
		"":                              "a note.md b report.md C REPORT.md d.md",
		"&order=desc":                   "d.md C REPORT.md b report.md a note.md",
		"&sort=name&order=asc":          "a note.md b report.md C REPORT.md d.md",
		"&sort=size":                    "d.md b report.md a note.md C REPORT.md",
		"&sort=size&order=desc&limit=2": "C REPORT.md a note.md b report.md d.md",
		"&name=rePort":                  "b report.md C REPORT.md",
		"&name=rePort&limit=1":          "b report.md C REPORT.md",
		"&name=%25":                     "",
		"&tag=t&sort=name&limit=2":      "a note.md b report.md C REPORT.md",
	} {
		var names []string
		for path := "/vault/documents?folderId=" + folder + query; path != ""; {
			resp, body := s.do("GET", path, "")
			if resp.StatusCode != 200 {
				t.Fatalf("%s = %d %s", path, resp.StatusCode, body)
			}
			for _, d := range decode[[]listedDocument](t, body) {
				if names = append(names, d.Name); d.Size != 0 || d.Tags != nil {
					t.Errorf("%s = %s, want neither size nor tags", path, body)
				}
			}
			path, _, _ = strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	resp, body := s.do("GET", "/vault/documents?folderId="+folder+"&include=size,tags,count&limit=1", "")
	docs := decode[[]listedDocument](t, body)
	if len(docs) != 1 || docs[0].Size == 0 || docs[0].Tags == nil || !slices.Equal(*docs[0].Tags, []string{"t"}) || resp.Header.Get("X-Total-Count") != "4" || resp.Header.Get("Link") == "" {
		t.Errorf("a page with size, tags and count = %s, X-Total-Count %q", body, resp.Header.Get("X-Total-Count"))
	}
	_, body = s.do("GET", "/vault/documents?folderId="+folder+"&include=tags&name=d.md", "")
	if docs := decode[[]listedDocument](t, body); len(docs) != 1 || docs[0].Size != 0 || docs[0].Tags == nil || len(*docs[0].Tags) > 0 {
		t.Errorf("a document without tags = %s", body)
	}
	if resp, body := s.do("GET", "/vault/documents?include=count", ""); resp.Header.Get("X-Total-Count") != "0" || body != "[]\n" && body != "[]" {
		t.Errorf("the top level = %s, X-Total-Count %q", body, resp.Header.Get("X-Total-Count"))
	}
	if resp, _ := s.do("GET", "/vault/documents?include=count&folderId="+folder, "", "Authorization", "Bearer bob"); resp.StatusCode != 404 || resp.Header.Get("X-Total-Count") != "" {
		t.Errorf("a folder that bob may not read = %d, X-Total-Count %q", resp.StatusCode, resp.Header.Get("X-Total-Count"))
	}
	for query, want := range map[string]string{
		"sort=date":                        "sort must be one of the following values: name, createdAt, updatedAt, size",
		"order=down":                       "order must be one of the following values: asc, desc",
		"include=size,text":                "each value in include must be one of the following values: size, tags, count",
		"include=true":                     "each value in include must be one of the following values: size, tags, count",
		"name=":                            "name should not be empty",
		"name=" + strings.Repeat("ä", 256): "name must be shorter than or equal to 255 characters",
	} {
		if resp, body := s.do("GET", "/vault/documents?"+query, ""); resp.StatusCode != 422 || !strings.Contains(body, want) {
			t.Errorf("%.40s = %d %s, want 422 with %q", query, resp.StatusCode, body, want)
		}
	}
}
