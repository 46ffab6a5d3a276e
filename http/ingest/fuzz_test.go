package ingest

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"annals/commands/naming"
	"annals/http/problem"
)

// Every file_metadata is either valid, with folder paths in their stored form, or refused with
// an error that can be encoded as JSON.
func FuzzMetadata(f *testing.F) {
	for _, s := range []string{`[{"folder_name":"A/B","tags":["x"]},{}]`, `[{"replace":true,"version":3},null]`, `{`, `[1,]`, `"\u12"`, `[[[[`, `null`, ``, "\xff", "\xef\xbb\xbf[]", `[]{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var found problem.Fields
		entries := readEntries(text, 5, "Inbox/alice", &found)
		if len(entries) > 6 {
			t.Fatalf("readEntries returned %d entries, want at most 6", len(entries))
		}
		if len(found) > 0 {
			w := httptest.NewRecorder()
			if problem.Core.Fail(w, found.Err()); w.Code != 422 || !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			return
		}
		for _, e := range entries {
			if kept, err := naming.Folder(e.folder); err != nil || kept != e.folder {
				t.Fatalf("folder %q: %v", e.folder, err)
			}
		}
	})
}

// Any file name becomes a valid document name.
func FuzzFileName(f *testing.F) {
	for _, s := range []string{"a.md", `C:\x\a.pdf`, "../../etc/passwd", "", ".", "a/", "e\u0301.txt", "\u202egnp.exe", "\xff.txt", strings.Repeat("é", 200) + ".docx", " \t.md", strings.Repeat("x", 254) + " ."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, given string) {
		name, _ := fileName(given)
		if strings.ContainsAny(name, `/\`) || len(name) > maxFileName || !utf8.ValidString(name) {
			t.Fatalf("fileName(%q) = %q, which is not valid", given, name)
		}
		if _, err := naming.Folder(name); err != nil {
			t.Fatalf("fileName(%q) = %q: %v", given, name, err)
		}
	})
}
