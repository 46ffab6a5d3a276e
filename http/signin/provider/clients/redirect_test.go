package clients

import (
	"net/url"
	"strings"
	"testing"
)

var (
	goodRedirects = []string{
		"https://program.example/callback", "https://program.example:8443/callback?app=1", "https://PROGRAM.example", "https://[2001:db8::1]/callback",
		"http://localhost/callback", "http://localhost:8787/callback", "http://127.0.0.1/", "http://127.0.0.1:33418", "http://[::1]:1/callback",
		"com.example.app:/callback", "com.example.app://callback/x", "cursor://anysphere.cursor-mcp/oauth/callback", "vscode://publisher.extension/callback",
	}
	badRedirects = []string{
		"", "/callback", "callback", "//program.example/callback", "https:///callback", "https://", "https:callback", "https://program.example:0/x", "https://program.example:/x",
		"https://program.example:99999/x", "https://*.example/callback", "https://program.example/*", "https://program.example/callback#here", "https://program.example/callback#",
		"https://user@program.example/callback", "https://user:secret@program.example/", "https://program.example/call back", "https://program.example/\ncallback", "https://program.example\\@other.example/",
		"https://program.example;script-src/callback", "https://program.example,other.example/", "https://pr\u00f6gram.example/",
		"http://program.example/callback", "http://127.0.0.1.program.example/", "http://localhost.program.example/", "http://127.0.0.2/", "http://0.0.0.0/", "http://127.1/", "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://localhost@program.example/",
		"javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "blob:https://x.example/1", "ftp://program.example/", "myapp:/callback", "myapp://callback", "about:blank", "view-source:https://x.example",
		"https://program.example/" + strings.Repeat("x", MaxURL),
	}
)

func TestCheckRedirect(t *testing.T) {
	for _, uri := range goodRedirects {
		if why := checkRedirect(uri); why != "" {
			t.Errorf("checkRedirect(%q) = %q, want it accepted", uri, why)
		}
		if !sameRedirect(uri, uri) {
			t.Errorf("sameRedirect(%q, itself) = false, want true", uri)
		}
	}
	for _, uri := range badRedirects {
		if checkRedirect(uri) == "" {
			t.Errorf("checkRedirect accepts %q", uri)
		}
		if sameRedirect(uri, uri) {
			t.Errorf("sameRedirect(%q, itself) = true, want false", uri)
		}
	}
}

func TestSameRedirect(t *testing.T) {
	for _, c := range []struct {
		registered, requested string
		want                  bool
	}{
		{"http://127.0.0.1/callback", "http://127.0.0.1:3118/callback", true},
		{"http://127.0.0.1:1/callback", "http://127.0.0.1:2/callback", true},
		{"http://localhost/callback", "http://localhost:3118/callback", true},
		{"http://[::1]/callback", "http://[::1]:3118/callback", true},
		{"http://127.0.0.1/", "http://127.0.0.1:59656", true},
		{"http://localhost/callback", "http://127.0.0.1:3118/callback", false},
		{"http://localhost/callback", "http://localhost:3118/callback/", false},
		{"http://localhost/callback", "http://localhost:3118/Callback", false},
		{"http://localhost/callback", "http://localhost:3118/callback?x=1", false},
		{"http://localhost/callback", "http://localhost:3118/x/../callback", false},
		{"http://localhost/callback", "https://localhost:3118/callback", false},
		{"https://program.example/callback", "https://program.example/callback/", false},
		{"https://program.example/callback", "https://program.example:8443/callback", false},
		{"https://program.example/callback", "https://program.example:443/callback", false},
		{"https://program.example/callback", "https://program.example/callback?x=1", false},
		{"https://program.example/callback", "https://Program.example/callback", false},
		{"https://program.example/callback", "http://localhost/callback", false},
		{"com.example.app:/callback", "com.example.app:/callback2", false},
		{"cursor://a/callback", "cursor://a:1/callback", false},
	} {
		if got := sameRedirect(c.registered, c.requested); got != c.want {
			t.Errorf("sameRedirect(%q, %q) = %v, want %v", c.registered, c.requested, got, c.want)
		}
	}
}

// FuzzSameRedirect checks that a requested address that sameRedirect accepts leads to the host
// and path of the registered address, also if net/url parses it.
func FuzzSameRedirect(f *testing.F) {
	for i, uri := range goodRedirects {
		f.Add(uri, goodRedirects[len(goodRedirects)-1-i])
		f.Add(uri, badRedirects[i])
		f.Add(uri, strings.Replace(uri, "localhost", "localhost:77", 1))
	}
	f.Fuzz(func(t *testing.T, registered, requested string) {
		if checkRedirect(registered) != "" || !sameRedirect(registered, requested) || registered == requested {
			return
		}
		a, errA := url.Parse(registered)
		b, errB := url.Parse(requested)
		if errA != nil || errB != nil {
			t.Fatalf("%q equals %q, but cannot be parsed: %v, %v", requested, registered, errA, errB)
		}
		if a.Scheme != "http" || b.Scheme != "http" || a.Hostname() != b.Hostname() || !isLoopback(b.Hostname()) ||
			strings.TrimPrefix(a.Path, "/") != strings.TrimPrefix(b.Path, "/") || a.RawQuery != b.RawQuery || b.Fragment != "" || b.User != nil {
			t.Errorf("sameRedirect(%q, %q) = true, want false", registered, requested)
		}
		if target := FormTarget(requested); strings.ContainsAny(target, "; ,'") {
			t.Errorf("FormTarget(%q) = %q, which contains a separator of policies", requested, target)
		}
	})
}
