package nearest

import (
	"strings"
	"testing"
)

func TestNamesThatWereMeant(t *testing.T) {
	search := []string{"query", "folder_name", "tags", "tag_mode", "limit", "document_id"}
	for name, want := range map[string]string{
		"folder": "folder_name", "folderName": "folder_name", "FOLDER-NAME": "folder_name", "tag": "tags", "limt": "limit", "qeury": "query",
		"documentId": "document_id", "tagmode": "tag_mode", "x": "", "": "", "top_k": "", strings.Repeat("é", 1<<20): "",
	} {
		if got, ok := Of(name, search); got != want || ok != (want != "") {
			t.Errorf("%.40q was meant as %q, %t, want %q", name, got, ok, want)
		}
	}
	if got := Hint("x", search[:2]); got != "known: query, folder_name" {
		t.Errorf("a name like none: %s", got)
	}
	if got := Shortened(strings.Repeat("é", 65)); got != strings.Repeat("é", 64)+"…" {
		t.Errorf("shortened to %q", got)
	}
}
