package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// testWholeWay performs all steps of an agent, from the first call, which is rejected
// with 401, to a search result.
func (a *agentTest) testWholeWay(t *testing.T) {
	c := a.newPlainClient(t, "alice")
	tokens := c.signIn(nil)
	session := c.session(tokens.Access)
	if found := c.search(tokens.Access, session, "Who finished the lighthouse at Eddystone?"); !strings.Contains(found, "John Smeaton") {
		t.Errorf("service_search returned %s; want the text of the document", found)
	}
	if found := c.search(tokens.Access, session, "What is the passphrase of the icebreaker?"); strings.Contains(found, "walrus") {
		t.Errorf("service_search returned %s to alice, want nothing of bob", found)
	}
	status, refreshed := c.exchange(forRefresh(tokens.Refresh))
	if status != http.StatusOK || refreshed.Access == "" || refreshed.Refresh == "" || refreshed.Refresh == tokens.Refresh {
		t.Fatalf("the refresh: got status %d, error %q; want another pair of tokens", status, refreshed.Error)
	}
	if found := c.search(refreshed.Access, c.session(refreshed.Access), "Eddystone"); !strings.Contains(found, "John Smeaton") {
		t.Errorf("after the refresh service_search returned %s", found)
	}
}

// session begins an MCP session and returns its id.
func (c *plainClient) session(token string) string {
	c.Helper()
	status, header, result := c.rpc(token, "", "initialize", initializeParams)
	if status != http.StatusOK || len(result) == 0 {
		c.Fatalf("initialize: got status %d, %s", status, result)
	}
	session := header.Get("Mcp-Session-Id")
	if status, _, _ := c.rpc(token, session, "notifications/initialized", nil); status != http.StatusAccepted {
		c.Fatalf("notifications/initialized: got status %d, want 202", status)
	}
	return session
}

// search calls service_search and returns the raw result.
func (c *plainClient) search(token, session, query string) string {
	c.Helper()
	status, _, result := c.rpc(token, session, "tools/call", map[string]any{"name": "service_search", "arguments": map[string]any{"query": query}})
	var r struct {
		IsError    bool
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(result, &r); err != nil || status != http.StatusOK || r.IsError || len(r.Structured) == 0 {
		c.Fatalf("service_search: got status %d %s (%v)", status, result, err)
	}
	return string(result)
}

// testWrongSteps repeats each step with wrong parameters, which the server must reject.
// Tests in http/signin cover expired credentials with a fake clock.
func (a *agentTest) testWrongSteps(t *testing.T) {
	c, other := a.newPlainClient(t, "alice"), a.newPlainClient(t, "bob")
	t.Run("registration", c.testWrongRegistrations)
	t.Run("authorize", c.testWrongAuthorizations)
	t.Run("token", func(t *testing.T) { c.on(t).testWrongExchanges(other.id) })
	t.Run("tools", func(t *testing.T) { c.on(t).testWrongTokens(other.on(t)) })
}

// on returns a copy of c that reports failures to t.
func (c *plainClient) on(t *testing.T) *plainClient {
	d := *c
	d.T = t
	return &d
}

// testWrongRegistrations checks that a redirect URI is rejected if another program
// could receive its requests, and that the redirect URIs of well-known agents are
// accepted.
func (c *plainClient) testWrongRegistrations(t *testing.T) {
	c = c.on(t)
	for _, uri := range []string{
		"javascript:alert(1)", "data:text/html,x", "https://*.example.com/callback", "https://example.com/*", "http://example.com/callback",
		"https://example.com/callback#here", "https://user@example.com/callback", "/callback", "",
	} {
		status, r := c.register(map[string]any{"redirect_uris": []string{uri}})
		if status != http.StatusBadRequest || r.Error != "invalid_redirect_uri" {
			t.Errorf("registration with the redirect %q: got status %d, error %q; want 400 invalid_redirect_uri", uri, status, r.Error)
		}
	}
	for agent, uris := range map[string][]string{
		"Cursor":      {"http://localhost:8787/callback", "https://www.cursor.com/agents/mcp/oauth/callback", "cursor://anysphere.cursor-mcp/oauth/callback"},
		"VS Code":     {"https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect", "http://127.0.0.1/", "http://127.0.0.1:33418/"},
		"Claude Code": {"http://localhost:54545/callback"},
		"Claude":      {"https://claude.ai/api/mcp/auth_callback"},
	} {
		if status, r := c.register(map[string]any{"redirect_uris": uris, "token_endpoint_auth_method": "none"}); status != http.StatusCreated {
			t.Errorf("the registration of %s: got status %d, error %q; want 201", agent, status, r.Error)
		}
	}
	if status, r := c.register(map[string]any{"redirect_uris": []string{callbackURL}, "grant_types": []string{"implicit"}}); status != http.StatusBadRequest || r.Error != "invalid_client_metadata" {
		t.Errorf("registration for an implicit grant: got status %d, error %q; want 400 invalid_client_metadata", status, r.Error)
	}
}

func (c *plainClient) testWrongAuthorizations(t *testing.T) {
	c = c.on(t)
	for name, others := range map[string]url.Values{
		"another redirect":       {"redirect_uri": {"https://thief.example/callback"}},
		"another path":           {"redirect_uri": {callbackURL + "/more"}},
		"an unknown client":      {"client_id": {"nobody"}},
		"a client without an id": {"client_id": nil},
	} {
		redirected, err := c.open(t.Context(), c.authorization("verifier", others))
		if err == nil || !strings.Contains(err.Error(), "400") {
			t.Errorf("authorization with %s: redirected to %v (%v); want an error page with status 400", name, redirected, err)
		}
	}
	for _, wrong := range []struct {
		name   string
		others url.Values
		want   string
	}{
		{"no challenge", url.Values{"code_challenge": nil, "code_challenge_method": nil}, "invalid_request"},
		{"a plain challenge", url.Values{"code_challenge_method": {"plain"}}, "invalid_request"},
		{"a challenge without a method, which is a plain one", url.Values{"code_challenge_method": nil}, "invalid_request"},
		{"another response type", url.Values{"response_type": {"token"}}, "unsupported_response_type"},
		{"a foreign resource", url.Values{"resource": {"https://thief.example/mcp"}}, "invalid_target"},
	} {
		redirected, err := c.open(t.Context(), c.authorization("verifier", wrong.others))
		if err != nil {
			t.Errorf("%s: %v", wrong.name, err)
		} else if q := redirected.Query(); q.Get("error") != wrong.want || q.Get("state") != "a state" || q.Has("code") || !strings.HasPrefix(redirected.String(), callbackURL+"?") {
			t.Errorf("authorization with %s: redirected to %s; want %s with error=%s", wrong.name, redirected, callbackURL, wrong.want)
		}
	}
}

func (c *plainClient) testWrongExchanges(otherID string) {
	with := func(form url.Values, name string, values ...string) url.Values {
		form[name] = values
		return form
	}
	for _, wrong := range []struct {
		name   string
		change func(form url.Values) url.Values
		want   string
	}{
		{"another verifier", func(f url.Values) url.Values { return with(f, "code_verifier", strings.Repeat("v", 43)) }, "invalid_grant"},
		{"no verifier", func(f url.Values) url.Values { return with(f, "code_verifier") }, "invalid_request"},
		{"another client", func(f url.Values) url.Values { return with(f, "client_id", otherID) }, "invalid_grant"},
		{"another redirect", func(f url.Values) url.Values { return with(f, "redirect_uri", callbackURL+"/more") }, "invalid_grant"},
		{"another resource", func(f url.Values) url.Values { return with(f, "resource", c.base+"/core") }, "invalid_target"},
		{"another grant", func(f url.Values) url.Values { return with(f, "grant_type", "password") }, "unsupported_grant_type"},
		{"an unknown client", func(f url.Values) url.Values { return with(f, "client_id", "nobody") }, "invalid_client"},
		{"another code", func(f url.Values) url.Values { return with(f, "code", "made up") }, "invalid_grant"},
	} {
		status, r := c.exchange(wrong.change(forCode(c.code(nil))))
		if want := refusedWith(wrong.want); status != want || r.Error != wrong.want || r.Access != "" {
			c.Errorf("a code with %s: got status %d, error %q; want %d %s", wrong.name, status, r.Error, want, wrong.want)
		}
	}
	code, verifier := c.code(nil)
	_, first := c.exchange(forCode(code, verifier))
	c.wantGone(forCode(code, verifier), "a code for the second time")
	c.wantGone(forRefresh(first.Refresh), "the refresh token of a code that came twice")

	first = c.signIn(nil)
	_, second := c.exchange(forRefresh(first.Refresh))
	c.wantGone(forRefresh(first.Refresh), "a refresh token for the second time")
	c.wantGone(forRefresh(second.Refresh), "the successor of a refresh token that came twice")
	foreign := forRefresh(c.signIn(nil).Refresh)
	foreign.Set("client_id", otherID)
	c.wantGone(foreign, "another client's refresh token")
}

// refusedWith returns the HTTP status that the token endpoint must return with an OAuth
// error code.
func refusedWith(code string) int {
	if code == "invalid_client" {
		return http.StatusUnauthorized
	}
	return http.StatusBadRequest
}

func (c *plainClient) wantGone(form url.Values, what string) {
	c.Helper()
	if status, r := c.exchange(form); status != http.StatusBadRequest || r.Error != "invalid_grant" || r.Access != "" {
		c.Errorf("%s: got status %d, error %q; want 400 invalid_grant", what, status, r.Error)
	}
}

// testWrongTokens checks that a token is rejected at another resource than its own and
// if it was altered, and that a session can be used only by the user who began it.
func (c *plainClient) testWrongTokens(other *plainClient) {
	mine, theirs := c.signIn(nil).Access, other.signIn(nil).Access
	rest := c.signIn(url.Values{"resource": {c.base + "/core"}}).Access
	for name, token := range map[string]string{"of the services": rest, "that is cut": mine[:len(mine)-2], "made up": "made.up.token"} {
		status, header, _ := c.rpc(token, "", "initialize", initializeParams)
		if challenge := header.Get("WWW-Authenticate"); status != http.StatusUnauthorized || !strings.Contains(challenge, `error="invalid_token"`) || !strings.Contains(challenge, "resource_metadata=") {
			c.Errorf("a token %s: got status %d, WWW-Authenticate: %s; want 401 invalid_token", name, status, challenge)
		}
	}
	for _, path := range []string{"/core/jobs/none", "/vault/folders"} {
		if status, body, err := c.request(mine, http.MethodGet, path, ""); status != http.StatusUnauthorized {
			c.Errorf("the tools' token: got status %d %s at %s (%v), want 401", status, body, path, err)
		}
	}
	if status, body, err := c.request(rest, http.MethodGet, "/vault/folders", ""); status != http.StatusOK {
		c.Errorf("the services' token: got status %d %s by the vault (%v), want 200", status, body, err)
	}
	session := c.session(mine)
	if status, _, result := c.rpc(theirs, session, "tools/list", nil); status != http.StatusForbidden && status != http.StatusNotFound {
		c.Errorf("another user's token in a session: got status %d %s, want 403 or 404", status, result)
	}
	if status, _, _ := c.rpc(mine, session, "tools/list", nil); status != http.StatusOK {
		c.Errorf("session of its own user after another user's attempt: got status %d, want 200", status)
	}
}

// testRegistrationsAreBounded checks that after too many registrations further ones are
// rejected with 429, while other requests still succeed.
func (a *agentTest) testRegistrationsAreBounded(t *testing.T) {
	c := a.newPlainClient(t, "alice")
	refused := 0
	for range 1000 {
		if status, r := c.register(map[string]any{"redirect_uris": []string{callbackURL}}); status == http.StatusTooManyRequests {
			refused++
		} else if status != http.StatusCreated {
			t.Fatalf("registration: got status %d, error %q; want 201, or 429 in the end", status, r.Error)
		}
	}
	if refused < 500 {
		t.Errorf("of 1000 registrations %d got 429, want most of them", refused)
	}
	c.signIn(nil)
}
