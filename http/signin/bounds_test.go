package signin

import (
	"fmt"
	"testing"
	"time"
)

func TestWhatIsRememberedOfAUserIsBounded(t *testing.T) {
	s := newSite(t)
	a, ctx := s.accounts, t.Context()
	_, hash, err := a.authenticate(ctx, "alice", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	now, last := s.clock.now(), visitor{user: "alice"}
	request := func(i int) *authorization {
		return &authorization{client: client{ID: fmt.Sprint("client ", i)}, redirect: loopback, audience: "annals"}
	}
	for i := range maxSessions + 5 {
		last.cookie = newSecret()
		_, err := a.addSession(ctx, last.cookie, "alice", hash, now.Add(time.Duration(i)*time.Second))
		must(err)
		must(a.addBrowser(ctx, newSecret(), "alice", now.Add(time.Duration(i)*time.Second)))
	}
	for i := range maxGrants + 5 {
		_, err := a.addCode(ctx, last, request(i), now.Add(time.Duration(i)*time.Second))
		must(err)
	}
	for i := range maxConsents + 5 {
		must(a.addConsent(ctx, "alice", request(i), now.Add(time.Duration(i)*time.Second)))
	}
	for table, want := range map[string]int{"sessions": maxSessions, "browsers": maxBrowsers, "grants": maxGrants, "consents": maxConsents} {
		var n int
		if err := a.db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != want {
			t.Errorf("%d %s are remembered (%v), want %d", n, table, err, want)
		}
	}
	if v, err := a.session(ctx, last.cookie, now); err != nil || !v.signedIn() {
		t.Errorf("the newest session is not among those: %+v, %v", v, err)
	}
	if known, err := a.consented(ctx, "alice", request(maxConsents+4)); err != nil || !known {
		t.Errorf("the newest consent is not among those: %v, %v", known, err)
	}
}
