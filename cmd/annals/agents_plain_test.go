package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// plainClient is an agent that uses plain HTTP requests instead of an MCP library.
type plainClient struct {
	*testing.T
	*agentTest
	*browser // browser of the person for whom the agent acts
	signin   authorizationServer
	id       string // client id from its registration
}

// authorizationServer is the metadata of the server where people sign in.
type authorizationServer struct {
	Issuer    string   `json:"issuer"`
	Authorize string   `json:"authorization_endpoint"`
	Token     string   `json:"token_endpoint"`
	Register  string   `json:"registration_endpoint"`
	Methods   []string `json:"code_challenge_methods_supported"`
}

// callbackURL is the redirect URI of plain clients. No server listens there: the tests
// read the parameters from the Location header.
const callbackURL = "http://127.0.0.1:9/callback"

// tokenReply is a reply of the token endpoint, with tokens or an error.
type tokenReply struct {
	Access    string `json:"access_token"`
	Refresh   string `json:"refresh_token"`
	Type      string `json:"token_type"`
	ExpiresIn int    `json:"expires_in"`
	Error     string `json:"error"`
}

// newPlainClient registers an OAuth client for a person. It is given only the URL of
// the MCP tools, and finds the authorization server from the 401 reply to a call
// without a token.
func (a *agentTest) newPlainClient(t *testing.T, person string) *plainClient {
	t.Helper()
	c := &plainClient{T: t, agentTest: a, browser: a.browser(person)}
	c.signin = c.discover(c.refused())
	status, client := c.register(map[string]any{"client_name": "A plain client", "redirect_uris": []string{callbackURL}})
	if status != http.StatusCreated || client.ID == "" {
		t.Fatalf("registration: got status %d %+v; want 201 and a client_id", status, client)
	}
	c.id = client.ID
	return c
}

// refused calls the tools without a token, and returns the URL of the resource metadata
// that the 401 reply contains.
func (c *plainClient) refused() (metadata string) {
	c.Helper()
	status, header, _ := c.rpc("", "", "initialize", initializeParams)
	challenge := header.Get("WWW-Authenticate")
	_, rest, found := strings.Cut(challenge, `resource_metadata="`)
	metadata, _, closed := strings.Cut(rest, `"`)
	if status != http.StatusUnauthorized || !strings.HasPrefix(challenge, "Bearer ") || !found || !closed {
		c.Fatalf("without a token the tools answer %d, WWW-Authenticate: %s; want 401 that names resource_metadata", status, challenge)
	}
	return metadata
}

// discover reads the resource metadata, and then the metadata of the authorization
// server that it names. Both well-known URLs of that server must return the same
// metadata.
func (c *plainClient) discover(metadata string) (server authorizationServer) {
	c.Helper()
	var resource struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
	}
	c.get(metadata, &resource)
	if resource.Resource != c.tools() || len(resource.Issuers) != 1 {
		c.Fatalf("%s is %+v; want the resource %s and one authorization server", metadata, resource, c.tools())
	}
	issuer, err := url.Parse(resource.Issuers[0])
	if err != nil {
		c.Fatal(err)
	}
	for _, wellKnown := range []string{"oauth-authorization-server", "openid-configuration"} {
		server = authorizationServer{}
		c.get(issuer.Scheme+"://"+issuer.Host+"/.well-known/"+wellKnown+issuer.Path, &server)
		if server.Issuer != issuer.String() || server.Authorize == "" || server.Token == "" || server.Register == "" || !slices.Equal(server.Methods, []string{"S256"}) {
			c.Fatalf("%s of %s is %+v; want it of this issuer, with three endpoints and S256 alone", wellKnown, issuer, server)
		}
	}
	return server
}

func (c *plainClient) get(address string, into any) {
	c.Helper()
	reply, err := http.Get(address)
	if err != nil {
		c.Fatal(err)
	}
	defer reply.Body.Close()
	if err := json.NewDecoder(reply.Body).Decode(into); err != nil || reply.StatusCode != http.StatusOK {
		c.Fatalf("GET %s: %s, %v", address, reply.Status, err)
	}
}

// registration is a reply of the registration endpoint, with a client or an error.
type registration struct {
	ID    string `json:"client_id"`
	Error string `json:"error"`
}

func (c *plainClient) register(metadata map[string]any) (status int, r registration) {
	c.Helper()
	body, err := json.Marshal(metadata)
	if err != nil {
		c.Fatal(err)
	}
	reply, err := http.Post(c.signin.Register, "application/json", bytes.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	defer reply.Body.Close()
	if err := json.NewDecoder(reply.Body).Decode(&r); err != nil {
		c.Fatalf("registration returned %s: %v", reply.Status, err)
	}
	return reply.StatusCode, r
}

// authorization returns the URL of an authorization request. others replaces default
// parameters; a parameter that is empty in others is left out.
func (c *plainClient) authorization(verifier string, others url.Values) string {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {c.id}, "redirect_uri": {callbackURL}, "resource": {c.tools()}, "state": {"a state"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	for name, values := range others {
		q[name] = values
	}
	return c.signin.Authorize + "?" + q.Encode()
}

// code signs the person in, confirms the consent page, and returns the authorization
// code from the redirect, and the PKCE verifier.
func (c *plainClient) code(others url.Values) (code, verifier string) {
	c.Helper()
	verifier = rand.Text() + rand.Text()
	redirected, err := c.open(c.Context(), c.authorization(verifier, others))
	if err != nil {
		c.Fatal(err)
	}
	q := redirected.Query()
	if q.Get("code") == "" || q.Get("state") != "a state" || q.Get("iss") != c.signin.Issuer || !strings.HasPrefix(redirected.String(), callbackURL+"?") {
		c.Fatalf("authorization: redirected to %s; want %s with a code, the state, and iss %s", redirected, callbackURL, c.signin.Issuer)
	}
	return q.Get("code"), verifier
}

// exchange sends a form to the token endpoint. It adds the client id and the other
// parameters of c that the form lacks.
func (c *plainClient) exchange(form url.Values) (status int, r tokenReply) {
	c.Helper()
	if !form.Has("client_id") {
		form.Set("client_id", c.id)
	}
	reply, err := http.PostForm(c.signin.Token, form)
	if err != nil {
		c.Fatal(err)
	}
	defer reply.Body.Close()
	if err := json.NewDecoder(reply.Body).Decode(&r); err != nil || reply.Header.Get("Cache-Control") != "no-store" {
		c.Fatalf("the token endpoint returned %s with Cache-Control %q: %v", reply.Status, reply.Header.Get("Cache-Control"), err)
	}
	return reply.StatusCode, r
}

// forCode returns the form that exchanges an authorization code for tokens.
func forCode(code, verifier string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callbackURL}, "code_verifier": {verifier}}
}

func forRefresh(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}}
}

// signIn signs the person in and returns the tokens. others is as in authorization.
func (c *plainClient) signIn(others url.Values) tokenReply {
	c.Helper()
	status, r := c.exchange(forCode(c.code(others)))
	if status != http.StatusOK || r.Access == "" || r.Refresh == "" || !strings.EqualFold(r.Type, "Bearer") || r.ExpiresIn <= 0 {
		c.Fatalf("the token endpoint: got status %d, error %q; want two tokens", status, r.Error)
	}
	return r
}

// initializeParams are the parameters of initialize, the MCP request that begins a
// session.
var initializeParams = map[string]any{
	"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "plain", "version": "1"},
}

// rpc sends one JSON-RPC message to the MCP tools and returns the reply.
func (c *plainClient) rpc(token, session, method string, params any) (status int, header http.Header, result json.RawMessage) {
	c.Helper()
	message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if !strings.HasPrefix(method, "notifications/") {
		message["id"] = 1
	}
	body, err := json.Marshal(message)
	if err != nil {
		c.Fatal(err)
	}
	r, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.tools(), bytes.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	if method != "initialize" {
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer reply.Body.Close()
	answer, err := answerOf(reply)
	if err != nil {
		c.Fatalf("%s: %s: %v", method, reply.Status, err)
	}
	return reply.StatusCode, reply.Header, answer
}

// answerOf returns the JSON-RPC result in a reply. It returns nil if the reply is an
// error, or if the message was a notification, which has no result.
func answerOf(reply *http.Response) (json.RawMessage, error) {
	if reply.StatusCode != http.StatusOK {
		return nil, nil
	}
	var m struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	err := json.NewDecoder(reply.Body).Decode(&m)
	if m.Error != nil {
		err = errors.New(m.Error.Message)
	}
	return m.Result, err
}
