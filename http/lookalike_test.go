package http_test

import (
	"encoding/json"
	"mime/multipart"
	"strings"
	"testing"
)

// Users cannot imitate another user's folder by a similar name. The sources and the reasoning
// of answers name the owner of each folder.
func TestAnswersNameOwner(t *testing.T) {
	s := startStack(t)
	s.file("Finance", "accounts.md", "# Payments\n\nThe bank account number for payments to us is NL02 ABNA 0123.\n")
	const lie = "# Payments\n\nThe bank account number for payments to us is XX66 EVIL 0666.\n"

	s.token = "bob"
	for name, says := range map[string]string{
		"Fin\u200bance": "U+200B ZERO WIDTH SPACE at position 4", "\u202eecnaniF": "U+202E RIGHT-TO-LEFT OVERRIDE at position 1",
		"Finance\u2060": "U+2060 WORD JOINER at position 8", "Finаnce": "looks like one that is taken", "𝐅inance": "looks like one that is taken",
	} {
		in, _ := json.Marshal(map[string]any{"name": name})
		resp, body := s.do("POST", "/vault/folders", string(in))
		if resp.StatusCode != 422 && resp.StatusCode != 409 || !strings.Contains(body, says) {
			t.Errorf("create folder %q = %d %s, want %s", name, resp.StatusCode, body, says)
		}
		resp, body = s.upload("", func(w *multipart.Writer) {
			metadata, _ := json.Marshal([]map[string]any{{"folder_name": name}, {"folder_name": "Bob's"}})
			w.WriteField("file_metadata", string(metadata))
			addFile(w, "accounts.md", lie)
			addFile(w, "note "+strings.ToUpper(says[:6])+".md", "Nothing of that.\n")
		})
		if resp.StatusCode != 200 {
			t.Fatalf("import into %q = %d %s", name, resp.StatusCode, body)
		}
		j := s.finish(decode[jobReply](t, body).JobID)
		if j.Successful != 1 || j.Failed != 1 || !strings.Contains(j.Results[0].Error, says) {
			t.Errorf("import into %q = %+v, want only the first file to fail with %s", name, j, says)
		}
	}

	// Alice finds the documents in bob's folder after an administrator has shared it with her.
	bobs := s.folderOf(s.file("Bob's", "accounts.md", lie))
	s.token = "admin"
	s.share(bobs, "user:alice", "write")
	s.token = "alice"
	resp, body := s.do("POST", "/core/search", `{"query":"What is the bank account number for payments?"}`)
	found := decode[struct {
		Sources []struct{ Text, Folder, Owner string }
	}](t, body)
	if resp.StatusCode != 200 || len(found.Sources) < 2 {
		t.Fatalf("search = %d %s", resp.StatusCode, body)
	}
	for _, source := range found.Sources {
		lies := strings.Contains(source.Text, "EVIL")
		if lies && (source.Folder != "Bob's" || source.Owner != "user:bob") || strings.Contains(source.Text, "ABNA") && (source.Folder != "Finance" || source.Owner != "user:alice") {
			t.Errorf("a source names the wrong folder or owner: %+v", source)
		}
	}
	_, body = s.do("POST", "/core/ask", `{"query":"What is the bank account number for payments?"}`)
	a := decode[struct{ Answer, Reasoning string }](t, body)
	if want := map[bool]string{true: "in folder “Bob's” of bob", false: "in folder “Finance” of alice"}[strings.Contains(a.Answer, "EVIL")]; !strings.Contains(a.Reasoning, want) {
		t.Errorf("ask = %s, want %s", body, want)
	}
}

// A folder never contains two documents with names that look alike.
func TestDocumentsDoNotLookAlike(t *testing.T) {
	s := startStack(t)
	report := s.file("Reports", "report1.md", "The first report.\n")
	other := s.file("Plans", "rероrt1.md", "The other report.\n") // the only document there
	resp, body := s.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"Reports"},{"folder_name":"Reports"},{"folder_name":"Reports"},{"folder_name":"Reports"},{"folder_name":"Reports"}]`)
		addFile(w, "rероrt1.md", "Cyrillic letters.\n")
		addFile(w, "reportl.md", "Plain letters.\n")
		addFile(w, "plan\u200b.md", "Hidden characters.\n")
		addFile(w, "Übersicht.md", "Letters with marks.\n")
		addFile(w, "ѕum.md", "The first of its kind.\n")
	})
	if resp.StatusCode != 200 {
		t.Fatalf("import = %d %s", resp.StatusCode, body)
	}
	j := s.finish(decode[jobReply](t, body).JobID)
	for i, says := range []string{`looks like "report1.md"`, "", "U+200B ZERO WIDTH SPACE at position 5", "", ""} {
		if r := j.Results[i]; r.Success != (says == "") || !strings.Contains(r.Error, says) {
			t.Errorf("file %d: %+v, want %q", i, r, says)
		}
	}
	for change, status := range map[string]int{
		`{"version":1,"name":"rероrt1.md"}`:   200, // its own name
		`{"version":1,"name":"sum\u2066.md"}`: 422, `{"version":1,"folderId":"` + s.folderOf(report) + `"}`: 409,
	} {
		if resp, body := s.do("PATCH", "/vault/documents/"+other, change); resp.StatusCode != status {
			t.Errorf("%s = %d %s, want %d", change, resp.StatusCode, body, status)
		}
	}
	if resp, body := s.do("PATCH", "/vault/documents/"+report, `{"version":1,"name":"sum.md"}`); resp.StatusCode != 409 || !strings.Contains(body, "looks like") {
		t.Errorf("a name like that of another document = %d %s", resp.StatusCode, body)
	}
	if resp, body := s.do("PUT", "/vault/documents/"+report+"/tags", `{"version":1,"tags":["r\u200bed"]}`); resp.StatusCode != 422 || !strings.Contains(body, "ZERO WIDTH SPACE") {
		t.Errorf("a tag with a hidden character = %d %s", resp.StatusCode, body)
	}
}
