package login

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"annals/events/fault"
)

func TestTheBrowsersAnswerIsTakenOnce(t *testing.T) {
	const asked = "https://issuer.example"
	for name, c := range map[string]struct {
		query string // besides the state
		names bool   // the issuer says that it names itself
		says  string // of the error; "" for a code
	}{
		"a code":                        {"code=abc&iss=https://issuer.example", true, ""},
		"of an issuer that is not told": {"code=abc", false, ""},
		"of one that should be":         {"code=abc", true, `another issuer, ""`},
		"of another issuer":             {"code=abc&iss=https://other.example", false, `another issuer, "https://other.example"`},
		"another's refusal":             {"error=access_denied&iss=https://other.example", false, "another issuer"},
		"a denial":                      {"error=access_denied&iss=https://issuer.example", true, "denied"},
		"an error":                      {"error=invalid_scope&error_description=no%1b[2J&iss=https://issuer.example", true, `"invalid_scope", "no\x1b[2J"`},
		"nothing":                       {"", false, "brings no code"},
	} {
		back := &callback{state: "the state", issuer: issuer{Name: asked, NamesItself: c.names}, answers: make(chan answer, 1)}
		visit := func(method, target string) int {
			w := httptest.NewRecorder()
			back.ServeHTTP(w, httptest.NewRequest(method, target, nil))
			return w.Code
		}
		own := callbackPath + "?state=" + url.QueryEscape("the state") + "&" + c.query
		for _, foreign := range []struct {
			method, target string
			status         int
		}{
			{"GET", "/favicon.ico", 404}, {"POST", own, 405}, {"HEAD", own, 405}, {"GET", callbackPath + "?" + c.query, 400}, {"GET", callbackPath + "?state=other&" + c.query, 400},
		} {
			if status := visit(foreign.method, foreign.target); status != foreign.status || len(back.answers) > 0 {
				t.Errorf("%s: %s %s = %d, %d answers; want %d and none", name, foreign.method, foreign.target, status, len(back.answers), foreign.status)
			}
		}
		if status := visit("GET", own); status != 200 {
			t.Errorf("%s: %d, want 200", name, status)
		}
		if status := visit("GET", own+"&code=more"); status != 409 {
			t.Errorf("%s: a second answer gives %d, want 409", name, status)
		}
		got := <-back.answers
		if c.says == "" && (got.err != nil || got.code != "abc") {
			t.Errorf("%s: %q, %v; want the code abc", name, got.code, got.err)
		}
		if c.says != "" && (!fault.Is(got.err, fault.Unauthenticated) || !strings.Contains(got.err.Error(), c.says) || got.code != "") {
			t.Errorf("%s: %q, %v; want an error that says %q", name, got.code, got.err, c.says)
		}
	}
}
