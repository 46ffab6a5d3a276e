package throttle

import (
	"fmt"
	"testing"
	"time"

	"annals/http/signin/accounts/accountstest"
)

func TestTake(t *testing.T) {
	c := accountstest.NewClock()
	th := New(Limits{Free: 2, First: time.Hour, Longest: time.Hour, Quiet: 24 * time.Hour}, c.Now)
	if a, b, d := th.Take("x"), th.Take("x"), th.Take("x"); a != 0 || b != 0 || d == 0 {
		t.Errorf("three attempts wait %v, %v and %v, want only the third to wait", a, b, d)
	}
	if wait := th.Take("y"); wait != 0 {
		t.Errorf("the first attempt of another key waits %v, want 0", wait)
	}
	th.Refund("x")
	if a, b := th.Take("x"), th.Take("x"); a != 0 || b == 0 {
		t.Errorf("after a refund two attempts wait %v and %v, want only the second to wait", a, b)
	}
	c.Advance(25 * time.Hour)
	if a, b := th.Take("x"), th.Take("x"); a != 0 || b != 0 {
		t.Errorf("after Quiet without attempts two attempts wait %v and %v, want 0", a, b)
	}
}

func TestKeysAreBounded(t *testing.T) {
	c := accountstest.NewClock()
	th := New(Limits{Free: 5, First: time.Second, Longest: time.Minute, Quiet: 15 * time.Minute}, c.Now)
	for i := range maxKeys + 100 {
		th.Take(fmt.Sprint(i))
	}
	if len(th.keys) != maxKeys {
		t.Errorf("the throttle has %d keys, want %d", len(th.keys), maxKeys)
	}
	c.Advance(time.Hour)
	th.Take("new")
	if len(th.keys) != 1 {
		t.Errorf("the throttle has %d keys after an hour, want 1", len(th.keys))
	}
}
