package accounts_test

import (
	"testing"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

// When a password is changed, everything that another node creates concurrently for the user
// ends too: a session, the code of a session, the decision on a device, and the grant of an
// allowed device.
func TestPasswordChangeEndsConcurrentSignIns(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	store, other := accountstest.Open(t, dir), accountstest.Open(t, dir)
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "alice"})
	db := accountstest.OpenDB(t, dir)
	now := time.Now()
	to := accounts.Grant{User: "alice", Client: "annals-cli", Redirect: "http://127.0.0.1/callback", Audience: "annals"}
	for range 25 {
		_, hash, err := store.CheckPassword(ctx, accounts.CommandCaller, "alice", "correct horse")
		if err != nil {
			t.Fatal(err)
		}
		cookie := accounts.NewSecret()
		var codes [2][2]string // device code and user code of two devices; the first is allowed and the second redeemed during the change
		_, err = store.BeginSession(ctx, cookie, "alice", hash, now)
		for i := range codes {
			codes[i] = [2]string{accounts.NewSecret(), accounts.NewUserCode()}
			if err == nil {
				_, err = store.AddDevice(ctx, accounts.Device{Client: "annals-cli", Audience: "annals"}, codes[i][0], codes[i][1], "192.0.2.1", now)
			}
		}
		if err == nil {
			_, err = store.DecideDevice(ctx, codes[1][1], "allow", cookie, now)
		}
		if err != nil {
			t.Fatal(err)
		}
		newHash, err := accounts.HashPassword(ctx, "correct horse")
		if err != nil {
			t.Fatal(err)
		}
		accountstest.AtOnce(t,
			func() (bool, error) {
				return true, store.Change(ctx, "alice", `password = $2`, newHash)
			},
			func() (bool, error) { return other.BeginSession(ctx, accounts.NewSecret(), "alice", hash, now) },
			func() (bool, error) {
				code, err := other.AddCode(ctx, cookie, to, now)
				return code != "", err
			},
			func() (bool, error) { return other.DecideDevice(ctx, codes[0][1], "allow", cookie, now) },
			func() (bool, error) {
				refresh, err := other.RedeemDevice(ctx, codes[1][0], &accounts.Grant{User: "alice", Client: "annals-cli", Authenticated: now}, now)
				return refresh != "", err
			},
		)
		for _, table := range []string{"sessions", "grants", "devices"} {
			var left int
			if err := db.QueryRow(`SELECT count(*) FROM ` + table + ` WHERE "user" = 'alice'`).Scan(&left); err != nil || left > 0 {
				t.Fatalf("after the password change %d %s are left (%v), want none", left, table, err)
			}
		}
	}
}
