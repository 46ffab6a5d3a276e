package provider

import (
	"net/http"
	"strings"
	"testing"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

func TestAccountPageEndsGrants(t *testing.T) {
	s := newSite(t)
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "bob"})
	p, b, bob := s.register(webRedirect), s.browser(), s.browser()
	a := p.redeem(p.code(b))
	home := b.open("/signin/")
	if !strings.Contains(home.body, "A program") || !strings.Contains(home.body, "agent tools") {
		t.Errorf("the account page does not show the program: %s", home.body)
	}
	bobsHome := bob.signIn(bob.open("/signin/"), "bob")
	if strings.Contains(bobsHome.body, "A program") {
		t.Error("the account page of bob shows the program of alice")
	}
	grants, err := s.Accounts.Grants(t.Context(), "alice", s.Clock.Now())
	if err != nil || len(grants) != 1 {
		t.Fatalf("grants = %v, %v", grants, err)
	}
	bob.submitForm("/signin/forget", map[string]string{"token": fieldOf(bobsHome, "token"), "id": grants[0].ID})
	s.wantToken(a.field("access_token"), true)

	if home = b.submit(home, "/forget"); !strings.Contains(home.body, "There are none") {
		t.Errorf("after the program is signed out, the account page is %s", home.body)
	}
	if _, _, err := s.tools.Verify(t.Context(), a.field("access_token")); err == nil {
		t.Error("after the program is signed out, its access token is still accepted")
	}
	if page := b.open(p.url()); !strings.Contains(page.body, `value="allow"`) {
		t.Error("after the program is signed out, it needs no new consent")
	}
}

func TestEndedGrantAsksForConsent(t *testing.T) {
	for name, end := range map[string]func(p *testClient, b *browser, refresh string){
		"everywhere": func(_ *testClient, b *browser, _ string) {
			b.submit(b.open("/signin/"), "/logout", "everywhere", "yes")
		},
		"by another password": func(_ *testClient, b *browser, _ string) {
			b.submit(b.open("/signin/"), "/password", "password", "correct horse", "new", "battery staple")
			b.submit(b.open("/signin/"), "/password", "password", "battery staple", "new", "correct horse")
		},
		"in the program": func(p *testClient, _ *browser, refresh string) {
			p.post("/signin/revoke", map[string]string{"client_id": p.id, "token": refresh})
		},
		"by not using it": func(p *testClient, _ *browser, _ string) { p.Clock.Advance(accounts.RefreshLifetime) },
	} {
		s := newSite(t)
		p, b := s.register(webRedirect), s.browser()
		end(p, b, p.redeem(p.code(b)).field("refresh_token"))
		page := b.open(p.url())
		if strings.Contains(page.body, "/login") {
			page = b.signIn(page, "alice")
		}
		if !strings.Contains(page.body, `value="allow"`) {
			t.Errorf("after its grant ended %s, a program gets a code without consent: %s to %s", name, page.Status, page.Header.Get("Location"))
		}
	}
}

func TestSignOutEverywhere(t *testing.T) {
	s := newSite(t)
	p, b, second := s.register(webRedirect), s.browser(), s.browser()
	a := p.redeem(p.code(b))
	second.signIn(second.open("/signin/"), "alice")
	b.submit(b.open("/signin/"), "/logout", "everywhere", "yes")
	for _, browser := range []*browser{b, second} {
		if page := browser.open("/signin/"); !strings.Contains(page.body, "/login") {
			t.Error("after signing out everywhere, a browser is still signed in")
		}
	}
	s.wantError("a refresh token", p.refresh(a.field("refresh_token")), http.StatusBadRequest, "invalid_grant")
}

func TestSignOutEverywhereNeedsSession(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	a := p.redeem(p.code(b))
	home := b.open("/signin/")
	s.Clock.Advance(accounts.SessionLifetime)
	if page := b.submit(home, "/logout", "everywhere", "yes"); page.StatusCode != http.StatusForbidden || page.says() == "" {
		t.Errorf("signing out everywhere after the session has ended = %s %s, want 403 with a problem", page.Status, page.body)
	}
	if next := p.refresh(a.field("refresh_token")); next.StatusCode != http.StatusOK {
		t.Errorf("refresh afterwards = %s %s, want 200", next.Status, next.body)
	}
}

func TestChangePassword(t *testing.T) {
	s := newSite(t)
	p, b, second := s.register(webRedirect), s.browser(), s.browser()
	a := p.redeem(p.code(b))
	second.signIn(second.open("/signin/"), "alice")
	home := b.open("/signin/")
	if page := b.submit(home, "/password", "password", "wrong", "new", "battery staple"); page.StatusCode != http.StatusUnprocessableEntity || page.says() == "" {
		t.Errorf("with a wrong current password = %s %s, want 422", page.Status, page.says())
	}
	if page := b.submit(home, "/password", "password", "correct horse", "new", "short"); page.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page.says(), "8 characters") {
		t.Errorf("with a new password that is too short = %s %s, want 422", page.Status, page.says())
	}
	if page := b.submit(home, "/password", "password", "correct horse", "new", "battery staple"); !strings.Contains(page.body, "signed in as") {
		t.Errorf("after the change the browser shows %s %s, want the account page", page.Status, page.body)
	}
	if _, err := s.Accounts.Authenticate(t.Context(), "alice", "battery staple"); err != nil {
		t.Errorf("Authenticate with the new password: %v", err)
	}
	if page := second.open("/signin/"); !strings.Contains(page.body, "/login") {
		t.Error("after the change another browser is still signed in")
	}
	s.wantError("a refresh token", p.refresh(a.field("refresh_token")), http.StatusBadRequest, "invalid_grant")
}
