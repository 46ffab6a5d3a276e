package accounts_test

import (
	"testing"
	"time"

	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

func TestOpenRejectsClockSkew(t *testing.T) {
	now := time.Now()
	for off, ok := range map[time.Duration]bool{0: true, 20 * time.Second: true, -20 * time.Second: true, time.Minute: false, -time.Minute: false} {
		if err := accounts.CompareClocks(now, now.Add(off), now.Add(time.Millisecond)); (err == nil) != ok {
			t.Errorf("CompareClocks with clocks %v apart = %v, want success: %v", off, err, ok)
		}
	}
}

func TestUnreachableDatabaseIsUnavailable(t *testing.T) {
	store, l := accountstest.OpenThroughProxy(t)
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "alice"})
	for _, state := range []string{"cut", "silent"} {
		if _, found, err := store.Bearer(t.Context(), "alice", "key", "", time.Now()); err != nil || !found {
			t.Fatalf("before the connection is %s: %t, %v", state, found, err)
		}
		if state == "silent" {
			store.SetTimeout(200 * time.Millisecond)
		}
		l.Set(state)
		_, _, err := store.Bearer(t.Context(), "alice", "key", "", time.Now())
		accountstest.WantKind(t, "a prepared lookup while the connection is "+state, err, fault.Unavailable)
		_, err = store.Get(t.Context(), "alice")
		accountstest.WantKind(t, "Get while the connection is "+state, err, fault.Unavailable)
		store.SetTimeout(30 * time.Second)
		l.Set("")
	}
	if _, found, err := store.Bearer(t.Context(), "alice", "key", "", time.Now()); err != nil || !found {
		t.Errorf("Bearer after the connection was restored = %t, %v; want true", found, err)
	}
}
