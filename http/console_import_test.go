package http_test

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"regexp"
	"strings"
	"testing"
)

// sendFiles sends the form of the import page as a browser does that runs no scripts. files
// are names, which may have the path in a folder, and texts in turn.
func (s *service) sendFiles(user, csrf, folder, tags string, files ...string) (status int, to, page string) {
	s.Helper()
	return s.sendForms(user, [][2]string{{"csrf", csrf}, {"folder", folder}, {"tags", tags}}, files...)
}

func (s *service) sendForms(user string, fields [][2]string, files ...string) (status int, to, page string) {
	s.Helper()
	in, out := io.Pipe()
	w := multipart.NewWriter(out)
	go func() {
		for _, field := range fields {
			_ = w.WriteField(field[0], field[1])
		}
		for i := 0; i+1 < len(files); i += 2 {
			part, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name="files"; filename="%s"`, files[i])}, "Content-Type": {"text/plain"}})
			_, _ = io.WriteString(part, files[i+1])
		}
		out.CloseWithError(w.Close())
	}()
	resp, body := s.visitWith(user, "POST", "/import", w.FormDataContentType(), in)
	return resp.StatusCode, resp.Header.Get("Location"), body
}

// importOf returns the id of an import in the address of its page.
func importOf(address string) string { return strings.TrimPrefix(address, "/import/") }

func TestConsoleImportsFilesAndFolders(t *testing.T) {
	s := startConsole(t)
	status, to, page := s.sendFiles("alice", "token", " Work ", "red, new year,", "", "", "a.md", "# Alpha", "Plans/2026/b.md", "# Beta", `Plans\c<b>.md`, "# Gamma", "d.zip", "PK", "Plans/e.md", "")
	if status != 303 || !strings.HasPrefix(to, "/import/") {
		t.Fatalf("POST /import = %d to %q: %s", status, to, page)
	}
	j := s.finish(importOf(to))
	var got []string
	for _, r := range j.Results {
		got = append(got, r.FolderName+": "+r.Filename)
	}
	if want := "Work: a.md, Work/Plans/2026: b.md, Work/Plans: c<b>.md, Work: d.zip, Work/Plans: e.md"; strings.Join(got, ", ") != want {
		t.Errorf("imported %s, want %s", strings.Join(got, ", "), want)
	}
	if _, body := s.do("GET", "/vault/documents/"+j.Results[1].DocumentID+"/tags", ""); !strings.Contains(body, `"new year"`) || !strings.Contains(body, `"red"`) {
		t.Errorf("b.md has the tags %s", body)
	}
	shown := s.page("alice", to)
	s.contains(shown, "3 of 5 files imported; 2 failed", `href="/documents/`+j.Results[0].DocumentID+`"`, "c&lt;b&gt;.md", "files of this type cannot be imported", "the file is empty", "Not imported", "data-done")
	s.lacks(shown, "c<b>", "http-equiv", "data-running", " style=")
	s.contains(s.page("alice", "/import"), `href="`+to+`"`, "3 of 5 files imported; 2 failed", "a.md"[1:], ".docx", "Inbox/alice")
	s.lacks(s.page("bob", "/import"), importOf(to), "3 of 5")
	if resp, _ := s.visit("bob", "GET", to, nil); resp.StatusCode != 404 {
		t.Errorf("bob sees the import of alice: %d", resp.StatusCode)
	}
}

// Without a folder, folders that are chosen go to the inbox, as files do.
func TestConsoleImportsFoldersToTheInbox(t *testing.T) {
	s := startConsole(t)
	_, to, page := s.sendFiles("alice", "token", "", "", "a.md", "# Alpha", "Plans/b.md", "# Beta")
	if to == "" {
		t.Fatal(page)
	}
	j := s.finish(importOf(to))
	if j.Successful != 2 || j.Results[0].FolderName != "Inbox/alice" || j.Results[1].FolderName != "Inbox/alice/Plans" {
		t.Errorf("imported %+v", j.Results)
	}
	again := s.page("alice", to)
	s.contains(again, "Imported", "data-done")
	_, to, _ = s.sendFiles("alice", "token", "", "", "a.md", "# Alpha")
	if j := s.finish(importOf(to)); !j.Results[0].Duplicate {
		t.Fatalf("the second import is %+v", j)
	}
	s.contains(s.page("alice", to), "Was here already")
}

// A form that is sent again, as by loading the reply again, imports nothing twice. Other files are
// not taken for those that it sent.
func TestConsoleImportsAFormOnce(t *testing.T) {
	s := startConsole(t)
	key := regexp.MustCompile(`name="key" value="([^"]+)"`)
	keyOf := func() string {
		t.Helper()
		match := key.FindStringSubmatch(s.page("alice", "/import"))
		if match == nil {
			t.Fatal("the form has no key")
		}
		return match[1]
	}
	first, second := keyOf(), keyOf()
	send := func(key, text string) (status int, to, page string) {
		return s.sendForms("alice", [][2]string{{"csrf", "token"}, {"key", key}, {"folder", "Work"}, {"tags", ""}}, "a.md", text)
	}
	_, to, page := send(first, "# Alpha")
	if to == "" {
		t.Fatal(page)
	}
	if _, again, page := send(first, "# Alpha"); again != to {
		t.Errorf("the form that was sent again leads to %q, want %q: %s", again, to, page)
	}
	if status, _, page := send(first, "# Beta"); status != 422 || !strings.Contains(page, "has already sent other files") || strings.Contains(page, first) {
		t.Errorf("another file with the key = %d %s, want 422 and a form with another key", status, page)
	}
	if _, other, page := send(second, "# Alpha"); other == to || other == "" {
		t.Errorf("another form leads to %q, want another import than %q: %s", other, to, page)
	}
	if _, jobs := s.accepted(); jobs != 2 {
		t.Errorf("%d imports, want 2", jobs)
	}
}

func TestConsoleTellsWhyNothingIsImported(t *testing.T) {
	s := startConsole(t)
	s.file("Secret", "a.md", "# Alpha")
	for _, c := range []struct {
		user, csrf, folder string
		files              []string
		status             int
		want               string
	}{
		{"alice", "token", "Work", nil, 422, "Choose files or a folder first."},
		{"alice", "token", "Work", []string{"", ""}, 422, "Choose files or a folder first."},
		{"alice", "wrong", "Work", []string{"a.md", "# A"}, 403, "out of date"},
		{"bob", "token", "Secret", []string{"a.md", "# A"}, 403, ""},
		{"alice", "token", "A/" + strings.Repeat("x", 300), []string{"a.md", "# A"}, 422, "255"},
		{"alice", "token", strings.Repeat("x", 20<<10), []string{"a.md", "# A"}, 413, "too long"},
	} {
		status, _, page := s.sendFiles(c.user, c.csrf, c.folder, "kept", c.files...)
		if status != c.status || !strings.Contains(page, c.want) {
			t.Errorf("%s imports %q to %.20s = %d %s, want %d %q", c.user, c.files, c.folder, status, page, c.status, c.want)
		}
		if c.status == 422 && (!strings.Contains(page, `value="kept"`) || !strings.Contains(page, `value="`+c.folder+`"`)) {
			t.Errorf("the page has lost what was typed: %s", page)
		}
	}
}

// An upload is handed through as it arrives.
func TestConsoleHoldsNoUploadInMemory(t *testing.T) {
	s := startConsole(t)
	in, out := io.Pipe()
	w := multipart.NewWriter(out)
	arrived := make(chan struct{})
	go func() {
		_ = w.WriteField("csrf", "token")
		_ = w.WriteField("folder", "Work")
		part, _ := w.CreateFormFile("files", "a.txt")
		line := strings.Repeat("All work and no play. ", 3000)
		for range 64 { // 4 MB, of which the client sends the end only after the beginning is stored
			_, _ = io.WriteString(part, line)
		}
		<-arrived
		_, _ = io.WriteString(part, "The end.")
		out.CloseWithError(w.Close())
	}()
	go func() {
		defer close(arrived)
		for staged := 0; staged == 0; {
			staged, _ = s.stored()
		}
	}()
	resp, page := s.visitWith("alice", "POST", "/import", w.FormDataContentType(), in)
	if resp.StatusCode != 303 {
		t.Fatalf("POST /import = %d %s", resp.StatusCode, page)
	}
	if j := s.finish(importOf(resp.Header.Get("Location"))); j.Successful != 1 {
		t.Errorf("the import is %+v", j)
	}
}

// A page of an import has its steps, and shows few of many files.
func TestConsoleShowsProgress(t *testing.T) {
	s := startConsole(t)
	files := []string{}
	for i := range 230 {
		files = append(files, fmt.Sprintf("f%03d.md", i), fmt.Sprintf("# File %d", i))
	}
	_, to, page := s.sendFiles("alice", "token", "Many", "", files...)
	if to == "" {
		t.Fatal(page)
	}
	s.finish(importOf(to))
	first := s.page("alice", to)
	if n := strings.Count(first, "data-file="); n != 100 {
		t.Errorf("the page shows %d files, want 100", n)
	}
	s.contains(first, "230 of 230 files imported", `href="?show=done"`, "<details>")
	if n := strings.Count(s.page("alice", to+"?show=done"), "data-file="); n != 230 {
		t.Errorf("the page of the group shows %d files, want 230", n)
	}
	if n := strings.Count(s.page("alice", to+"?show=done&from=200"), "data-file="); n != 30 {
		t.Errorf("the last page of the group shows %d files, want 30", n)
	}
	for _, path := range []string{to + "?show=nothing", to + "?show=done&from=-1", to + "?show=done&from=999999", to + "?from=x"} {
		s.page("alice", path)
	}
}

// A folder is named as the visitor sees it: bob sees only Plans of Work/Plans, and the inbox of alice has
// her name.
func TestConsoleImportsIntoFoldersAsTheyAreShown(t *testing.T) {
	s := startConsole(t)
	plans := s.folderOf(s.file("Work/Plans", "a.md", "# Alpha"))
	s.do("PUT", "/vault/folders/"+plans+"/permissions", `{"permissions":[{"principal":"user:bob","access":"write"}]}`)
	s.token = "bob"
	s.do("POST", "/vault/invitations/"+plans+"/accept", "{}")
	_, to, page := s.sendFiles("bob", "token", "Plans", "", "b.md", "# Beta", "Deep/c.md", "# Gamma")
	if to == "" {
		t.Fatal(page)
	}
	j := s.finish(importOf(to))
	if j.Successful != 2 || j.Results[0].FolderName != "Plans" || j.Results[1].FolderName != "Plans/Deep" {
		t.Fatalf("the import is %+v", j)
	}
	if got := s.folderOf(j.Results[0].DocumentID); got != plans {
		t.Errorf("b.md is in folder %s, want %s", got, plans)
	}
	s.token = "alice"
	if got := s.folderOf(j.Results[1].DocumentID); got == "" || got == plans {
		t.Errorf("c.md is in folder %q, want one in Plans", got)
	}
	inbox := s.folderOf(s.file("Inbox/alice", "i.md", "# Inbox"))
	_, to, page = s.sendFiles("alice", "token", "alice", "", "d.md", "# Delta")
	if to == "" {
		t.Fatal(page)
	}
	if got := s.folderOf(s.finish(importOf(to)).Results[0].DocumentID); got != inbox {
		t.Errorf("d.md is in folder %s, want the inbox %s", got, inbox)
	}
	s.do("PUT", "/vault/folders/"+plans+"/permissions", `{"permissions":[{"principal":"user:bob","access":"read"}]}`)
	if status, _, page := s.sendFiles("bob", "token", "Plans", "", "e.md", "# E"); status != 403 || !strings.Contains(page, "ou may not write in folder") {
		t.Errorf("bob imports into Plans with read access: %d %s", status, page)
	}
}
