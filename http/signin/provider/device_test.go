package provider

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
)

// testDevice is a device without a browser that signs in as the client CLI.
type testDevice struct {
	*site
	code, userCode string
}

func (s *site) device(change ...string) *testDevice {
	s.Helper()
	a := s.post("/signin/device_authorization", with(map[string]string{"client_id": clients.CLIID, "resource": s.URL + "/core"}, change...))
	if a.StatusCode != http.StatusOK || a.field("verification_uri") != s.URL+"/signin/device" || !strings.Contains(a.body, `"interval":5`) || !strings.Contains(a.body, `"expires_in":600`) {
		s.Fatalf("device_authorization = %s %s", a.Status, a.body)
	}
	return &testDevice{s, a.field("device_code"), a.field("user_code")}
}

func (g *testDevice) poll(change ...string) response {
	g.Helper()
	return g.post("/signin/token", with(map[string]string{"grant_type": oauth.GrantDevice, "client_id": clients.CLIID, "device_code": g.code}, change...))
}

func TestDeviceGrant(t *testing.T) {
	s := newSite(t)
	g, b := s.device(), s.browser()
	s.wantError("before a decision", g.poll(), http.StatusBadRequest, "authorization_pending")
	page := b.signIn(b.open("/signin/device?user_code="+g.userCode), "alice")
	if !strings.Contains(page.body, `value="`+g.userCode+`"`) {
		t.Errorf("the page does not contain the code of the URL: %s", page.body)
	}
	page = b.submit(page, "/device", "user_code", strings.ToLower(strings.ReplaceAll(g.userCode, "-", " ")))
	if !strings.Contains(page.body, "command line") || !strings.Contains(page.body, g.userCode) {
		t.Errorf("the page does not show client and code: %s", page.body)
	}
	if page = b.submit(page, "/device/decision", "decision", "allow"); !strings.Contains(page.body, "is connected") {
		t.Errorf("after the decision the page is %s", page.body)
	}
	s.Clock.Advance(accounts.DevicePause)
	s.wantError("another client", g.poll("client_id", s.register(webRedirect).id), http.StatusBadRequest, "invalid_grant")
	s.wantError("another resource", g.poll("resource", s.URL+"/mcp"), http.StatusBadRequest, "invalid_target")
	s.Clock.Advance(accounts.DevicePause)
	tokens := g.poll("resource", s.URL+"/core")
	if tokens.StatusCode != http.StatusOK {
		t.Fatalf("token = %s %s", tokens.Status, tokens.body)
	}
	s.wantToken(tokens.field("access_token"), false)
	s.wantError("a poll after the code was redeemed", g.poll(), http.StatusBadRequest, "invalid_grant")
	cli := &testClient{site: s, id: clients.CLIID}
	refreshed := cli.refresh(tokens.field("refresh_token"))
	s.wantToken(refreshed.field("access_token"), false)
}

func TestDevicePolling(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	g := s.device()
	s.wantError("the first poll", g.poll(), http.StatusBadRequest, "authorization_pending")
	s.wantError("a poll too early", g.poll(), http.StatusBadRequest, "slow_down")
	s.Clock.Advance(accounts.DevicePause + time.Second)
	s.wantError("a poll too early after slow_down", g.poll(), http.StatusBadRequest, "slow_down")
	s.Clock.Advance(3*accounts.DevicePause + time.Second)
	s.wantError("a poll after the increased interval", g.poll(), http.StatusBadRequest, "authorization_pending")
	page := b.submit(b.open("/signin/device"), "/device", "user_code", g.userCode)
	b.submit(page, "/device/decision", "decision", "deny")
	s.Clock.Advance(5 * accounts.DevicePause)
	s.wantError("a poll after the user denied", g.poll(), http.StatusBadRequest, "access_denied")

	expired := s.device()
	s.Clock.Advance(accounts.DeviceLifetime)
	s.wantError("a poll after the code expired", expired.poll(), http.StatusBadRequest, "expired_token")
	if page := b.submit(b.open("/signin/device"), "/device", "user_code", expired.userCode); page.StatusCode != http.StatusUnprocessableEntity || page.says() == "" {
		t.Errorf("an expired user code = %s %s, want 422 with a problem", page.Status, page.body)
	}
	s.wantError("a poll without a code", expired.poll("device_code", ""), http.StatusBadRequest, "invalid_request")
	s.wantError("a poll with a made-up code", expired.poll("device_code", "x"), http.StatusBadRequest, "invalid_grant")
}

func TestDeviceAuthorizationRejects(t *testing.T) {
	s := newSite(t)
	begin := func(form map[string]string) response { return s.post("/signin/device_authorization", form) }
	s.wantError("no client", begin(nil), http.StatusUnauthorized, "invalid_client")
	s.wantError("an unknown client", begin(map[string]string{"client_id": "x"}), http.StatusUnauthorized, "invalid_client")
	s.wantError("a client without the grant type", begin(map[string]string{"client_id": s.register(webRedirect).id}), http.StatusBadRequest, "unauthorized_client")
	s.wantError("another resource", begin(map[string]string{"client_id": clients.CLIID, "resource": "https://other.example"}), http.StatusBadRequest, "invalid_target")
	id := s.postRegistration(`{"grant_types": ["` + oauth.GrantDevice + `"]}`).field("client_id")
	if a := begin(map[string]string{"client_id": id}); a.StatusCode != http.StatusOK {
		t.Errorf("a client with the grant type = %s %s, want 200", a.Status, a.body)
	}
}

func TestUserCodesAreThrottled(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	page := b.open("/signin/device")
	for range userCodeLimits.Free {
		if wrong := b.submit(page, "/device", "user_code", accounts.NewUserCode()); wrong.StatusCode != http.StatusUnprocessableEntity {
			t.Fatalf("a wrong code = %s", wrong.Status)
		}
	}
	if late := b.submit(page, "/device", "user_code", s.device().userCode); late.StatusCode != http.StatusTooManyRequests || late.Header.Get("Retry-After") == "" {
		t.Errorf("after so many wrong codes = %s", late.Status)
	}
}

func TestDeviceFloodEvictsItself(t *testing.T) {
	s := newSite(t)
	begin := func(from string) response {
		return s.send("POST", "/signin/device_authorization", encodeForm(map[string]string{"client_id": clients.CLIID}),
			"Content-Type", "application/x-www-form-urlencoded", "X-Forwarded-For", from)
	}
	s.provider.proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for range int((accounts.DeviceLifetime + 10*time.Minute) / time.Second) {
		begin("192.0.2.1")
		s.Clock.Advance(time.Second)
	}
	if a := begin("192.0.2.2"); a.StatusCode != http.StatusOK {
		t.Errorf("a device sign-in from another address = %s %s, want 200", a.Status, a.body)
	}
	var n int
	if err := accountstest.OpenDB(t, s.Dir).QueryRow(`SELECT count(*) FROM devices`).Scan(&n); err != nil || n > accounts.MaxDevices/50 {
		t.Errorf("the store has %d devices of one address (%v), want at most %d", n, err, accounts.MaxDevices/50)
	}
}

func TestDeviceEndsWithAccount(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	g := s.device()
	b.submit(b.submit(b.open("/signin/device"), "/device", "user_code", g.userCode), "/device/decision", "decision", "allow")
	if err := s.Accounts.SetPassword(t.Context(), "alice", "battery staple"); err != nil {
		t.Fatal(err)
	}
	s.wantError("a poll after the password was changed", g.poll(), http.StatusBadRequest, "invalid_grant")
}
