package provider

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"annals/events"
	"annals/http/signin/accounts"
)

// documentRequest returns the request for a document that the browser would send, with its
// cookies.
func (b *browser) documentRequest(link string) *http.Request {
	r := httptest.NewRequestWithContext(b.Context(), "GET", b.URL+link, nil)
	at, _ := url.Parse(b.URL + link)
	for _, c := range b.client.Jar.Cookies(at) {
		r.AddCookie(c)
	}
	return r
}

func TestReader(t *testing.T) {
	s := newSite(t)
	const link = "/documents/0b8d5a3e-3ad5-4f57-9d0e-3f1b8c0a6c11.pdf"
	b := s.browser()
	read := func() (events.User, bool) {
		t.Helper()
		user, found, err := s.provider.Reader(b.documentRequest(link))
		if err != nil {
			t.Fatal(err)
		}
		return user, found
	}
	if user, found := read(); found {
		t.Errorf("Reader before the sign-in = %+v, want none", user)
	}
	page := b.open("/signin/document?to=" + url.QueryEscape(link))
	if !strings.Contains(page.body, "to open the document") || !strings.Contains(page.body, "/signin/fragment.js") {
		t.Fatalf("the sign-in page is %s", page.body)
	}
	if after := b.signIn(page, "alice"); after.StatusCode != http.StatusSeeOther || after.Header.Get("Location") != link {
		t.Fatalf("the sign-in leads to %s %s", after.Status, after.Header.Get("Location"))
	}
	user, found := read()
	if !found || user.Principal != "user:alice" || len(user.Groups) != 1 || user.Groups[0] != "group:staff" || user.Admin || !user.ReadOnly {
		t.Errorf("Reader = %+v, %t; want alice of the group staff with read-only rights", user, found)
	}
	at, _ := url.Parse(s.URL + "/vault" + link)
	if sent := b.client.Jar.Cookies(at); len(sent) > 0 {
		t.Errorf("the browser sends the vault the cookies %v, want none", sent)
	}
	s.Clock.Advance(accounts.SessionLifetime + 1)
	if user, found := read(); found {
		t.Errorf("Reader after the session has expired = %+v, want none", user)
	}
}

// As a cookie for documents, texts that were sealed for other purposes or with another key are
// rejected.
func TestReaderCookie(t *testing.T) {
	s := newSite(t)
	key, err := s.Accounts.SealKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	at, _ := url.Parse(s.URL + "/signin/")
	var session string
	for _, c := range b.client.Jar.Cookies(at) {
		if c.Name == "annals_session" {
			session = c.Value
		}
	}
	foreign := key
	foreign[0]++
	later := s.Clock.Now().Add(accounts.SessionLifetime)
	for what, c := range map[string]struct {
		seal  func() (string, error)
		found bool
	}{
		"a reader":    {func() (string, error) { return key.Seal(readerPurpose, reader{accounts.Digest(session)}, later) }, true},
		"a ticket":    {func() (string, error) { return key.Seal(ticketPurpose, reader{accounts.Digest(session)}, later) }, false},
		"another key": {func() (string, error) { return foreign.Seal(readerPurpose, reader{accounts.Digest(session)}, later) }, false},
		"an expired reader": {func() (string, error) {
			return key.Seal(readerPurpose, reader{accounts.Digest(session)}, s.Clock.Now().Add(-1))
		}, false},
		"an unknown session": {func() (string, error) { return key.Seal(readerPurpose, reader{accounts.Digest("x")}, later) }, false},
		"an empty text":      {func() (string, error) { return key.Seal(readerPurpose, struct{}{}, later) }, false},
		"the session cookie": {func() (string, error) { return session, nil }, false},
	} {
		value, err := c.seal()
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/documents/x", nil)
		r.AddCookie(&http.Cookie{Name: "annals_reader", Value: value})
		if user, found, err := s.provider.Reader(r); err != nil || found != c.found {
			t.Errorf("Reader with %s as cookie = %+v, %t, %v; want %t", what, user, found, err, c.found)
		}
	}
	for issuer, want := range map[string]string{"https://annals.example/signin": "__Secure-annals_reader", "https://signin.example": "__Secure-annals_reader", "http://127.0.0.1:8080/signin": "annals_reader"} {
		u, _ := url.Parse(issuer)
		c := (&Provider{cookie: commonCookie(u)}).readerCookie()
		if c.Name != want || c.Path != "/documents" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != (u.Scheme == "https") {
			t.Errorf("at %s the cookie is %+v", issuer, c)
		}
	}
}

// The sign-in page lists the external issuers, whose users cannot sign in there.
func TestLoginNamesOtherIssuers(t *testing.T) {
	s := newSite(t)
	s.provider.servers = []string{"https://login.company.example"}
	page := s.browser().open("/signin/document?to=/documents/0b8d5a3e-3ad5-4f57-9d0e-3f1b8c0a6c11.pdf")
	if !strings.Contains(page.body, "People who sign in at <strong>https://login.company.example</strong> cannot do so here") {
		t.Errorf("the page is %s", page.body)
	}
}
