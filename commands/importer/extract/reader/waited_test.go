package reader

import (
	"testing"
	"testing/synctest"
	"time"
)

// The time in which pages are recognised is known exactly, also if several are at a time, and
// after the last one.
func TestWaitedForPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scanner{}
		want := func(d time.Duration) {
			t.Helper()
			if got := s.waited(); got != d {
				t.Errorf("waited %v, want %v", got, d)
			}
		}
		time.Sleep(time.Second)
		want(0)
		s.begin(1)
		time.Sleep(time.Second)
		s.begin(2)
		time.Sleep(time.Second)
		want(2 * time.Second)
		s.end()
		time.Sleep(time.Second)
		s.end()
		time.Sleep(time.Second)
		want(3 * time.Second)
		s.begin(3)
		time.Sleep(time.Second)
		s.end()
		want(4 * time.Second)
	})
}
