package signin

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// fill adds n rows to a table, made by a SELECT that may use i, from 1 to n.
func (s *site) fill(table string, n int, row string) {
	s.Helper()
	if !onPostgres() {
		row = strings.ReplaceAll(row, "bytea", "blob")
	}
	_, err := s.accounts.db.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) INSERT INTO `+table+` SELECT `+row+` FROM n`, n)
	if err != nil {
		s.Fatal(err)
	}
}

func TestWhatIsRememberedOfAUserIsBounded(t *testing.T) {
	s := newSite(t)
	now := strconv.FormatInt(time.Now().UnixMicro(), 10)
	s.fill("sessions", maxSessions+5, `CAST('cookie ' || i AS bytea), 'alice', i, i + 100000000000000000`)
	s.fill("browsers", maxBrowsers+5, `CAST('cookie ' || i AS bytea), 'alice', `+now)
	s.fill(`grants (id, "user", client, name, audience, scope, authenticated, created, expires, ends)`, maxGrants+5,
		`'grant ' || i, 'alice', 'client', 'A program', 'annals', '', i, i, 100000000000000000, 100000000000000000`)
	p, b := s.register(elsewhere), s.browser()
	a := p.redeem(p.code(b))
	s.wantToken(a.told("access_token"), true) // the newest is kept
	for table, want := range map[string]int{"sessions": maxSessions, "browsers": maxBrowsers, "grants": maxGrants} {
		var n int
		if err := s.accounts.db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != want {
			t.Errorf("%d %s are remembered (%v), want %d", n, table, err, want)
		}
	}
}

func TestSoManyProgramsAreKept(t *testing.T) {
	s := newSite(t)
	s.fill("clients", maxClients, `CAST(i AS text), '{}', 9000000000000000, 9000000000000000, CAST('' AS bytea)`)
	s.fill(`grants (id, "user", client, name, audience, scope, authenticated, created, expires, ends)`, maxClients,
		`'grant ' || i, 'user ' || i, CAST(i AS text), 'A program', 'annals', '', i, i, 9000000000000000, 9000000000000000`)
	if a := s.registers(`{"redirect_uris": ["` + elsewhere + `"]}`); a.StatusCode != 429 || a.Header.Get("Retry-After") == "" {
		t.Errorf("one more = %s %s", a.Status, a.body)
	}
	if _, err := s.accounts.db.Exec(`DELETE FROM grants WHERE client = '1'`); err != nil {
		t.Fatal(err)
	}
	if a := s.registers(`{"redirect_uris": ["` + elsewhere + `"]}`); a.StatusCode != 201 {
		t.Errorf("after the sign-ins to one have ended = %s %s", a.Status, a.body)
	}
}

func TestSoManyDevicesWaitAtOnce(t *testing.T) {
	s := newSite(t)
	now := strconv.FormatInt(time.Now().UnixMicro(), 10)
	s.fill("devices", maxDevices-1, `CAST('code ' || i AS bytea), CAST('user code ' || i AS bytea), 'client', 'annals', '', 5000000, 0, '', '', 0, `+now+` + 600000000, CAST('' AS bytea)`)
	g := s.gadget()
	if a := s.post("/signin/device_authorization", map[string]string{"client_id": CLIClient}); a.StatusCode != 200 {
		t.Errorf("one more = %s %s", a.Status, a.body)
	}
	var n int
	if err := s.accounts.db.QueryRow(`SELECT count(*) FROM devices`).Scan(&n); err != nil || n > maxDevices {
		t.Errorf("%d devices wait (%v), want up to %d", n, err, maxDevices)
	}
	s.wantError("a device that began before", g.ask(), 400, "authorization_pending")
	s.clock.advance(deviceLifetime + deviceMemory + sweepPause)
	s.gadget()
}
