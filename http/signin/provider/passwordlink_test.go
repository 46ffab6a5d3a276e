package provider

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

func (s *site) newLink(name string) string {
	s.Helper()
	link, err := s.Issuer.NewLink(s.Context(), name)
	if err != nil || !strings.HasPrefix(link, s.URL+"/signin/link?code=") {
		s.Fatalf("NewLink = %s, %v", link, err)
	}
	return link
}

func TestPasswordLink(t *testing.T) {
	s := newSite(t)
	p, old := s.register(webRedirect), s.browser()
	refresh := p.redeem(p.code(old)).field("refresh_token")
	link, b, second := s.newLink("alice"), s.browser(), s.browser()
	b.open(link) // as a mail program opens links before the user does
	page, secondPage := b.open(link), second.open(link)
	if !strings.Contains(page.body, "alice") {
		t.Errorf("the page = %s %s, want it to name alice", page.Status, page.body)
	}
	if short := b.submit(page, "/link", "new", "short"); short.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(short.says(), "8 characters") {
		t.Errorf("a short password = %s %s, want 422", short.Status, short.says())
	}
	if home := b.submit(page, "/link", "new", "battery staple"); !strings.Contains(home.body, "signed in as") {
		t.Errorf("after the password was set the browser shows %s %s, want the account page", home.Status, home.says())
	}
	if _, err := s.Accounts.Authenticate(t.Context(), "alice", "battery staple"); err != nil {
		t.Errorf("Authenticate with the new password: %v", err)
	}
	s.wantError("a refresh token issued before", p.refresh(refresh), http.StatusBadRequest, "invalid_grant")
	if again := second.submit(secondPage, "/link", "new", "another staple"); again.StatusCode != http.StatusForbidden {
		t.Errorf("using the link twice = %s, want 403", again.Status)
	}
	if again := second.open(link); again.StatusCode != http.StatusForbidden || !strings.Contains(again.says(), "was used") {
		t.Errorf("opening a used link = %s %s, want 403", again.Status, again.says())
	}
	if _, err := s.Accounts.Authenticate(t.Context(), "alice", "battery staple"); err != nil {
		t.Errorf("Authenticate with the password that was set first: %v", err)
	}
}

func TestPasswordLinkEnds(t *testing.T) {
	for name, end := range map[string]func(s *site) error{
		"by a newer link":   func(s *site) error { s.newLink("alice"); return nil },
		"by a new password": func(s *site) error { return s.Accounts.SetPassword(s.Context(), "alice", "battery staple") },
		"with the user":     func(s *site) error { return s.Accounts.Disable(s.Context(), "alice") },
		"by time":           func(s *site) error { s.Clock.Advance(accounts.LinkLifetime); return nil },
	} {
		s := newSite(t)
		link := s.newLink("alice")
		if err := end(s); err != nil {
			t.Fatal(err)
		}
		if page := s.browser().open(link); page.StatusCode != http.StatusForbidden {
			t.Errorf("a link that ended %s = %s, want 403", name, page.Status)
		}
	}
	s := newSite(t)
	_, err := s.Issuer.NewLink(t.Context(), "nobody")
	accountstest.WantKind(t, "NewLink for an unknown user", err, fault.NotFound)
	s.newLink("alice")
	s.Clock.Advance(accounts.LinkLifetime + time.Second)
	if err := s.Accounts.RemoveExpired(t.Context(), s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := accountstest.OpenDB(t, s.Dir).QueryRow(`SELECT count(*) FROM links`).Scan(&left); err != nil || left > 0 {
		t.Errorf("after RemoveExpired %d links are left (%v), want none", left, err)
	}
}
