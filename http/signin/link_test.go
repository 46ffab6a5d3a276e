package signin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
)

func (s *site) newLink(name string) string {
	s.Helper()
	link, err := s.issuer.NewLink(s.Context(), name)
	if err != nil || !strings.HasPrefix(link, s.URL+"/signin/link?code=") {
		s.Fatalf("NewLink = %s, %v", link, err)
	}
	return link
}

func TestALinkSetsAPasswordOnce(t *testing.T) {
	s := newSite(t)
	p, old := s.register(elsewhere), s.browser()
	refresh := p.redeem(p.code(old)).told("refresh_token")
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
	if _, err := s.accounts.Authenticate(t.Context(), "alice", "battery staple"); err != nil {
		t.Errorf("the new password: %v", err)
	}
	s.wantError("a refresh token of before", p.refresh(refresh), http.StatusBadRequest, "invalid_grant")
	if again := late.submit(same, "/link", "new", "another staple"); again.StatusCode != http.StatusForbidden {
		t.Errorf("using it again = %s", again.Status)
	}
	if again := late.open(link); again.StatusCode != http.StatusForbidden || !strings.Contains(again.says(), "was used") {
		t.Errorf("opening it again = %s %s", again.Status, again.says())
	}
	if _, err := s.accounts.Authenticate(t.Context(), "alice", "battery staple"); err != nil {
		t.Errorf("the password was set twice: %v", err)
	}
}

func TestLinksEnd(t *testing.T) {
	for name, end := range map[string]func(s *site) error{
		"by another link":     func(s *site) error { s.newLink("alice"); return nil },
		"by another password": func(s *site) error { return s.accounts.SetPassword(s.Context(), "alice", "battery staple") },
		"with the user":       func(s *site) error { return s.accounts.Disable(s.Context(), "alice") },
		"by time":             func(s *site) error { s.clock.advance(LinkLifetime); return nil },
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
	_, err := s.issuer.NewLink(t.Context(), "nobody")
	wantKind(t, "NewLink for nobody", err, fault.NotFound)
	s.newLink("alice")
	s.clock.advance(LinkLifetime + time.Second)
	if err := s.accounts.sweep(t.Context(), s.clock.now()); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := s.accounts.db.QueryRow(`SELECT count(*) FROM links`).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d links are left (%v)", left, err)
	}
}
