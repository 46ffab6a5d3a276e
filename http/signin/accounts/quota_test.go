package accounts_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

func TestQuota(t *testing.T) {
	store := accountstest.Open(t, t.TempDir())
	accountstest.AddUser(t, store, accounts.NewAccount{Name: "ada"})
	want := func(want map[string]int64) {
		t.Helper()
		if got, err := store.Quota(t.Context(), "user:ada"); err != nil || !maps.Equal(got, want) {
			t.Errorf("Quota = %v, %v; want %v", got, err, want)
		}
	}
	want(nil)
	if _, err := store.ChangeQuota(t.Context(), "ada", map[string]int64{"bytes": 5, "folders": 0}, nil); err != nil {
		t.Fatal(err)
	}
	want(map[string]int64{"bytes": 5, "folders": 0})
	if now, err := store.ChangeQuota(t.Context(), "ada", map[string]int64{"shares": 1}, []string{"bytes"}); err != nil || len(now) != 2 {
		t.Errorf("ChangeQuota = %v, %v; want two limits", now, err)
	}
	want(map[string]int64{"folders": 0, "shares": 1})
	for _, other := range []string{"user:corp/ada", "group:ada", "user:ADA"} {
		if got, err := store.Quota(t.Context(), events.Principal(other)); err != nil || len(got) > 0 {
			t.Errorf("Quota(%s) = %v, %v; want none", other, got, err)
		}
	}
	if _, err := store.ChangeQuota(t.Context(), "eve", map[string]int64{"bytes": 1}, nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("ChangeQuota of an unknown user: %v, want NotFound", err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := store.ChangeQuota(t.Context(), "ada", map[string]int64{fmt.Sprint(i): 1}, []string{"folders", "shares"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, _ := store.Quota(t.Context(), "user:ada"); len(got) != 8 {
		t.Errorf("after 8 concurrent changes the limits are %v, want 8", got)
	}
}
