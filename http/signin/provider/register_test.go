package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/provider/clients"
)

func (s *site) postRegistration(body string) response {
	s.Helper()
	return s.send("POST", "/signin/register", body, "Content-Type", "application/json")
}

func TestRegister(t *testing.T) {
	s := newSite(t)
	for body, want := range map[string]string{
		`{"redirect_uris": ["http://localhost:1/cb"]}`: `"redirect_uris":["http://localhost:1/cb"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"`,
		`{"client_name": " Caf\u0065\u0301\u202e ", "redirect_uris": ["https://a.example/"], "grant_types": ["authorization_code", "implicit"], "response_types": ["code", "token"], "token_endpoint_auth_method": "client_secret_basic", "logo_uri": "x"}`: `"client_name":"Café",`,
		`{"grant_types": ["urn:ietf:params:oauth:grant-type:device_code"]}`: `"grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"]`,
	} {
		if a := s.postRegistration(body); a.StatusCode != http.StatusCreated || !strings.Contains(a.body, want) || strings.Contains(a.body, "secret") || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("register %s = %s %s, want %s", body, a.Status, a.body, want)
		}
	}
}

func TestRegisterRejectsInvalid(t *testing.T) {
	s := newSite(t)
	register := func(metadata map[string]any) response {
		body, err := json.Marshal(metadata)
		if err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(2 * time.Minute) // so that the next registration is not refused by the rate limit
		return s.postRegistration(string(body))
	}
	for _, uri := range []string{"", "javascript:alert(1)", "http://program.example/callback", "https://program.example/callback#here", "https://*.example/callback"} {
		s.wantError(uri, register(map[string]any{"redirect_uris": []string{webRedirect, uri}}), http.StatusBadRequest, "invalid_redirect_uri")
	}
	many := make([]string, clients.MaxRedirects+1)
	for i := range many {
		many[i] = webRedirect
	}
	for name, uris := range map[string][]string{"none": nil, "many": many} {
		s.wantError(name, register(map[string]any{"redirect_uris": uris}), http.StatusBadRequest, "invalid_redirect_uri")
	}
	for field, value := range map[string]any{
		"client_name": strings.Repeat("x", clients.MaxName+1), "token_endpoint_auth_method": "private_key_jwt", "response_types": []string{"token"},
		"grant_types": []string{"password"}, "redirect_uris": webRedirect, "padding": strings.Repeat("x", maxRegistration),
	} {
		metadata := map[string]any{"redirect_uris": []string{webRedirect}}
		metadata[field] = value
		s.wantError(field, register(metadata), http.StatusBadRequest, "invalid_client_metadata")
	}
	s.Clock.Advance(2 * time.Minute)
	s.wantError("a form", s.send("POST", "/signin/register", "a=b", "Content-Type", "application/x-www-form-urlencoded"), http.StatusBadRequest, "invalid_client_metadata")
}

func TestRegisterIsThrottled(t *testing.T) {
	s := newSite(t)
	body := `{"redirect_uris": ["` + webRedirect + `"]}`
	registered := 0
	for range 1000 {
		a := s.postRegistration(body)
		if a.StatusCode == http.StatusCreated {
			registered++
			continue
		}
		wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if a.StatusCode != http.StatusTooManyRequests || err != nil || wait < 1 || a.field("error") == "" {
			t.Fatalf("register = %s %v %s, want 429 with Retry-After", a.Status, a.Header, a.body)
		}
	}
	if registered != registrationLimits.Free {
		t.Errorf("%d of 1000 registrations succeed, want %d", registered, registrationLimits.Free)
	}
	s.Clock.Advance(time.Minute)
	if a := s.postRegistration(body); a.StatusCode != http.StatusCreated {
		t.Errorf("register a minute later = %s, want 201", a.Status)
	}
}

func TestRegistrationFloodEvictsItself(t *testing.T) {
	s := newSite(t)
	s.fill("clients", accounts.MaxClients, `CAST(i AS text), '{}', i, 0, CAST('address ' || i % 5000 AS bytea)`) // four from each of 5,000 addresses
	body := `{"redirect_uris": ["` + webRedirect + `"]}`
	honest := s.from("203.0.113.7").registersHere(body)
	if honest.StatusCode != http.StatusCreated {
		t.Fatalf("a registration from another address = %s %s, want 201", honest.Status, honest.body)
	}
	for i := range 300 { // the flood continues
		if a := s.from(fmt.Sprintf("198.18.%d.%d", i/250, i%250+1)).registersHere(body); a.StatusCode != http.StatusCreated {
			t.Fatalf("registration %d of the flood = %s", i, a.Status)
		}
	}
	var all, kept int
	if err := accountstest.OpenDB(t, s.Dir).QueryRow(`SELECT count(*), count(CASE WHEN id = $1 THEN 1 END) FROM clients`, honest.field("client_id")).Scan(&all, &kept); err != nil || all > accounts.MaxClients || kept != 1 {
		t.Errorf("the store has %d clients (%v), %d of the honest address; want up to %d and 1", all, err, kept, accounts.MaxClients)
	}
	p := &testClient{site: s, id: honest.field("client_id"), redirect: webRedirect, verifier: accounts.NewSecret()}
	if a := p.redeem(p.code(s.browser())); a.StatusCode != http.StatusOK {
		t.Errorf("a sign-in to the honest client = %s %s, want 200", a.Status, a.body)
	}
}

func (g *addressBrowser) registersHere(body string) response {
	g.Helper()
	return g.do(g.client, g.request("POST", "/signin/register", body, "Content-Type", "application/json"))
}

func TestUnusedClientsExpire(t *testing.T) {
	s := newSite(t)
	used, unused, b := s.register(webRedirect), s.register(webRedirect), s.browser()
	token := used.redeem(used.code(b)).field("refresh_token")
	s.Clock.Advance(24*time.Hour + time.Minute)
	fresh := s.register(webRedirect)
	if a := used.refresh(token); a.StatusCode != http.StatusOK {
		t.Errorf("refresh of a client in use = %s %s, want 200", a.Status, a.body)
	}
	s.wantError("an unused client", unused.redeem("a.b"), http.StatusUnauthorized, "invalid_client")
	s.wantError("a new client", fresh.redeem("a.b"), http.StatusBadRequest, "invalid_grant")
	if page := b.open(unused.url()); page.StatusCode != http.StatusBadRequest {
		t.Errorf("an authorization request of an expired client = %s, want 400", page.Status)
	}
	s.Clock.Advance(365 * 24 * time.Hour)
	s.register(webRedirect)
	s.wantError("a client that was last used a year ago", used.redeem("a.b"), http.StatusUnauthorized, "invalid_client")
}

func TestCrossOriginRequests(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{
		"/signin/register", "/signin/token", "/signin/revoke", "/signin/jwks", "/signin/device_authorization", "/signin/.well-known/openid-configuration", "/signin/.well-known/oauth-authorization-server",
		"/.well-known/openid-configuration/signin", "/.well-known/oauth-authorization-server/signin", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource",
	} {
		a := s.send("OPTIONS", path, "", "Origin", "https://inspector.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
		if a.StatusCode != http.StatusNoContent || a.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.Header.Get("Access-Control-Allow-Headers"), "Content-Type") {
			t.Errorf("OPTIONS %s = %s %v", path, a.Status, a.Header)
		}
		if strings.Contains(path, "well-known") {
			if a := s.send("GET", path, ""); a.StatusCode != http.StatusOK || a.Header.Get("Access-Control-Allow-Origin") != "*" || a.Header.Get("Content-Type") != "application/json" {
				t.Errorf("GET %s = %s %v", path, a.Status, a.Header)
			}
		}
	}
	for _, path := range []string{"/signin/authorize", "/signin/login", "/signin/"} {
		if a := s.send("GET", path, "", "Origin", "https://evil.example"); a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("pages of every origin may read GET %s", path)
		}
	}
}
