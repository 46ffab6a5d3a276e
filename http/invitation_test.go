package http_test

import (
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"annals/commands"
	"annals/commands/foldertree"
	httpd "annals/http"
)

type invitationReply struct{ FolderID, FolderName, InvitedBy, Access, InvitedAt string }

// by returns the Authorization header with a user's token.
func by(name string) []string { return []string{"Authorization", "Bearer " + name} }

// invitationsOf returns a user's pending invitations as "folder by inviter to access".
func (s *service) invitationsOf(name string) (all []string) {
	s.Helper()
	resp, body := s.do("GET", "/vault/invitations", "", by(name)...)
	if resp.StatusCode != 200 {
		s.Fatalf("invitations of %s = %d %s", name, resp.StatusCode, body)
	}
	for _, i := range decode[[]invitationReply](s.T, body) {
		all = append(all, fmt.Sprint(i.FolderName, " by ", i.InvitedBy, " to ", i.Access))
	}
	return all
}

func (s *service) wantInvitations(name string, want ...string) {
	s.Helper()
	if got := s.invitationsOf(name); !slices.Equal(got, want) {
		s.Errorf("%s is invited to %q, want %q", name, got, want)
	}
}

// answer sends a user's reply to an invitation, "accept" or "decline", and checks the status.
func (s *service) answer(name, folder, how string, want int) {
	s.Helper()
	if resp, body := s.do("POST", "/vault/invitations/"+folder+"/"+how, "", by(name)...); resp.StatusCode != want || want == 204 && body != "" {
		s.Errorf("%s by %s = %d %s, want %d", how, name, resp.StatusCode, body, want)
	}
}

// everything returns the concatenated replies of all routes that could reveal the document or
// its folder to the user.
func (s *service) everything(name, folder, document string) string {
	s.Helper()
	var all strings.Builder
	for _, call := range []struct{ method, path, body string }{
		{"GET", "/vault/folders", ""}, {"GET", "/vault/folders?path=Accounts", ""}, {"GET", "/vault/folders?path=Top/Accounts", ""},
		{"GET", "/vault/folders/" + folder, ""}, {"GET", "/vault/folders/" + folder + "?include=true", ""}, {"GET", "/vault/folders?parentFolderId=" + folder, ""},
		{"GET", "/vault/folders/" + folder + "/permissions", ""}, {"PATCH", "/vault/folders/" + folder, `{"name":"Mine"}`}, {"DELETE", "/vault/folders/" + folder, ""},
		{"POST", "/vault/folders", `{"name":"Mine","parentFolderId":"` + folder + `"}`},
		{"GET", "/vault/documents?folderId=" + folder, ""}, {"GET", "/vault/documents?tag=money", ""}, {"GET", "/vault/tags", ""},
		{"GET", "/vault/documents/" + document, ""}, {"GET", "/vault/documents/" + document + "/markdown", ""}, {"GET", "/vault/documents/" + document + "/content", ""},
		{"GET", "/vault/documents/" + document + "/tags", ""}, {"GET", "/vault/documents/" + document + "/versions", ""}, {"GET", "/documents/" + document + ".md", ""},
		{"POST", "/vault/documents/batch", `{"ids":["` + document + `"]}`},
		{"GET", "/vault/audit?folder=" + folder, ""}, {"GET", "/vault/audit?document=" + document, ""},
		{"POST", "/core/search", `{"query":"account number"}`}, {"POST", "/core/search", `{"query":"account number","folder_name":"Top/Accounts"}`},
		{"POST", "/core/search", `{"query":"account number","tags":["money"]}`},
		{"POST", "/core/ask", `{"query":"What is my account number?"}`}, {"POST", "/core/ask", `{"query":"What is my account number?","folder_name":"Top/Accounts"}`},
		{"GET", "/core/folders/summary?folder_name=Top/Accounts", ""}, {"GET", "/core/folders/summary?folder_name=Top", ""},
	} {
		resp, body := s.do(call.method, call.path, call.body, by(name)...)
		fmt.Fprintf(&all, "%s %s %s = %d %s\n", call.method, call.path, call.body, resp.StatusCode, body)
	}
	return all.String()
}

// Until a user accepts an invitation, only the list of invitations shows it. All other replies
// to that user are the same as without the invitation.
func TestInvitationShowsNothingBeforeAccepted(t *testing.T) {
	s := startStack(t)
	s.makeFolder("", "Top")
	s.file("Top/Accounts", "bank.md", "# Bank\n\nMy account number is DE02 1203 0000.\n", "money")
	document := s.file("Top/Accounts", "note.md", "# Note\n\nThe account number is now XX99 6666 6666.\n", "money")
	folder := s.folderOf(document)
	before := s.everything("bob", folder, document)
	if strings.Contains(before, "6666") || strings.Contains(before, "= 500") {
		t.Fatalf("bob reads the document before it is shared:\n%s", before)
	}

	if got := s.offer(folder, "user:bob", "own"); !slices.Equal(got, []string{"user:bob"}) {
		t.Fatalf("PUT permissions replies with pending %q, want user:bob", got)
	}
	s.wantInvitations("bob", "Accounts by user:alice to own")
	s.wantInvitations("carol")
	if after := s.everything("bob", folder, document); after != before {
		t.Errorf("an invitation changed the replies to\n%s\nfrom:\n%s", after, before)
	}
	s.answer("bob", folder, "decline", 204)
	if after := s.everything("bob", folder, document); after != before {
		t.Errorf("a declined invitation changed the replies to\n%s", after)
	}
	resp, body := s.do("DELETE", "/vault/invitations/blocked?principal=user:alice", "", by("bob")...)
	s.want(resp, body, 204, "")
	s.wantInvitations("bob", "Accounts by user:alice to own")

	s.answer("carol", folder, "accept", 404)
	s.answer("bob", folder, "accept", 204)
	s.answer("bob", folder, "accept", 204)
	s.wantInvitations("bob")
	if after := s.everything("bob", folder, document); !strings.Contains(after, "6666") || !strings.Contains(after, `"tags":["money"]`) {
		t.Errorf("bob has accepted, but the replies lack the document:\n%s", after)
	}
	resp, body = s.do("POST", "/core/search", `{"query":"account number"}`, by("bob")...)
	if resp.StatusCode != 200 || !strings.Contains(body, "XX99") {
		t.Errorf("a search = %d %s", resp.StatusCode, body)
	}
	s.answer("bob", folder, "decline", 204) // leaves
	resp, body = s.do("GET", "/vault/folders/"+folder, "", by("bob")...)
	s.want(resp, body, 404, notFound)
}

// A permission list does not reveal to owners whether a user's invitation is pending, was
// declined, or is hidden because the user has blocked the inviter. Owners can send the list back
// unchanged.
func TestOwnersDoNotSeeDeclines(t *testing.T) {
	s := startStack(t)
	folders := []string{s.makeFolder("", "Unread"), s.makeFolder("", "Declined")}
	for _, id := range folders {
		s.offer(id, "group:staff", "read", "user:bob", "read")
	}
	s.wantInvitations("bob", "Declined by user:alice to read", "Unread by user:alice to read")
	s.answer("bob", folders[1], "decline", 204)
	s.wantInvitations("bob") // declining hides all invitations by the same inviter
	s.answer("bob", folders[0], "accept", 404)
	folders = append(folders, s.makeFolder("", "Blocked"))
	s.offer(folders[2], "group:staff", "read", "user:bob", "read")
	s.wantInvitations("bob")
	s.answer("bob", folders[1], "accept", 404)
	s.answer("bob", folders[2], "accept", 404)

	var seen []string
	for _, id := range folders {
		path := "/vault/folders/" + id + "/permissions"
		resp, list := s.do("GET", path, "")
		etag := resp.Header.Get("ETag")
		resp, body := s.do("PUT", path, list, "If-Match", etag)
		s.want(resp, body, 200, list)
		if got := resp.Header.Get("ETag"); got != etag {
			t.Errorf("writing a list back changes the version from %s to %s", etag, got)
		}
		resp, body = s.do("PUT", path, list, append(by("admin"), "If-Match", etag)...)
		s.want(resp, body, 200, list)
		_, trail := s.do("GET", "/vault/audit?folder="+id, "")
		for _, word := range []string{"declined", "user:bob\""} {
			if strings.Contains(trail, word) {
				t.Errorf("the owner's audit trail has %q: %s", word, trail)
			}
		}
		_, folder := s.do("GET", "/vault/folders/"+id, "")
		updated := decode[struct{ CreatedAt, UpdatedAt string }](t, folder)
		seen = append(seen, fmt.Sprint(etag, " ", list))
		if updated.UpdatedAt == "" {
			t.Errorf("folder %s", folder)
		}
	}
	if seen[0] != seen[1] || seen[0] != seen[2] || !strings.Contains(seen[0], `{"principal":"user:bob","access":"read","pending":true}`) {
		t.Errorf("the owner sees\n%s", strings.Join(seen, "\n"))
	}

	resp, body := s.do("GET", "/vault/invitations/blocked", "", by("bob")...)
	if blocked := decode[[]struct{ Principal, Since string }](t, body); resp.StatusCode != 200 || len(blocked) != 1 || blocked[0].Principal != "user:alice" || blocked[0].Since == "" {
		t.Errorf("blocked = %d %s", resp.StatusCode, body)
	}
	if _, what, _ := s.trail("", by("bob")...); !slices.Equal(what, []string{`user:bob declined the invitation to folder "Declined" by user:alice`}) {
		t.Errorf("bob's own trail is %q", what)
	}
	resp, body = s.do("DELETE", "/vault/invitations/blocked?principal=user:alice", "", by("bob")...)
	s.want(resp, body, 204, "")
	s.wantInvitations("bob", "Blocked by user:alice to read", "Declined by user:alice to read", "Unread by user:alice to read")
	for _, wrong := range []string{"", "?principal=", "?principal=bob", "?principal=group:x", "?principal=user:a&principal=user:b"} {
		if resp, body := s.do("DELETE", "/vault/invitations/blocked"+wrong, "", by("bob")...); resp.StatusCode != 422 {
			t.Errorf("DELETE blocked%s = %d %s", wrong, resp.StatusCode, body)
		}
	}
}

func TestInvitationOutcomes(t *testing.T) {
	s := startStack(t)
	folder := s.makeFolder("", "Plans")
	s.offer(folder, "user:bob", "read")
	if resp, body := s.do("PATCH", "/vault/folders/"+folder, `{"name":"Projects"}`); resp.StatusCode != 200 {
		t.Fatal(resp.StatusCode, body)
	}
	s.wantInvitations("bob", "Projects by user:alice to read")
	s.offer(folder, "user:bob", "write")
	s.wantInvitations("bob", "Projects by user:alice to write")
	s.offer(folder)
	s.wantInvitations("bob")
	s.answer("bob", folder, "accept", 404)

	// Bob, who has accepted ownership, can invite carol. When alice reduces bob's access to
	// write, carol's invitation is withdrawn.
	s.share(folder, "user:bob", "own")
	if resp, body := s.do("PUT", "/vault/folders/"+folder+"/permissions", `{"permissions":[{"principal":"user:bob","access":"own"},{"principal":"user:carol","access":"read"}]}`, by("bob")...); resp.StatusCode != 200 {
		t.Fatal(resp.StatusCode, body)
	}
	s.wantInvitations("carol", "Projects by user:bob to read")
	s.offer(folder, "user:bob", "write", "user:carol", "read")
	s.wantInvitations("carol")
	s.answer("carol", folder, "accept", 404)

	s.offer(folder, "user:carol", "own")
	s.wantInvitations("carol", "Projects by user:alice to own")
	if resp, body := s.do("DELETE", "/vault/folders/"+folder, ""); resp.StatusCode != 204 {
		t.Fatal(resp.StatusCode, body)
	}
	s.wantInvitations("carol")
	s.answer("carol", folder, "accept", 404)
	for _, path := range []string{"/vault/invitations/nothing/accept", "/vault/invitations/blocked/accept"} {
		if resp, body := s.do("POST", path, "", by("bob")...); resp.StatusCode != 404 {
			t.Errorf("%s = %d %s", path, resp.StatusCode, body)
		}
	}
	// A folder that an administrator shares needs no acceptance.
	s.token = "admin"
	other := s.makeFolder("", "By an administrator")
	if waiting := s.offer(other, "user:bob", "read"); len(waiting) > 0 {
		t.Errorf("a share by an administrator is pending for %q", waiting)
	}
	if resp, body := s.do("GET", "/vault/folders/"+other, "", by("bob")...); resp.StatusCode != 200 {
		t.Errorf("GET a folder shared by an administrator = %d %s, want 200", resp.StatusCode, body)
	}
}

func TestRulesOverREST(t *testing.T) {
	s := startStack(t, func(h *httpd.Server) {
		h.Commands.(*commands.Handler).Rules = foldertree.Rules{
			OpenShares: true, ShareWith: foldertree.ShareWithOwnGroups, TopLevel: foldertree.TopLevel{Restricted: true},
		}
	})
	for _, call := range []struct{ path, body, want string }{
		{"/vault/folders", `{"name":"Mine"}`, "only administrators may create folders at the top level here"},
		{"/core/ingest", "Mine/below", `you may not write in folder \"Mine/below\", or create it: only administrators may create folders at the top level here; your own folder is \"Inbox/alice\"`},
	} {
		var resp *http.Response
		var body string
		if call.path == "/core/ingest" {
			in, kind := form(func(w *multipart.Writer) {
				w.WriteField("file_metadata", `[{"folder_name":"`+call.body+`"}]`)
				addFile(w, "a.md", "# A")
			})
			resp, body = s.do("POST", call.path, in, "Content-Type", kind)
		} else {
			resp, body = s.do("POST", call.path, call.body)
		}
		if resp.StatusCode != 403 || !strings.Contains(body, call.want) {
			t.Errorf("%s = %d %s, want %s", call.path, resp.StatusCode, body, call.want)
		}
	}
	document := s.file("Inbox/alice", "a.md", "# A\n\nText.\n")
	folder := s.folderOf(document)
	if resp, body := s.do("PUT", "/vault/folders/"+folder+"/permissions", `{"permissions":[{"principal":"group:board","access":"read"}]}`); resp.StatusCode != 403 ||
		!strings.Contains(body, "you are not in group:board") {
		t.Errorf("a share with a group of others = %d %s, want 403", resp.StatusCode, body)
	}
	if waiting := s.offer(folder, "user:bob", "read"); len(waiting) > 0 {
		t.Errorf("an open share is pending for %q", waiting)
	}
	if resp, body := s.do("GET", "/vault/documents/"+document, "", by("bob")...); resp.StatusCode != 200 {
		t.Errorf("GET a document of an open share = %d %s, want 200", resp.StatusCode, body)
	}
}
