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
	link, b, late := s.newLink("alice"), s.browser(), s.browser()
	b.open(link) // as a mail program does
	page, same := b.open(link), late.open(link)
	if !strings.Contains(page.body, "alice") {
		t.Errorf("the page = %s %s", page.Status, page.body)
	}
	if short := b.submit(page, "/link", "new", "short"); short.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(short.says(), "8 characters") {
		t.Errorf("a short password = %s %s", short.Status, short.says())
	}
	if home := b.submit(page, "/link", "new", "battery staple"); !strings.Contains(home.body, "signed in as") {
		t.Errorf("afterwards the browser sees %s %s", home.Status, home.says())
	}
	if _, err := s.Accounts.Authenticate(t.Context(), "alice", "battery staple"); err != nil {
		t.Errorf("the new password: %v", err)
	}
	s.wantError("a refresh token of before", p.refresh(refresh), http.StatusBadRequest, "invalid_grant")
	if again := late.submit(same, "/link", "new", "another staple"); again.StatusCode != http.StatusForbidden {
		t.Errorf("using it again = %s", again.Status)
	}
	if again := late.open(link); again.StatusCode != http.StatusForbidden || !strings.Contains(again.says(), "was used") {
		t.Errorf("opening it again = %s %s", again.Status, again.says())
	}
	if _, err := s.Accounts.Authenticate(t.Context(), "alice", "battery staple"); err != nil {
		t.Errorf("the password was set twice: %v", err)
	}
}

func TestPasswordLinkEnds(t *testing.T) {
	for name, end := range map[string]func(s *site) error{
		"by another link":     func(s *site) error { s.newLink("alice"); return nil },
		"by another password": func(s *site) error { return s.Accounts.SetPassword(s.Context(), "alice", "battery staple") },
		"with the user":       func(s *site) error { return s.Accounts.Disable(s.Context(), "alice") },
		"by time":             func(s *site) error { s.Clock.Advance(accounts.LinkLifetime); return nil },
	} {
		s := newSite(t)
		link := s.newLink("alice")
		if err := end(s); err != nil {
			t.Fatal(err)
		}
		if page := s.browser().open(link); page.StatusCode != http.StatusForbidden {
			t.Errorf("a link that ended %s = %s", name, page.Status)
		}
	}
	s := newSite(t)
	_, err := s.Issuer.NewLink(t.Context(), "nobody")
	accountstest.WantKind(t, "NewLink for nobody", err, fault.NotFound)
	s.newLink("alice")
	s.Clock.Advance(accounts.LinkLifetime + time.Second)
	if err := s.Accounts.RemoveExpired(t.Context(), s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := accountstest.OpenDB(t, s.Dir).QueryRow(`SELECT count(*) FROM links`).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d links are left (%v)", left, err)
	}
}
