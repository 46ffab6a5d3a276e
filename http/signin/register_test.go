package signin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func (s *site) registers(body string) answer {
	s.Helper()
	return s.send("POST", "/signin/register", body, "Content-Type", "application/json")
}

func TestRegistrationTellsWhatAProgramIs(t *testing.T) {
	s := newSite(t)
	for body, want := range map[string]string{
		`{"redirect_uris": ["http://localhost:1/cb"]}`: `"redirect_uris":["http://localhost:1/cb"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"`,
		`{"client_name": " Caf\u0065\u0301\u202e ", "redirect_uris": ["https://a.example/"], "grant_types": ["authorization_code", "implicit"], "response_types": ["code", "token"], "token_endpoint_auth_method": "client_secret_basic", "logo_uri": "x"}`: `"client_name":"Café",`,
		`{"grant_types": ["urn:ietf:params:oauth:grant-type:device_code"]}`: `"grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"]`,
	} {
		if a := s.registers(body); a.StatusCode != http.StatusCreated || !strings.Contains(a.body, want) || strings.Contains(a.body, "secret") || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("register %s = %s %s, want %s", body, a.Status, a.body, want)
		}
	}
}

func TestRegistrationsThatCannotBe(t *testing.T) {
	s := newSite(t)
	register := func(metadata map[string]any) answer {
		body, err := json.Marshal(metadata)
		if err != nil {
			t.Fatal(err)
		}
		s.clock.advance(2 * time.Minute) // so that it is not too often
		return s.registers(string(body))
	}
	for _, uri := range badRedirects {
		s.wantError(uri, register(map[string]any{"redirect_uris": []string{elsewhere, uri}}), http.StatusBadRequest, "invalid_redirect_uri")
	}
	many := make([]string, maxRedirects+1)
	for i := range many {
		many[i] = elsewhere
	}
	for name, uris := range map[string][]string{"none": nil, "many": many} {
		s.wantError(name, register(map[string]any{"redirect_uris": uris}), http.StatusBadRequest, "invalid_redirect_uri")
	}
	for field, value := range map[string]any{
		"client_name": strings.Repeat("x", maxClientName+1), "token_endpoint_auth_method": "private_key_jwt", "response_types": []string{"token"},
		"grant_types": []string{"password"}, "redirect_uris": elsewhere, "padding": strings.Repeat("x", maxRegistration),
	} {
		metadata := map[string]any{"redirect_uris": []string{elsewhere}}
		metadata[field] = value
		s.wantError(field, register(metadata), http.StatusBadRequest, "invalid_client_metadata")
	}
	s.clock.advance(2 * time.Minute)
	s.wantError("a form", s.send("POST", "/signin/register", "a=b", "Content-Type", "application/x-www-form-urlencoded"), http.StatusBadRequest, "invalid_client_metadata")
}

func TestAThousandRegistrationsAreTooMany(t *testing.T) {
	s := newSite(t)
	body := `{"redirect_uris": ["` + elsewhere + `"]}`
	made := 0
	for range 1000 {
		a := s.registers(body)
		if a.StatusCode == http.StatusCreated {
			made++
			continue
		}
		wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if a.StatusCode != http.StatusTooManyRequests || err != nil || wait < 1 || a.told("error") == "" {
			t.Fatalf("register = %s %v %s, want 429 and when to come again", a.Status, a.Header, a.body)
		}
	}
	if made != registrationLimits.free {
		t.Errorf("%d registrations were taken, want %d", made, registrationLimits.free)
	}
	s.clock.advance(time.Minute)
	if a := s.registers(body); a.StatusCode != http.StatusCreated {
		t.Errorf("a minute later = %s", a.Status)
	}
}

func TestAFloodOfRegistrationsPushesOutItself(t *testing.T) {
	s := newSite(t)
	key, err := s.accounts.sealKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.fill("clients", maxClients, `CAST(i AS text), '{}', i, 0, CAST('address ' || i % 5000 AS bytea)`) // four from each of 5,000 addresses
	body := `{"redirect_uris": ["` + elsewhere + `"]}`
	honest := s.from("203.0.113.7").registersHere(body)
	if honest.StatusCode != http.StatusCreated {
		t.Fatalf("an honest client among %d others = %s %s", maxClients, honest.Status, honest.body)
	}
	for i := range 300 { // the flood goes on
		if a := s.from(fmt.Sprintf("198.18.%d.%d", i/250, i%250+1)).registersHere(body); a.StatusCode != http.StatusCreated {
			t.Fatalf("registration %d of the flood = %s", i, a.Status)
		}
	}
	var all, from int
	if err := s.accounts.db.QueryRow(`SELECT count(*), count(CASE WHEN origin = $1 THEN 1 END) FROM clients`, originOf(key, "203.0.113.7")).Scan(&all, &from); err != nil || all > maxClients || from != 1 {
		t.Errorf("%d programs are kept (%v), %d of the honest address; want up to %d and 1", all, err, from, maxClients)
	}
	p := &program{site: s, id: honest.told("client_id"), redirect: elsewhere, verifier: newSecret()}
	if a := p.redeem(p.code(s.browser())); a.StatusCode != http.StatusOK {
		t.Errorf("signing in to the honest client = %s %s", a.Status, a.body)
	}
}

func (g *guesser) registersHere(body string) answer {
	g.Helper()
	return g.do(g.client, g.request("POST", "/signin/register", body, "Content-Type", "application/json"))
}

func TestProgramsToWhichNobodySignsInAreForgotten(t *testing.T) {
	s := newSite(t)
	used, unused, b := s.register(elsewhere), s.register(elsewhere), s.browser()
	token := used.redeem(used.code(b)).told("refresh_token")
	s.clock.advance(unusedClients + time.Minute)
	fresh := s.register(elsewhere)
	if a := used.refresh(token); a.StatusCode != http.StatusOK {
		t.Errorf("a program that is used = %s %s", a.Status, a.body)
	}
	s.wantError("a program that nobody used", unused.redeem("a.b"), http.StatusUnauthorized, "invalid_client")
	s.wantError("a program of today", fresh.redeem("a.b"), http.StatusBadRequest, "invalid_grant")
	if page := b.open(unused.url()); page.StatusCode != http.StatusBadRequest {
		t.Errorf("signing in to a program that is forgotten = %s", page.Status)
	}
	s.clock.advance(idleClients)
	s.register(elsewhere)
	s.wantError("a program of last year", used.redeem("a.b"), http.StatusUnauthorized, "invalid_client")
}

func TestWebPagesOfEveryOriginMayRegisterAndGetTokens(t *testing.T) {
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
			t.Errorf("GET %s may be read by every origin", path)
		}
	}
}
