package login

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"annals/events/fault"
)

func TestCallbackAcceptsOneRedirect(t *testing.T) {
	const asked = "https://issuer.example"
	for name, c := range map[string]struct {
		query string // query parameters in addition to state
		names bool   // true if the metadata promises that redirects have the parameter iss
		says  string // part of the expected error; "" if the redirect is accepted
	}{
		"code":                    {"code=abc&iss=https://issuer.example", true, ""},
		"no issuer named":         {"code=abc", false, ""},
		"promised issuer missing": {"code=abc", true, `another issuer, ""`},
		"other issuer":            {"code=abc&iss=https://other.example", false, `another issuer, "https://other.example"`},
		"denial of other issuer":  {"error=access_denied&iss=https://other.example", false, "another issuer"},
		"denial":                  {"error=access_denied&iss=https://issuer.example", true, "denied"},
		"error":                   {"error=invalid_scope&error_description=no%1b[2J&iss=https://issuer.example", true, `"invalid_scope", "no\x1b[2J"`},
		"no code":                 {"", false, "has no code"},
	} {
		redirect := &callback{state: "the state", issuer: issuer{Name: asked, NamesItself: c.names}, results: make(chan result, 1)}
		visit := func(method, target string) int {
			w := httptest.NewRecorder()
			redirect.ServeHTTP(w, httptest.NewRequest(method, target, nil))
			return w.Code
		}
		own := callbackPath + "?state=" + url.QueryEscape("the state") + "&" + c.query
		for _, other := range []struct {
			method, target string
			status         int
		}{
			{"GET", "/favicon.ico", 404}, {"POST", own, 405}, {"HEAD", own, 405}, {"GET", callbackPath + "?" + c.query, 400}, {"GET", callbackPath + "?state=other&" + c.query, 400},
		} {
			if status := visit(other.method, other.target); status != other.status || len(redirect.results) > 0 {
				t.Errorf("%s: %s %s = %d, %d results; want %d and none", name, other.method, other.target, status, len(redirect.results), other.status)
			}
		}
		if status := visit("GET", own); status != 200 {
			t.Errorf("%s: %d, want 200", name, status)
		}
		if status := visit("GET", own+"&code=more"); status != 409 {
			t.Errorf("%s: second redirect: got status %d, want 409", name, status)
		}
		got := <-redirect.results
		if c.says == "" && (got.err != nil || got.code != "abc") {
			t.Errorf("%s: %q, %v; want the code abc", name, got.code, got.err)
		}
		if c.says != "" && (!fault.Is(got.err, fault.Unauthenticated) || !strings.Contains(got.err.Error(), c.says) || got.code != "") {
			t.Errorf("%s: %q, %v; want an error with %q", name, got.code, got.err, c.says)
		}
	}
}
