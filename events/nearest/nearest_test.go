package nearest

import (
	"strings"
	"testing"
)

func TestOfFindsSimilarName(t *testing.T) {
	search := []string{"query", "folder_name", "tags", "tag_mode", "limit", "document_id"}
	for name, want := range map[string]string{
		"folder": "folder_name", "folderName": "folder_name", "FOLDER-NAME": "folder_name", "tag": "tags", "limt": "limit", "qeury": "query",
		"documentId": "document_id", "tagmode": "tag_mode", "x": "", "": "", "top_k": "", strings.Repeat("é", 1<<20): "",
	} {
		if got, ok := Of(name, search); got != want || ok != (want != "") {
			t.Errorf("Of(%.40q): got %q, %t, want %q", name, got, ok, want)
		}
	}
	if got := Hint("x", search[:2]); got != "known: query, folder_name" {
		t.Errorf("Hint of a name that is not similar: got %q", got)
	}
	if got := Shortened(strings.Repeat("é", 65)); got != strings.Repeat("é", 64)+"…" {
		t.Errorf("Shortened of 65 characters: got %q", got)
	}
}
