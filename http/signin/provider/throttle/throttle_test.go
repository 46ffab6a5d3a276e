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
		t.Errorf("three tries at once wait %v, %v and %v", a, b, d)
	}
	if th.Take("y") != 0 {
		t.Error("one key waits for another")
	}
	th.Refund("x")
	if a, b := th.Take("x"), th.Take("x"); a != 0 || b == 0 {
		t.Errorf("after one was given back two tries wait %v and %v", a, b)
	}
	c.Advance(25 * time.Hour)
	if a, b := th.Take("x"), th.Take("x"); a != 0 || b != 0 {
		t.Errorf("a key that was quiet waits %v and %v", a, b)
	}
}

func TestKeysAreBounded(t *testing.T) {
	c := accountstest.NewClock()
	th := New(Limits{Free: 5, First: time.Second, Longest: time.Minute, Quiet: 15 * time.Minute}, c.Now)
	for i := range maxKeys + 100 {
		th.Take(fmt.Sprint(i))
	}
	if len(th.keys) != maxKeys {
		t.Errorf("%d keys are remembered, want %d", len(th.keys), maxKeys)
	}
	c.Advance(time.Hour)
	th.Take("new")
	if len(th.keys) != 1 {
		t.Errorf("%d keys are remembered after an hour, want 1", len(th.keys))
	}
}
