package http_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"annals/events/fault"
	httpd "annals/http"
	"annals/queries"
)

// A failed readiness probe is logged at level debug while read models catch up, and at level
// error in all other cases.
func TestFailedProbesAreLogged(t *testing.T) {
	for level, cause := range map[slog.Level]error{
		slog.LevelDebug: fault.Errorf(fault.Unavailable, "the read model vault is at position 3 of 9"),
		slog.LevelError: errors.New("disk failed"),
	} {
		var log bytes.Buffer
		s := start(t, func(h *httpd.Server) {
			h.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		s.library.fail = cause
		reply := httptest.NewRecorder()
		s.server.Handler().ServeHTTP(reply, httptest.NewRequest("GET", "/readyz", nil))
		if reply.Code < 500 {
			t.Fatalf("readyz = %d %s", reply.Code, reply.Body)
		}
		got := log.String()
		if !strings.Contains(got, cause.Error()) || strings.Contains(got, "level=ERROR") != (level == slog.LevelError) {
			t.Errorf("%v is logged as %s, want level %v", cause, got, level)
		}
	}
}

// A request that fails because the server is busy, or something that it needs unreachable, is a
// warning in the log, and a failure of the server an error.
func TestFailedRequestsAreLogged(t *testing.T) {
	for status, cause := range map[int]error{
		503: fault.Errorf(fault.Unavailable, "too many other pages are being shown: try again"),
		500: errors.New("disk failed"),
	} {
		var log bytes.Buffer
		s := start(t, func(h *httpd.Server) {
			h.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		s.library.fail = cause
		resp, body := s.do("GET", "/vault/tags", "")
		if resp.StatusCode != status || (resp.Header.Get("Retry-After") != "") != (status == 503) {
			t.Fatalf("GET = %d %s, want %d", resp.StatusCode, body, status)
		}
		level := map[int]string{503: "level=WARN", 500: "level=ERROR"}[status]
		if got := log.String(); !strings.Contains(got, level) || !strings.Contains(got, cause.Error()) {
			t.Errorf("%v is logged as %s, want %s", cause, got, level)
		}
	}
}

// GET /readyz reports the state of every read model and the number of documents that wait for
// indexing.
func TestReadinessNamesReadModels(t *testing.T) {
	s := start(t, nil)
	s.library.models = []queries.Model{{Name: "vault", Position: 7, Head: 9}, {Name: "passages", Position: 9, Head: 9, Waiting: 20_000}}
	const models = `"read_models":[{"name":"vault","position":7,"head":9,"waiting":0},{"name":"passages","position":9,"head":9,"waiting":20000}]`
	resp, body := s.do("GET", "/readyz", "")
	s.want(resp, body, 200, `{"status":"ready","scans_unread":"",`+models+`}`)
	s.library.notReady = fault.Errorf(fault.Unavailable, "the read model vault is at position 7 of 9")
	resp, body = s.do("GET", "/readyz", "")
	s.want(resp, body, 503, `{"detail":"the read model vault is at position 7 of 9","scans_unread":"",`+models+`}`)
}

// If the log is unreachable, GET /readyz still replies 200, because reads are possible. It
// reports the outage, and omits the head of the log.
func TestReadinessReportsUnreachableLog(t *testing.T) {
	s := start(t, nil)
	s.library.models = []queries.Model{{Name: "vault", Position: 7, HeadUnknown: true}}
	s.library.noStatus = fault.Errorf(fault.Unavailable, "the log does not respond at the moment")
	resp, body := s.do("GET", "/readyz", "")
	s.want(resp, body, 200, `{"status":"ready","away":"the log does not respond at the moment","scans_unread":"","read_models":[{"name":"vault","position":7,"waiting":0}]}`)
}
