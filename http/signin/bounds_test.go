package signin

import (
	"testing"
)

// fill adds n rows to a table, made by a SELECT that may use i, from 1 to n.
func (s *site) fill(table string, n int, row string) {
	s.Helper()
	_, err := s.accounts.db.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) INSERT INTO `+table+` SELECT `+row+` FROM n`, n)
	if err != nil {
		s.Fatal(err)
	}
}

func TestWhatIsRememberedOfAUserIsBounded(t *testing.T) {
	s := newSite(t)
	s.fill("sessions", maxSessions+5, `randomblob(32), 'alice', i, i + 1e17`)
	s.fill("browsers", maxBrowsers+5, `randomblob(32), 'alice', 1000 * unixepoch() * 1000`)
	s.fill(`grants (id, user, client, name, audience, scope, authenticated, created, expires, ends)`, maxGrants+5,
		`'grant ' || i, 'alice', 'client', 'A program', 'annals', '', i, i, 1e17, 1e17`)
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
	s.fill("clients", maxClients, `printf('%06d', i), '{}', 9e15, 9e15`)
	if a := s.registers(`{"redirect_uris": ["` + elsewhere + `"]}`); a.StatusCode != 429 || a.Header.Get("Retry-After") == "" {
		t.Errorf("one more = %s %s", a.Status, a.body)
	}
}

func TestSoManyDevicesWaitAtOnce(t *testing.T) {
	s := newSite(t)
	s.fill("devices", maxDevices-1, `randomblob(32), randomblob(32), 'client', 'annals', '', 5000000, 0, '', '', 0, 1000 * 1000 * (unixepoch() + 600)`)
	s.gadget()
	if a := s.post("/signin/device_authorization", map[string]string{"client_id": CLIClient}); a.StatusCode != 429 {
		t.Errorf("one more = %s %s", a.Status, a.body)
	}
	s.clock.advance(deviceLifetime + deviceMemory + sweepPause)
	s.gadget()
}
