package provider

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"

	"github.com/coreos/go-oidc/v3/oidc"
)

func TestMetadataLocations(t *testing.T) {
	s := newSite(t)
	first := s.send("GET", "/signin/.well-known/openid-configuration", "").body
	for _, path := range []string{"/signin/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/signin", "/.well-known/openid-configuration/signin"} {
		if a := s.send("GET", path, ""); a.body != first {
			t.Errorf("%s = %s %s, want %s", path, a.Status, a.body, first)
		}
	}
	var metadata map[string]any
	if err := json.Unmarshal([]byte(first), &metadata); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"issuer": `"` + s.URL + `/signin"`, "code_challenge_methods_supported": `["S256"]`, "response_types_supported": `["code"]`, "token_endpoint_auth_methods_supported": `["none","client_secret_basic","client_secret_post"]`,
		"client_id_metadata_document_supported": "true", "authorization_response_iss_parameter_supported": "true", "request_uri_parameter_supported": "false",
	} {
		if got, _ := json.Marshal(metadata[name]); string(got) != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	for name, value := range metadata {
		if url, ok := value.(string); ok && strings.HasSuffix(name, "_endpoint") {
			if a := s.send("GET", url, ""); a.StatusCode == 404 {
				t.Errorf("the %s %s = 404", name, url)
			}
		}
	}
}

func TestResourceMetadata(t *testing.T) {
	issuer, err := signin.NewIssuer(accountstest.Open(t, t.TempDir()), signin.IssuerOptions{URL: "https://login.example", Tools: "https://tools.example"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(issuer, Options{
		Core: "https://core.example", Vault: "https://files.example/v1/vault", Tools: "https://tools.example", Servers: []string{"https://company.example", "https://other.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ at, want string }{
		{"https://tools.example/.well-known/oauth-protected-resource", "https://tools.example"},
		{"https://core.example/.well-known/oauth-protected-resource", "https://core.example"},
		{"https://files.example/.well-known/oauth-protected-resource/v1/vault", "https://files.example/v1/vault"},
	} {
		w := httptest.NewRecorder()
		p.RootDocuments().ServeHTTP(w, httptest.NewRequest("GET", c.at, nil))
		var metadata struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &metadata); err != nil || metadata.Resource != c.want || !slices.Equal(metadata.Servers, []string{"https://company.example", "https://other.example"}) {
			t.Errorf("%s = %d %s, want %s", c.at, w.Code, w.Body, c.want)
		}
	}
	w := httptest.NewRecorder()
	p.RootDocuments().ServeHTTP(w, httptest.NewRequest("GET", "https://login.example/.well-known/oauth-authorization-server", nil))
	if !strings.Contains(w.Body.String(), `"issuer":"https://login.example"`) {
		t.Errorf("an issuer with a host of its own = %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	p.RootDocuments().ServeHTTP(w, httptest.NewRequest("GET", "https://tools.example/.well-known/security.txt", nil))
	if w.Code != 404 {
		t.Errorf("GET security.txt = %d, want 404", w.Code)
	}
}

func TestDiscovery(t *testing.T) {
	store := accountstest.Open(t, t.TempDir())
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "alice"})
	var own *Provider
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { own.ServeHTTP(w, r) }))
	defer server.Close()
	issuer, err := signin.NewIssuer(store, signin.IssuerOptions{URL: server.URL + "/signin"})
	if err != nil {
		t.Fatal(err)
	}
	if own, err = New(issuer, Options{}); err != nil {
		t.Fatal(err)
	}
	ctx := oidc.ClientContext(t.Context(), server.Client())
	provider, err := oidc.NewProvider(ctx, issuer.URL())
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := issuer.Issue(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: signin.DefaultAudience}).Verify(ctx, token)
	if err != nil || id.Subject != "alice" {
		t.Errorf("a client that discovers the keys verifies %+v, %v; want alice", id, err)
	}

	get := func(method, path string) (*http.Response, string) {
		request, err := http.NewRequestWithContext(ctx, method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(body)
	}
	response, body := get("GET", "/signin/jwks")
	if response.Header.Get("Cache-Control") == "" || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("GET jwks has the headers %v, want cacheable JSON", response.Header)
	}
	if strings.Contains(body, `"d":`) || !strings.Contains(body, `"kid":`) {
		t.Errorf("GET jwks = %s, want only public keys", body)
	}
	if response, _ := get("POST", "/signin/jwks"); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST jwks = %s, want 405", response.Status)
	}
	if response, _ := get("GET", "/signin/elsewhere"); response.StatusCode != http.StatusNotFound {
		t.Errorf("GET elsewhere = %s, want 404", response.Status)
	}
}
