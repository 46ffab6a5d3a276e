package http_test

import (
	"bytes"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"annals/events"
	httpd "annals/http"
	"annals/http/console"
	"annals/http/console/session"
)

// shownTo is a sign-in of the console for tests: the cookie names the user, and is the token.
type shownTo struct{}

func (shownTo) Of(_ http.ResponseWriter, r *http.Request) (session.Session, bool, error) {
	c, err := r.Cookie("user")
	if err != nil {
		return session.Session{}, false, nil
	}
	return session.Session{Token: c.Value, User: events.User{Principal: events.Principal("user:" + c.Value), Admin: c.Value == "admin"}, Expires: time.Now().Add(time.Hour)}, true, nil
}
func (shownTo) Login(http.ResponseWriter, *http.Request)       {}
func (shownTo) Callback(http.ResponseWriter, *http.Request)    {}
func (shownTo) Logout(http.ResponseWriter, *http.Request)      {}
func (shownTo) CSRF(http.ResponseWriter, *http.Request) string { return "token" }
func (shownTo) CheckCSRF(r *http.Request) bool {
	if r.PostForm == nil {
		_ = r.ParseForm()
	}
	return r.PostForm.Get("csrf") == "token"
}

// startConsole starts a server with the console.
func startConsole(t *testing.T) *service {
	t.Helper()
	s := startStack(t, func(h *httpd.Server) {
		at := func(path string) *url.URL { return &url.URL{Scheme: "http", Host: "annals.test", Path: path} }
		h.Console = console.New(console.Options{Sessions: shownTo{}, CoreURL: at("/core"), VaultURL: at("/vault"), IssuerURL: at("/signin")})
	})
	s.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s
}

// visit sends a request of a user's browser, with a form unless that is nil.
func (s *service) visit(user, method, path string, form url.Values) (*http.Response, string) {
	s.Helper()
	return s.visitWith(user, method, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

func (s *service) visitWith(user, method, path, kind string, body io.Reader) (*http.Response, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, body)
	if err != nil {
		s.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: "user", Value: user})
	r.Header.Set("Content-Type", kind)
	return s.send(r)
}

// page requests a page that must be there.
func (s *service) page(user, path string) string {
	s.Helper()
	resp, body := s.visit(user, "GET", path, nil)
	if resp.StatusCode != 200 {
		s.Fatalf("GET %s of %s = %d %s", path, user, resp.StatusCode, body)
	}
	return body
}

// submit opens a page as a user, fills in its form and sends it. It returns the reply, and, if
// that leads to another page, that page.
func (s *service) submit(user, path string, fields ...string) (*http.Response, string) {
	s.Helper()
	return s.sendForm(user, s.page(user, path), fields...)
}

var (
	formTag  = regexp.MustCompile(`(?s)<form[^>]* method="post" action="([^"]*)".*?</form>`)
	inputTag = regexp.MustCompile(`<input[^>]*>`)
	attr     = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// sendForm fills in the last form of a page that has all fields, and sends it.
func (s *service) sendForm(user, page string, fields ...string) (*http.Response, string) {
	s.Helper()
	var action string
	var form url.Values
	_, content, _ := strings.Cut(page, "<main")
	for _, match := range formTag.FindAllStringSubmatch(content, -1) {
		values := url.Values{}
		for _, input := range inputTag.FindAllString(match[0], -1) {
			at := map[string]string{}
			for _, a := range attr.FindAllStringSubmatch(input, -1) {
				at[a[1]] = html.UnescapeString(a[2])
			}
			if at["type"] != "checkbox" || strings.Contains(input, " checked") {
				values.Add(at["name"], at["value"])
			}
		}
		fits := true
		for i := 0; i+1 < len(fields); i += 2 {
			fits = fits && strings.Contains(match[0], `name="`+fields[i]+`"`)
			values.Set(fields[i], fields[i+1])
		}
		if fits {
			action, form = html.UnescapeString(match[1]), values
		}
	}
	if form == nil {
		s.Fatalf("no form has the fields %q: %s", fields, content)
	}
	resp, body := s.visit(user, "POST", action, form)
	if resp.StatusCode == http.StatusSeeOther {
		body = s.page(user, resp.Header.Get("Location"))
	}
	return resp, body
}

func (s *service) contains(page string, parts ...string) {
	s.Helper()
	for _, part := range parts {
		if !strings.Contains(page, part) {
			s.Errorf("the page has no %q: %s", part, page)
		}
	}
}

func (s *service) lacks(page string, parts ...string) {
	s.Helper()
	for _, part := range parts {
		if strings.Contains(page, part) {
			s.Errorf("the page has %q: %s", part, page)
		}
	}
}

func TestFoldersShowWhatIsInThem(t *testing.T) {
	s := startConsole(t)
	id := s.file("Staff/2026", "handbook.md", handbook, "hr")
	s.file("Staff", `<img src=x onerror="alert(1)">.md`, "# A\n")
	folder := s.folderOf(id)
	page := s.page("alice", "/folders")
	s.contains(page, "Staff", `href="/folders/new"`)
	page = s.page("alice", "/folders/"+folder)
	s.contains(page, "handbook.md", ">2026<", `aria-current="page"><bdi>2026`, `value="Staff/2026"`, "Summary", `href="/documents/`+id+`"`)
	_, rest, _ := strings.Cut(page, `<nav class="crumbs"`)
	_, rest, _ = strings.Cut(rest, `href="/folders/`)
	above, _, _ := strings.Cut(rest, `"`)
	page = s.page("alice", "/folders/"+above)
	s.contains(page, "&lt;img src=x onerror=&#34;alert(1)&#34;&gt;.md", "2026")
	s.lacks(page, "<img")
	s.contains(s.page("alice", "/folders?tag=hr"), "handbook.md")
	s.lacks(s.page("alice", "/folders?tag=other"), "handbook.md")
	for _, path := range []string{"/folders/" + above, "/folders/" + folder + "/share", "/folders/" + folder + "/change", "/documents/" + id + "/change"} {
		if resp, body := s.visit("bob", "GET", path, nil); resp.StatusCode != 404 || strings.Contains(body, "Staff") || strings.Contains(body, "handbook") {
			t.Errorf("GET %s of bob = %d %s", path, resp.StatusCode, body)
		}
	}
	s.lacks(s.page("bob", "/folders"), "Staff", `"hr"`)
}

// A user with a folder in the middle of the tree sees nothing of what is above or beside it.
func TestFoldersOfOthersAreNotInPages(t *testing.T) {
	s := startConsole(t)
	id := s.file("Secret/Open/Below", "handbook.md", handbook)
	s.file("Secret", "concealed.md", "# Concealed\n", "quiet")
	s.file("Secret/Beside", "beside.md", "# Beside\n")
	open := s.folderByPath("Secret/Open")
	s.share(open, "user:bob", "write")
	below := s.folderOf(id)
	for _, path := range []string{"/folders", "/folders/" + open, "/folders/" + below, "/folders/" + below + "/change?do=move", "/folders/" + below + "/change?do=move&in=", "/documents/" + id + "/change?do=move", "/documents/" + id + "/change?do=tags", "/folders/" + below + "/share", "/account"} {
		page := s.page("bob", path)
		s.lacks(page, "Secret", "oncealed", "Beside", "beside", "quiet")
	}
	s.contains(s.page("bob", "/folders/"+below), `value="Open/Below"`, "handbook.md")
	s.contains(s.page("bob", "/folders/"+open), ">Leave</a>")
	s.lacks(s.page("bob", "/folders/"+open), ">Share</a>", ">Delete</a>")
}

func (s *service) folderByPath(path string) string {
	s.Helper()
	_, body := s.do("GET", "/vault/folders?path="+url.QueryEscape(path), "")
	all := decode[[]struct{ ID string }](s.T, body)
	if len(all) != 1 {
		s.Fatalf("there is no folder %s", path)
	}
	return all[0].ID
}

func TestFoldersAreCreatedRenamedMovedAndDeleted(t *testing.T) {
	s := startConsole(t)
	resp, page := s.submit("alice", "/folders/new", "name", "Reports")
	if resp.StatusCode != 303 {
		t.Fatalf("create = %d %s", resp.StatusCode, page)
	}
	s.contains(page, "<bdi>Reports</bdi></h1>", "The folder was created.")
	top := s.folderByPath("Reports")
	resp, page = s.submit("alice", "/folders/new", "name", "Reports")
	if resp.StatusCode != 409 {
		t.Errorf("create again = %d", resp.StatusCode)
	}
	s.contains(page, `value="Reports"`, "The name &#34;Reports&#34; is taken in this folder", `aria-invalid="true"`)
	s.submit("alice", "/folders/new?in="+top, "name", "مرحبا")
	inner := s.folderByPath("Reports/مرحبا")
	_, page = s.submit("alice", "/folders/"+inner+"/change?do=name", "name", "2026")
	s.contains(page, "The name was changed.", "<bdi>2026</bdi></h1>")
	s.file("Reports/2026", "handbook.md", handbook)
	page = s.page("alice", "/folders/"+inner+"/change?do=move&in=")
	s.contains(page, "All folders", "Move here")
	_, page = s.sendForm("alice", page, "to", "")
	s.contains(page, "It was moved.")
	s.folderByPath("2026")
	page = s.page("alice", "/folders/"+inner+"/change?do=delete")
	s.contains(page, "1 document</strong>", "handbook.md", "and everything in it")
	_, page = s.sendForm("alice", page, "do", "delete")
	s.contains(page, "It was deleted.")
	s.lacks(page, "2026")
}

// Somebody else changes a folder or document while a form is open.
func TestConflictsShowBothVersions(t *testing.T) {
	s := startConsole(t)
	id := s.file("Staff", "handbook.md", handbook, "hr")
	folder := s.folderOf(id)
	s.share(folder, "user:bob", "write")
	open := map[string]string{}
	for _, do := range []string{"name", "tags", "delete"} {
		open[do] = s.page("alice", "/documents/"+id+"/change?back=/folders&do="+do)
	}
	if resp, body := s.submit("bob", "/documents/"+id+"/change?back=/folders", "name", "rules.md"); resp.StatusCode != 303 {
		t.Fatalf("bob renames = %d %s", resp.StatusCode, body)
	}
	s.submit("bob", "/documents/"+id+"/change?do=tags&back=/folders", "add", "old, 2026")
	resp, page := s.sendForm("alice", open["name"], "name", "manual.md")
	if resp.StatusCode != 409 {
		t.Errorf("alice renames = %d", resp.StatusCode)
	}
	s.contains(page, "rules.md", `value="manual.md"`, "<bdi>bob</bdi> made version 2: renamed", "version 3: tagged", "all the same", "Leave it as it is now")
	_, tags := s.sendForm("alice", open["tags"], "add", "mine")
	s.contains(tags, "<bdi>hr, old, 2026</bdi>", "<bdi>hr, mine</bdi>", `value="mine"`, `value="old"> `, `value="hr" checked>`)
	resp, body := s.sendForm("alice", open["delete"], "do", "delete")
	if resp.StatusCode != 409 || !strings.Contains(body, "Delete it all the same") {
		t.Errorf("alice deletes = %d %s", resp.StatusCode, body)
	}
	if resp, page = s.sendForm("alice", page, "name", "manual.md"); resp.StatusCode != 303 {
		t.Errorf("alice renames all the same = %d %s", resp.StatusCode, page)
	}
	form := s.page("alice", "/folders/"+folder+"/change?do=name")
	s.submit("bob", "/folders/"+folder+"/change?do=name", "name", "People")
	resp, page = s.sendForm("alice", form, "name", "Team")
	if resp.StatusCode != 409 {
		t.Errorf("alice renames the folder = %d", resp.StatusCode)
	}
	s.contains(page, "People", `value="Team"`, "<bdi>bob</bdi> renamed folder")
}

func TestDocumentsAreMovedAndGetNewContent(t *testing.T) {
	s := startConsole(t)
	id := s.file("Staff", "handbook.md", handbook)
	s.file("Archive", "old.md", "# Old\n")
	to := s.folderByPath("Archive")
	page := s.page("alice", "/documents/"+id+"/change?do=move&in="+to+"&back=/folders/"+s.folderOf(id))
	resp, page := s.sendForm("alice", page, "to", to)
	if resp.StatusCode != 303 || s.folderOf(id) != to {
		t.Fatalf("move = %d %s", resp.StatusCode, page)
	}
	s.contains(page, "It was moved.", "<bdi>Staff</bdi></h1>")
	replace := func(version, content string) (*http.Response, string) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		w.WriteField("csrf", "token")
		w.WriteField("do", "content")
		w.WriteField("version", version)
		w.WriteField("back", "/folders/"+to)
		if content != "" {
			part, _ := w.CreateFormFile("file", "new.md")
			io.WriteString(part, content)
		}
		w.Close()
		return s.visitWith("alice", "POST", "/documents/"+id+"/change", w.FormDataContentType(), &body)
	}
	if resp, page = replace("2", "# Handbook\n\nThe notice period is one day.\n"); resp.StatusCode != 303 || resp.Header.Get("Location") != "/folders/"+to+"?done=content" {
		t.Fatalf("new content = %d %s", resp.StatusCode, page)
	}
	if _, text := s.do("GET", "/vault/documents/"+id+"/markdown", ""); !strings.Contains(text, "one day") {
		t.Errorf("the text is %s", text)
	}
	resp, page = replace("2", strings.Repeat("# Other\n", 2<<20)) // longer than what a server reads after its reply
	if resp.StatusCode != 409 {
		t.Errorf("new content for an old version = %d", resp.StatusCode)
	}
	s.contains(page, "version 3: revised", "Replace it all the same")
	resp, page = replace("3", "")
	if resp.StatusCode != 422 {
		t.Errorf("no file = %d", resp.StatusCode)
	}
	s.contains(page, "Choose a file first.")
}

func TestFormsWithFilesNeedTheirToken(t *testing.T) {
	s := startConsole(t)
	id := s.file("Staff", "handbook.md", handbook)
	for _, first := range []string{"do", "csrf"} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		w.WriteField(first, "content")
		w.WriteField("csrf", "token")
		w.WriteField("do", "content")
		w.WriteField("version", "1")
		part, _ := w.CreateFormFile("file", "new.md")
		io.WriteString(part, "# Forged\n")
		w.Close()
		if resp, page := s.visitWith("alice", "POST", "/documents/"+id+"/change", w.FormDataContentType(), &body); resp.StatusCode != 403 {
			t.Errorf("a form that begins with %s = %d %s", first, resp.StatusCode, page)
		}
	}
}

func TestShareAndInvitations(t *testing.T) {
	s := startConsole(t)
	id := s.file("Staff/2026", "handbook.md", handbook)
	folder, top := s.folderOf(id), s.folderByPath("Staff")
	share := "/folders/" + folder + "/share"
	s.do("PUT", "/vault/folders/"+top+"/permissions", `{"permissions":[{"principal":"group:auditors","access":"read"}]}`)
	form := s.page("alice", share)
	resp, page := s.sendForm("alice", form, "kind", "user", "who", "bob", "access", "write")
	if resp.StatusCode != 303 {
		t.Fatalf("share = %d %s", resp.StatusCode, page)
	}
	s.contains(page, "The rights were changed.", "<bdi>bob</bdi></strong>", "has not accepted yet", "<bdi>auditors</bdi>", `/folders/`+top+`/share"><bdi>Staff</bdi>`, "may do everything and share")
	resp, page = s.sendForm("alice", form, "kind", "user", "who", "carol", "access", "read")
	if resp.StatusCode != 409 {
		t.Errorf("share an old list = %d", resp.StatusCode)
	}
	s.contains(page, `value="carol"`, "Somebody changed this folder", "all the same")
	offers := s.page("bob", "/folders")
	s.contains(offers, "<bdi>alice</bdi>", "<bdi>2026</bdi>", "may read and change")
	s.lacks(s.page("carol", "/folders"), "2026", "alice")
	_, page = s.sendForm("bob", strings.ReplaceAll(offers, `name="do" value="accept"`, `type="hidden" name="do" value="accept"`), "do", "accept")
	s.contains(page, "You have accepted the invitation.", "handbook.md")
	resp, page = s.submit("alice", share, "principal", "user:bob", "do", "remove")
	if resp.StatusCode != 303 || strings.Contains(page, "<bdi>bob</bdi>") {
		t.Errorf("take away = %d %s", resp.StatusCode, page)
	}
	if resp, _ := s.visit("bob", "GET", "/folders/"+folder, nil); resp.StatusCode != 404 {
		t.Errorf("bob still gets %d", resp.StatusCode)
	}
	s.contains(s.page("alice", "/account"), "<bdi>alice</bdi>", "You are in no groups.", "Documents")
	if resp, page = s.submit("alice", share, "kind", "user", "who", " ", "access", "read"); resp.StatusCode != 422 {
		t.Errorf("share with nobody = %d %s", resp.StatusCode, page)
	}
}

func TestInvitationsAreDeclinedAndFoldersLeft(t *testing.T) {
	s := startConsole(t)
	id := s.file("Staff/2026", "handbook.md", handbook)
	folder := s.folderOf(id)
	s.offer(folder, "user:bob", "read", "user:carol", "read")
	page := s.page("bob", "/account")
	s.contains(page, "<bdi>2026</bdi>", "may read")
	_, page = s.sendForm("bob", strings.ReplaceAll(page, `<button class="plain" name="do"`, `<input type="hidden" name="do"`), "do", "decline")
	s.contains(page, "You have declined the invitation.")
	s.lacks(page, "2026")
	page = s.page("bob", "/account")
	s.contains(page, "Invitations that are not shown", "<bdi>alice</bdi>")
	_, page = s.sendForm("bob", page, "principal", "user:alice")
	s.contains(page, "Invitations of this user are shown again.", "<bdi>2026</bdi>")
	if resp, page := s.visit("carol", "POST", "/invitations/"+folder, url.Values{"csrf": {"token"}, "do": {"accept"}}); resp.Header.Get("Location") != "/folders/"+folder+"?done=accept" {
		t.Fatalf("carol accepts = %d %s", resp.StatusCode, page)
	}
	s.contains(s.page("carol", "/folders/"+folder), "handbook.md", ">Leave</a>")
	for path, fields := range map[string][]string{
		"/folders/" + folder + "/change?do=name": {"name", "Mine"}, "/folders/new?in=" + folder: {"name", "Mine"}, "/documents/" + id + "/change?do=name": {"name", "mine.md"},
		"/documents/" + id + "/change?do=tags": {"add", "mine"}, "/documents/" + id + "/change?do=delete": {"do", "delete"}, "/folders/" + folder + "/change?do=delete": {"do", "delete"},
	} {
		resp, page := s.submit("carol", path, fields...)
		if resp.StatusCode != 403 || !strings.Contains(page, `role="alert">`) || fields[0] != "do" && !strings.Contains(page, `value="`+fields[1]+`"`) {
			t.Errorf("%s of carol, who may only read = %d %s", path, resp.StatusCode, page)
		}
	}
	_, page = s.submit("carol", "/folders/"+folder+"/share", "do", "leave")
	s.contains(page, "You have left the folder.")
	s.lacks(page, "2026")
	if resp, page := s.visit("alice", "POST", "/folders/"+folder+"/share", url.Values{"csrf": {"token"}, "do": {"leave"}}); resp.StatusCode != 404 || !strings.Contains(page, "cannot leave it by yourself") {
		t.Errorf("alice leaves her own folder = %d %s", resp.StatusCode, page)
	}
}

func TestPagesOfFoldersWantTheFormToken(t *testing.T) {
	s := startConsole(t)
	id := s.file("Staff", "handbook.md", handbook)
	folder := s.folderOf(id)
	for _, path := range []string{"/folders/new", "/folders/" + folder + "/change", "/folders/" + folder + "/share", "/invitations/" + folder, "/documents/" + id + "/change", "/account/unblock"} {
		if resp, _ := s.visit("alice", "POST", path, url.Values{"do": {"delete"}, "version": {"1"}, "name": {"Forged"}}); resp.StatusCode != 403 {
			t.Errorf("POST %s without the token = %d", path, resp.StatusCode)
		}
	}
	if s.folderOf(id) != folder {
		t.Error("the document is gone")
	}
}
