package http_test

import (
	"net/url"
	"testing"

	httpd "annals/http"
)

// A source is cited by an address that opens in a browser, beside the path that the
// interface promises.
func TestSourcesHaveAnAddress(t *testing.T) {
	s := startStack(t, func(h *httpd.Server) { h.LinkURL = &url.URL{Scheme: "https", Host: "annals.example", Path: "/signin"} })
	id := s.file("A", "a.md", handbook)
	type sources struct {
		Sources []struct {
			DeepLink string `json:"deep_link"`
			URL      string
		}
	}
	for _, route := range []string{"/core/search", "/core/ask"} {
		_, body := s.do("POST", route, `{"query":"notice period"}`, "Content-Type", "application/json")
		found := decode[sources](t, body).Sources
		if want := "/documents/" + id + ".md"; len(found) == 0 || found[0].DeepLink != want || found[0].URL != "https://annals.example"+want {
			t.Errorf("%s: %s", route, body)
		}
	}
	if got := httpd.Link(nil, "/documents/x.md"); got != "" {
		t.Errorf("without a root the link is %q", got)
	}
}
