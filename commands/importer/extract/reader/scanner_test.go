package reader

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"annals/events/fault"
)

// A warning does not tell the owner of a file how the server works.
func TestWarningsHideFaultsOfTheService(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("fork/exec /opt/annals: resource temporarily unavailable"), "Recognising text failed on 1 of the pages: the log of the server says why."},
		{fault.Errorf(fault.Invalid, "page 3 took too long"), "Recognising text failed on 1 of the pages: page 3 took too long."},
	} {
		var log strings.Builder
		s := &scanner{recogniser: &recogniser{OCR: OCR{Logger: slog.New(slog.NewTextHandler(&log, nil))}}}
		s.fail(test.err)
		if got := s.warnings(1); len(got) != 1 || got[0] != test.want {
			t.Errorf("after %v: warnings %q, want %q", test.err, got, test.want)
		}
		if logged := strings.Contains(log.String(), test.err.Error()); logged != strings.Contains(test.want, "log") {
			t.Errorf("after %v: the log has %q", test.err, log.String())
		}
	}
}

// A process that waits for pages to be recognised is not silent, however long that takes.
func TestSilenceIsWithoutWaitingForPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{scans: &scanner{}}
		time.Sleep(time.Hour)
		silent := s.silence()
		want := func(d time.Duration) {
			t.Helper()
			if got := silent(); got != d {
				t.Errorf("silent for %v, want %v", got, d)
			}
		}
		time.Sleep(time.Second)
		want(time.Second)
		s.scans.begin(1)
		time.Sleep(time.Hour)
		want(time.Second)
		s.scans.end()
		time.Sleep(time.Second)
		want(2 * time.Second)
	})
}

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
