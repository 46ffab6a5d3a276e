package provider

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/provider/oauth"
	"annals/http/signin/signintest"
)

// While the database is unreachable, a valid token must not be reported as invalid. When the
// database is reachable again, everything works without a restart.
func TestDatabaseUnreachable(t *testing.T) {
	store, l := accountstest.OpenThroughProxy(t)
	mux := http.NewServeMux()
	s := &site{TB: t, Server: httptest.NewServer(mux)}
	t.Cleanup(s.Server.Close)
	s.BuiltIn = signintest.NewOver(t, store, s.URL)
	s.serve(mux)
	token := s.Issue(t, "alice")

	if _, _, err := s.Verifier.Verify(t.Context(), token); err != nil {
		t.Fatalf("before the connection is cut: %v", err)
	}
	l.Set("cut")
	_, _, err := s.Verifier.Verify(t.Context(), token)
	accountstest.WantKind(t, "Verify of a valid token while the connection is cut", err, fault.Unavailable)
	a := s.post("/signin/token", map[string]string{"grant_type": oauth.GrantRefresh, "client_id": "x", "refresh_token": "x.y"})
	s.wantError("refresh while the connection is cut", a, http.StatusServiceUnavailable, "temporarily_unavailable")
	if a.Header.Get("Retry-After") == "" {
		t.Error("the response has no Retry-After header")
	}
	b := s.browser()
	b.client.Jar.SetCookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://"), Path: "/signin"},
		[]*http.Cookie{{Name: "annals_session", Value: accounts.NewSecret(), Path: "/signin"}})
	if page := b.open("/signin/"); page.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page.body, "temporarily unavailable") {
		t.Errorf("a page while the connection is cut = %s %s, want 503", page.Status, page.body)
	}
	l.Set("")
	if _, _, err := s.Verifier.Verify(t.Context(), token); err != nil {
		t.Errorf("Verify after the connection was restored: %v", err)
	}
}
