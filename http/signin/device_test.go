package signin

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// gadget is a device without a browser that signs somebody in to the command
// line.
type gadget struct {
	*site
	code, userCode string
}

func (s *site) gadget(change ...string) *gadget {
	s.Helper()
	a := s.post("/signin/device_authorization", with(map[string]string{"client_id": CLIClient, "resource": s.URL + "/core"}, change...))
	if a.StatusCode != http.StatusOK || a.told("verification_uri") != s.URL+"/signin/device" || !strings.Contains(a.body, `"interval":5`) || !strings.Contains(a.body, `"expires_in":600`) {
		s.Fatalf("device_authorization = %s %s", a.Status, a.body)
	}
	return &gadget{s, a.told("device_code"), a.told("user_code")}
}

func (g *gadget) ask(change ...string) answer {
	g.Helper()
	return g.post("/signin/token", with(map[string]string{"grant_type": grantDevice, "client_id": CLIClient, "device_code": g.code}, change...))
}

func TestADeviceWithoutABrowserGetsTokens(t *testing.T) {
	s := newSite(t)
	g, b := s.gadget(), s.browser()
	s.wantError("before a decision", g.ask(), http.StatusBadRequest, "authorization_pending")
	page := b.signIn(b.open("/signin/device?user_code="+g.userCode), "alice")
	if !strings.Contains(page.body, `value="`+g.userCode+`"`) {
		t.Errorf("the page does not take up the code: %s", page.body)
	}
	page = b.submit(page, "/device", "user_code", strings.ToLower(strings.ReplaceAll(g.userCode, "-", " ")))
	if !strings.Contains(page.body, "command line") || !strings.Contains(page.body, g.userCode) {
		t.Errorf("the page does not say what is asked for: %s", page.body)
	}
	if page = b.submit(page, "/device/decision", "decision", "allow"); !strings.Contains(page.body, "is connected") {
		t.Errorf("after the decision the page says %s", page.body)
	}
	s.clock.advance(devicePause)
	s.wantError("another client", g.ask("client_id", s.register(elsewhere).id), http.StatusBadRequest, "invalid_grant")
	s.wantError("another resource", g.ask("resource", s.URL+"/mcp"), http.StatusBadRequest, "invalid_target")
	s.clock.advance(devicePause)
	tokens := g.ask("resource", s.URL+"/core")
	if tokens.StatusCode != http.StatusOK {
		t.Fatalf("token = %s %s", tokens.Status, tokens.body)
	}
	s.wantToken(tokens.told("access_token"), false)
	s.wantError("once more", g.ask(), http.StatusBadRequest, "invalid_grant")
	cli := &program{site: s, id: CLIClient}
	again := cli.refresh(tokens.told("refresh_token"))
	s.wantToken(again.told("access_token"), false)
}

func TestWhatADeviceIsToldMeanwhile(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	g := s.gadget()
	s.wantError("at first", g.ask(), http.StatusBadRequest, "authorization_pending")
	s.wantError("too early", g.ask(), http.StatusBadRequest, "slow_down")
	s.clock.advance(devicePause + time.Second)
	s.wantError("too early for one that was told so", g.ask(), http.StatusBadRequest, "slow_down")
	s.clock.advance(3*devicePause + time.Second)
	s.wantError("in time", g.ask(), http.StatusBadRequest, "authorization_pending")
	page := b.submit(b.open("/signin/device"), "/device", "user_code", g.userCode)
	b.submit(page, "/device/decision", "decision", "deny")
	s.clock.advance(5 * devicePause)
	s.wantError("refused by its user", g.ask(), http.StatusBadRequest, "access_denied")

	late := s.gadget()
	s.clock.advance(deviceLifetime)
	s.wantError("too late", late.ask(), http.StatusBadRequest, "expired_token")
	if page := b.submit(b.open("/signin/device"), "/device", "user_code", late.userCode); page.StatusCode != http.StatusUnprocessableEntity || page.says() == "" {
		t.Errorf("the code of a device that is too late = %s %s", page.Status, page.body)
	}
	s.wantError("no code", late.ask("device_code", ""), http.StatusBadRequest, "invalid_request")
	s.wantError("a made-up code", late.ask("device_code", "x"), http.StatusBadRequest, "invalid_grant")
}

func TestWhoMayBeginTheSignInOfADevice(t *testing.T) {
	s := newSite(t)
	begin := func(form map[string]string) answer { return s.post("/signin/device_authorization", form) }
	s.wantError("nobody", begin(nil), http.StatusUnauthorized, "invalid_client")
	s.wantError("an unknown client", begin(map[string]string{"client_id": "x"}), http.StatusUnauthorized, "invalid_client")
	s.wantError("one that did not register for it", begin(map[string]string{"client_id": s.register(elsewhere).id}), http.StatusBadRequest, "unauthorized_client")
	s.wantError("another resource", begin(map[string]string{"client_id": CLIClient, "resource": "https://other.example"}), http.StatusBadRequest, "invalid_target")
	id := s.registers(`{"grant_types": ["` + grantDevice + `"]}`).told("client_id")
	if a := begin(map[string]string{"client_id": id}); a.StatusCode != http.StatusOK {
		t.Errorf("one that did = %s %s", a.Status, a.body)
	}
}

func TestCodesOfDevicesCannotBeTriedOut(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	page := b.open("/signin/device")
	for range userCodeLimits.free {
		if wrong := b.submit(page, "/device", "user_code", newUserCode()); wrong.StatusCode != http.StatusUnprocessableEntity {
			t.Fatalf("a wrong code = %s", wrong.Status)
		}
	}
	if late := b.submit(page, "/device", "user_code", s.gadget().userCode); late.StatusCode != http.StatusTooManyRequests || late.Header.Get("Retry-After") == "" {
		t.Errorf("after so many wrong codes = %s", late.Status)
	}
}

func TestOneAddressDoesNotKeepTheDevicesOfOthersOut(t *testing.T) {
	s := newSite(t)
	begin := func(from string) answer {
		return s.send("POST", "/signin/device_authorization", encodeForm(map[string]string{"client_id": CLIClient}),
			"Content-Type", "application/x-www-form-urlencoded", "X-Forwarded-For", from)
	}
	s.provider.proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for range int((deviceLifetime + deviceMemory) / time.Second) {
		begin("192.0.2.1")
		s.clock.advance(time.Second)
	}
	if a := begin("192.0.2.2"); a.StatusCode != http.StatusOK {
		t.Errorf("a device at another address = %s %s", a.Status, a.body)
	}
	var n int
	if err := s.accounts.db.QueryRow(`SELECT count(*) FROM devices`).Scan(&n); err != nil || n > maxDevices/50 {
		t.Errorf("one address has %d devices wait (%v), want %d at most", n, err, maxDevices/50)
	}
}

func TestADeviceIsLostWithItsUsersAccount(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	g := s.gadget()
	b.submit(b.submit(b.open("/signin/device"), "/device", "user_code", g.userCode), "/device/decision", "decision", "allow")
	if err := s.accounts.SetPassword(t.Context(), "alice", "battery staple"); err != nil {
		t.Fatal(err)
	}
	s.wantError("a device that was allowed", g.ask(), http.StatusBadRequest, "invalid_grant")
}
