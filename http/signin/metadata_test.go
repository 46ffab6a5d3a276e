package signin

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestMetadataIsTheSameWhereverItIsLookedFor(t *testing.T) {
	s := newSite(t)
	first := s.send("GET", "/signin/.well-known/openid-configuration", "").body
	for _, path := range []string{"/signin/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/signin", "/.well-known/openid-configuration/signin"} {
		if a := s.send("GET", path, ""); a.body != first {
			t.Errorf("%s = %s %s, want %s", path, a.Status, a.body, first)
		}
	}
	var told map[string]any
	if err := json.Unmarshal([]byte(first), &told); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"issuer": `"` + s.URL + `/signin"`, "code_challenge_methods_supported": `["S256"]`, "response_types_supported": `["code"]`, "token_endpoint_auth_methods_supported": `["none","client_secret_basic","client_secret_post"]`,
		"client_id_metadata_document_supported": "true", "authorization_response_iss_parameter_supported": "true", "request_uri_parameter_supported": "false",
	} {
		if got, _ := json.Marshal(told[name]); string(got) != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	for name, value := range told {
		if url, ok := value.(string); ok && strings.HasSuffix(name, "_endpoint") {
			if a := s.send("GET", url, ""); a.StatusCode == 404 {
				t.Errorf("nothing is at %s, %s", name, url)
			}
		}
	}
}

func TestResourcesNameWhoSignsPeopleIn(t *testing.T) {
	issuer, err := NewIssuer(openAccounts(t, t.TempDir()), IssuerOptions{URL: "https://login.example", Tools: "https://tools.example"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProvider(issuer, ProviderOptions{
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
		var told struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil || told.Resource != c.want || !slices.Equal(told.Servers, []string{"https://company.example", "https://other.example"}) {
			t.Errorf("%s = %d %s, want %s", c.at, w.Code, w.Body, c.want)
		}
		resource, err := url.Parse(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := ResourceMetadataURL(resource); got != c.at {
			t.Errorf("ResourceMetadataURL(%s) = %s, want %s", c.want, got, c.at)
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
		t.Errorf("another document = %d", w.Code)
	}
}
