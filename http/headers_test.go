package http_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	httpd "annals/http"
)

// The Allow header of a path lists exactly the methods that do not receive 405.
func TestAllowHeader(t *testing.T) {
	s := startStack(t)
	server := &httpd.Server{}
	server.Handler()
	have := map[string][]string{}
	for _, route := range routesOf(t, server) {
		method, path, _ := strings.Cut(route, " ")
		have[path] = append(have[path], method)
		if method == "GET" && (!strings.HasPrefix(path, "/core/") || path == "/core/openapi.yaml") {
			have[path] = append(have[path], "HEAD")
		}
	}
	variables := strings.NewReplacer("{ext}", "md", "{version}", "1", "{id}", "0b8d5a3e-3ad5-4f57-9d0e-3f1b8c0a6c11", "{job_id}", "x")
	for path, methods := range have {
		order := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
		want := strings.Join(slices.DeleteFunc(slices.Clone(order), func(m string) bool { return !slices.Contains(methods, m) }), ", ")
		for _, method := range append(slices.Clone(order), "OPTIONS") {
			resp, _ := s.do(method, variables.Replace(path), "")
			refused := resp.StatusCode == http.StatusMethodNotAllowed
			if refused == slices.Contains(methods, method) {
				t.Errorf("%s %s = %d, but the path has the methods %s", method, path, resp.StatusCode, want)
			}
			if got := resp.Header.Get("Allow"); refused && got != want {
				t.Errorf("%s %s: Allow %q, want %q", method, path, got, want)
			}
		}
	}
}

// No reply can make a browser run scripts: each has a content security policy without scripts,
// and disables content sniffing.
func TestRepliesHaveSecurityPolicy(t *testing.T) {
	s := startStack(t)
	id := s.file("A", "page.md", "# Page\n\n<script>alert(document.domain)</script>\n")
	server := &httpd.Server{}
	server.Handler()
	variables := strings.NewReplacer("{ext}", "md", "{version}", "1", "{id}", id, "{job_id}", "x")
	files := regexp.MustCompile(`/content$|/markdown$|\{ext\}$`)
	for _, route := range append(routesOf(t, server), "GET /nothing", "PUT /vault/folders", "GET /vault/documents/x/content") {
		method, path, _ := strings.Cut(route, " ")
		for _, token := range []string{s.token, "wrong"} {
			resp, _ := s.do(method, variables.Replace(path), "", "Authorization", "Bearer "+token)
			policy := resp.Header.Get("Content-Security-Policy")
			if !strings.HasPrefix(strings.TrimPrefix(policy, "sandbox; "), "default-src 'none'") || strings.Contains(policy, "script-src") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s = %d with policy %q, X-Content-Type-Options %q", route, resp.StatusCode, policy, resp.Header.Get("X-Content-Type-Options"))
			}
			if method != "GET" || !files.MatchString(path) || resp.StatusCode != 200 {
				continue
			}
			if !strings.HasPrefix(policy, "sandbox; ") || resp.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" || !strings.Contains(resp.Header.Get("Content-Disposition"), `page.md`) {
				t.Errorf("%s: policy %q, Content-Disposition %q", route, policy, resp.Header.Get("Content-Disposition"))
			}
		}
	}
	if resp, _ := s.do("GET", "/vault/documents/"+id+"/markdown", ""); resp.StatusCode != 200 {
		t.Errorf("GET markdown = %d, want 200", resp.StatusCode)
	}
}
