package provider

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"annals/http/signin/accounts"
)

// The list of programs has a console once for each browser in use: a further sign-in of a browser takes the place of the
// one before, and a browser that was closed without signing out disappears after the lifetime of a session.
func TestConsoleIsListedOncePerBrowser(t *testing.T) {
	s := newSite(t)
	before := s.Clock.Now()
	p, b, other := s.console(), s.browser(), s.browser()
	want := func(what string, n int) {
		t.Helper()
		grants, err := s.Accounts.Grants(t.Context(), "alice", s.Clock.Now())
		if err != nil || len(grants) != n {
			t.Errorf("%s: %d grants, %v, want %d", what, len(grants), err, n)
		}
	}
	first := p.signInToConsole(b)
	second := p.signInToConsole(b)
	s.wantToken(first.field("access_token"), false) // another tab may just have signed in
	want("two tabs at once", 2)
	s.Clock.Advance(2 * time.Minute)
	third := p.signInToConsole(b)
	want("a further sign-in of the browser", 1)
	for _, replaced := range []response{first, second} {
		s.wantError("a token that was replaced", p.refresh(replaced.field("refresh_token"), "resource", ""), http.StatusBadRequest, "invalid_grant")
	}
	p.signInToConsole(other)
	want("a second browser", 2)
	if home := b.open("/signin/"); strings.Count(home.body, "Annals in a browser") != 4 || strings.Count(home.body, "(this one)") != 1 {
		t.Errorf("the account page does not tell this browser from the other: %s", home.body)
	}
	s.Clock.Advance(accounts.SessionLifetime - time.Hour)
	renewed := p.refresh(third.field("refresh_token"), "resource", "")
	s.wantToken(renewed.field("access_token"), false)
	s.Clock.Advance(2 * time.Hour)
	want("a browser that was closed", 1)
	s.wantToken(p.refresh(renewed.field("refresh_token"), "resource", "").field("access_token"), false)
	if alice, err := s.Accounts.Get(t.Context(), "alice"); err != nil || alice.SignedIn.Before(before.Add(2*time.Minute-time.Second)) || alice.SignedIn.After(before.Add(time.Hour)) {
		t.Errorf("the last sign-in of alice is %v, %v; the test began at %v", alice.SignedIn, err, before)
	}
}
