package login

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// documents starts a server that serves the given texts by path. In the texts it
// replaces HERE with the URL of the server.
func documents(t *testing.T, byPath map[string]string) *httptest.Server {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := byPath[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(text, "HERE", s.URL)))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestIssuerOf(t *testing.T) {
	const path = "/.well-known/oauth-protected-resource/core"
	for name, c := range map[string]struct{ text, want, says string }{
		"one issuer":   {`{"resource": "HERE/core/", "authorization_servers": ["https://login.example"]}`, "https://login.example", ""},
		"several":      {`{"resource": "HERE/core", "authorization_servers": ["https://a.example", "https://b.example"]}`, "", `pass one of them as --issuer: ["https://a.example" "https://b.example"]`},
		"none":         {`{"resource": "HERE/core"}`, "", "names no issuer"},
		"other server": {`{"resource": "https://annals.example/core", "authorization_servers": ["https://login.example"]}`, "", `has the public URL "https://annals.example/core": pass that as --server`},
		"no JSON":      {`<html>`, "", "not the expected JSON"},
		"endless":      {`{"resource": "` + strings.Repeat("x", 1<<20), "", "not the expected JSON"},
		"a redirect":   {"-> /elsewhere", "", "responds 302"},
	} {
		s := documents(t, map[string]string{path: c.text, "/elsewhere": `{"resource": "HERE/core", "authorization_servers": ["https://login.example"]}`})
		got, err := issuerOf(t.Context(), NewHTTPClient(nil), s.URL+"/core")
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: issuerOf = %q, %v; want %q, %q", name, got, err, c.want, c.says)
		}
	}
	s := documents(t, map[string]string{"/.well-known/oauth-protected-resource": `{"resource": "HERE/mcp", "authorization_servers": ["https://login.example"]}`})
	if _, err := issuerOf(t.Context(), NewHTTPClient(nil), s.URL); err == nil || !strings.Contains(err.Error(), "try "+s.URL+"/core") {
		t.Errorf("issuerOf(%q): got error %v, want one that suggests /core", s.URL, err)
	}
}

func TestIssuerOfRejectsHTTPIssuerOfHTTPSServer(t *testing.T) {
	var s *httptest.Server
	s = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"resource": "` + s.URL + `/core", "authorization_servers": ["http://127.0.0.1:8080/signin"]}`))
	}))
	defer s.Close()
	if got, err := issuerOf(t.Context(), s.Client(), s.URL+"/core"); err == nil || !strings.Contains(err.Error(), "not an https URL") {
		t.Errorf("issuerOf = %q, %v; want an error about https", got, err)
	}
}

func TestFindIssuer(t *testing.T) {
	const openID, oauth = "/tenant/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/tenant"
	const good = `{"issuer": "HERE/tenant", "authorization_endpoint": "HERE/a", "token_endpoint": "HERE/t"}`
	for name, c := range map[string]struct{ at, text, says string }{
		"OpenID Connect":           {openID, good, ""},
		"RFC 8414":                 {oauth, good, ""},
		"elsewhere":                {"/tenant", good, "there is no such document"},
		"other issuer":             {openID, `{"issuer": "HERE/other", "token_endpoint": "HERE/t"}`, "is that of another issuer"},
		"no token endpoint":        {openID, `{"issuer": "HERE/tenant"}`, "no token endpoint"},
		"endpoint opens a file":    {openID, `{"issuer": "HERE/tenant", "authorization_endpoint": "file:///etc/passwd", "token_endpoint": "HERE/t"}`, "not an http or https URL"},
		"endpoint opens a program": {openID, `{"issuer": "HERE/tenant", "authorization_endpoint": "-version", "token_endpoint": "HERE/t"}`, "not an http or https URL"},
	} {
		s := documents(t, map[string]string{c.at: c.text})
		got, err := findIssuer(t.Context(), NewHTTPClient(nil), s.URL+"/tenant")
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: findIssuer = %v; want %q", name, err, c.says)
		}
		if err == nil && got.endpoint().TokenURL != s.URL+"/t" {
			t.Errorf("%s: the token endpoint is %q", name, got.Token)
		}
	}
	insecure := issuer{Name: "https://h", Token: "http://h/token"}
	if err := insecure.check("https://h"); err == nil || !strings.Contains(err.Error(), "not an https URL") {
		t.Errorf("check of an https issuer with an http endpoint: got error %v, want one about https", err)
	}
}

func TestScopesOmitsUnsupported(t *testing.T) {
	for _, c := range []struct{ known, want []string }{
		{nil, []string{"openid", "offline_access"}},
		{[]string{"openid", "email"}, []string{"openid"}},
		{[]string{"offline_access", "openid"}, []string{"openid", "offline_access"}},
	} {
		if got := (issuer{Scopes: c.known}).scopes("openid", "offline_access"); !slices.Equal(got, c.want) {
			t.Errorf("scopes with %v supported: got %v, want %v", c.known, got, c.want)
		}
	}
}
