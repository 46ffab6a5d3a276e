package provider

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/provider/clients"
)

// fill adds n rows to a table. row is the SELECT list with the values of a row; in it, i is
// the number of the row from 1 to n.
func (s *site) fill(table string, n int, row string) {
	s.Helper()
	if !accountstest.OnPostgres() {
		row = strings.ReplaceAll(row, "bytea", "blob")
	}
	_, err := accountstest.OpenDB(s, s.Dir).Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) INSERT INTO `+table+` SELECT `+row+` FROM n`, n)
	if err != nil {
		s.Fatal(err)
	}
}

func TestRowsOfUserAreBounded(t *testing.T) {
	s := newSite(t)
	now := strconv.FormatInt(time.Now().UnixMicro(), 10)
	s.fill("sessions", accounts.MaxSessions+5, `CAST('cookie ' || i AS bytea), 'alice', i, i + 100000000000000000`)
	s.fill("browsers", accounts.MaxBrowsers+5, `CAST('cookie ' || i AS bytea), 'alice', `+now)
	s.fill(`grants (id, "user", client, name, audience, scope, authenticated, created, expires, ends)`, accounts.MaxGrants+5,
		`'grant ' || i, 'alice', 'client', 'A program', 'annals', '', i, i, 100000000000000000, 100000000000000000`)
	p, b := s.register(webRedirect), s.browser()
	a := p.redeem(p.code(b))
	s.wantToken(a.field("access_token"), true) // the newest is kept
	for table, want := range map[string]int{"sessions": accounts.MaxSessions, "browsers": accounts.MaxBrowsers, "grants": accounts.MaxGrants} {
		var n int
		if err := accountstest.OpenDB(t, s.Dir).QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != want {
			t.Errorf("the store has %d %s (%v), want %d", n, table, err, want)
		}
	}
}

func TestClientsAreBounded(t *testing.T) {
	s := newSite(t)
	s.fill("clients", accounts.MaxClients, `CAST(i AS text), '{}', 9000000000000000, 9000000000000000, CAST('' AS bytea)`)
	s.fill(`grants (id, "user", client, name, audience, scope, authenticated, created, expires, ends)`, accounts.MaxClients,
		`'grant ' || i, 'user ' || i, CAST(i AS text), 'A program', 'annals', '', i, i, 9000000000000000, 9000000000000000`)
	if a := s.postRegistration(`{"redirect_uris": ["` + webRedirect + `"]}`); a.StatusCode != 429 || a.Header.Get("Retry-After") == "" {
		t.Errorf("a registration while all clients are in use = %s %s, want 429", a.Status, a.body)
	}
	if _, err := accountstest.OpenDB(t, s.Dir).Exec(`DELETE FROM grants WHERE client = '1'`); err != nil {
		t.Fatal(err)
	}
	if a := s.postRegistration(`{"redirect_uris": ["` + webRedirect + `"]}`); a.StatusCode != 201 {
		t.Errorf("a registration after the grant of a client has ended = %s %s, want 201", a.Status, a.body)
	}
}

func TestPendingDevicesAreBounded(t *testing.T) {
	s := newSite(t)
	now := strconv.FormatInt(time.Now().UnixMicro(), 10)
	s.fill("devices", accounts.MaxDevices-1, `CAST('code ' || i AS bytea), CAST('user code ' || i AS bytea), 'client', 'annals', '', 5000000, 0, '', '', 0, `+now+` + 600000000, CAST('' AS bytea)`)
	g := s.device()
	if a := s.post("/signin/device_authorization", map[string]string{"client_id": clients.CLIID}); a.StatusCode != 200 {
		t.Errorf("a device sign-in while there are MaxDevices = %s %s, want 200", a.Status, a.body)
	}
	var n int
	if err := accountstest.OpenDB(t, s.Dir).QueryRow(`SELECT count(*) FROM devices`).Scan(&n); err != nil || n > accounts.MaxDevices {
		t.Errorf("the store has %d devices (%v), want up to %d", n, err, accounts.MaxDevices)
	}
	s.wantError("an older device sign-in from another address", g.poll(), 400, "authorization_pending")
	s.Clock.Advance(accounts.DeviceLifetime + 10*time.Minute + sweepPause)
	s.device()
}
