package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// conformance is the path of the executable of the official MCP conformance suite.
const conformance = "node_modules/.bin/conformance"

// testConformanceOfTools runs all server scenarios of the official MCP conformance
// suite, in the two protocol versions that current clients use.
func (a *agentTest) testConformanceOfTools(t *testing.T) {
	token := a.newPlainClient(t, "alice").signIn(nil).Access
	for version, failing := range meantToFail() {
		t.Run(version, func(t *testing.T) {
			results := t.TempDir()
			// Ignore its exit status: the results name the failed scenarios.
			_ = eachLine(t, nodeCommand(t, conformance, "server", "--url", a.signing(t, token), "--suite", "all", "--spec-version", version, "--output-dir", results), func(string) {})
			wantFailing(t, outcomes(t, results), failing)
		})
	}
}

// wantFailing fails the test unless exactly the expected checks fail.
func wantFailing(t *testing.T, got map[string]map[string]string, failing map[string]string) {
	t.Helper()
	meant, passing := make(map[string]bool), 0
	for scenario, faults := range got {
		for check, message := range faults {
			switch {
			case failing[scenario] != "":
				meant[scenario] = true
			case failing[scenario+" "+check] != "":
				meant[scenario+" "+check] = true
			default:
				t.Errorf("%s fails: %s: %s", scenario, check, message)
			}
		}
		if len(faults) == 0 {
			passing++
		}
	}
	for what, reason := range failing {
		if !meant[what] {
			t.Errorf("%s passes or no longer exists, although it is listed as failing: %s", what, reason)
		}
	}
	t.Logf("%d of %d scenarios pass", passing, len(got))
}

// signing starts a proxy that adds the token to requests to the MCP tools, because the
// conformance suite cannot send one. It returns the URL of the tools at the proxy. In
// the Host and Origin headers it replaces the address of the proxy by that of the
// server. Other values, with which the suite imitates DNS rebinding, reach the server
// unchanged.
func (a *agentTest) signing(t *testing.T, token string) string {
	t.Helper()
	to, err := url.Parse(a.base)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			own := r.In.Context().Value(http.LocalAddrContextKey).(net.Addr).String()
			r.SetURL(to)
			r.Out.Host = strings.Replace(r.In.Host, own, to.Host, 1)
			if origin := r.In.Header.Get("Origin"); origin != "" {
				r.Out.Header.Set("Origin", strings.Replace(origin, own, to.Host, 1))
			}
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		FlushInterval: -1,
		// The suite leaves streams open. httputil.ReverseProxy logs each of them as an
		// error unless ErrorHandler is set.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read the whole request body before forwarding it. Otherwise the server closes
		// the body when its reply begins, and the transport then cuts off the reply.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL + "/mcp"
}

// runStamp matches the timestamp at the end of the name of a results folder.
var runStamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// outcomes reads the results of the conformance suite. It maps each scenario to its
// failed checks, and each failed check to the reason. Checks of missing optional
// features do not count as failed.
func outcomes(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the suite wrote %d results: %v", len(files), err)
	}
	all := make(map[string]map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		folder := filepath.Base(filepath.Dir(file))
		failed := make(map[string]string)
		for _, c := range checks {
			if c.Status == "FAILURE" || c.Status == "WARNING" {
				failed[c.ID] = c.ErrorMessage
			}
		}
		all[strings.TrimPrefix(runStamp.ReplaceAllString(folder, ""), "server-")] = failed
	}
	return all
}

// testConformanceOfSignIn runs the conformance suite's scenarios for OAuth
// authorization servers.
func (a *agentTest) testConformanceOfSignIn(t *testing.T) {
	c := a.newPlainClient(t, "alice")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	results := t.TempDir()
	var said []string
	err = eachLine(t, nodeCommand(t, conformance, "authorization", "--url", c.signin.Issuer, "--client-id", c.id, "--resource", a.tools(), "--port", port, "--output-dir", results), func(line string) {
		said = append(said, line)
		if strings.HasPrefix(line, c.signin.Authorize+"?") {
			a.visit(t, "alice", line)
		}
	})
	if err != nil {
		t.Errorf("the suite ends: %v\n%s", err, strings.Join(said, "\n"))
	}
	got := outcomes(t, results)
	if len(got) != 2 {
		t.Errorf("%d scenarios ran, want 2", len(got))
	}
	wantFailing(t, got, nil)
}
