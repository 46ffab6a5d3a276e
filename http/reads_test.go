package http_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/commands/quota"
	"annals/events"
	httpd "annals/http"
	"annals/http/metrics"
	"annals/http/ratelimit"
)

// spent returns a limiter that allows each user except administrators one read, and refuses
// all further reads.
func spent(refuse func(string)) *ratelimit.Limiter {
	return &ratelimit.Limiter{Refuse: refuse, Limits: func(_ context.Context, u events.User) (quota.Limits, error) {
		if u.Admin {
			return quota.Limits{}, nil
		}
		return quota.Limits{quota.Search: int64(10 * time.Millisecond)}, nil
	}}
}

// A user who has used up the read time receives 429 from every route that is charged, in the
// error format of that route's service. Free routes still work.
func TestReadsBeyondLimit(t *testing.T) {
	s := startStack(t, func(h *httpd.Server) { h.Reads = spent(h.Metrics.(*metrics.Metrics).Refuse) })
	folder := s.makeFolder("", "F")
	const none = "7d9bb1f8-9c2f-4c3a-9d5e-0c9c8b7a6d5e"
	if resp, body := s.do("GET", "/vault/tags", ""); resp.StatusCode != 200 {
		t.Fatalf("the first read = %d %s", resp.StatusCode, body)
	}
	charged := []string{
		"POST /core/search", "POST /core/ask", "GET /core/jobs", "GET /core/answers", "GET /core/admin/projections", "GET /core/admin/parked", "GET /core/admin/events", "GET /core/admin/users", "GET /core/admin/groups", "GET /core/admin/figures", "GET /core/answers/" + none, "GET /core/folders/summary?folder_name=F",
		"GET /vault/folders", "GET /vault/folders/" + folder, "GET /vault/folders/" + folder + "/permissions", "GET /vault/documents", "POST /vault/documents/batch",
		"GET /vault/documents/" + none, "GET /vault/documents/" + none + "/markdown", "GET /vault/documents/" + none + "/tags",
		"GET /vault/documents/" + none + "/versions", "GET /vault/documents/" + none + "/versions/1", "GET /vault/documents/" + none + "/versions/1/markdown", "GET /vault/documents/" + none + "/pages/1.png", "GET /vault/documents/" + none + "/pages/1/words",
		"GET /vault/documents/" + none + "/versions/1/pages/1.png", "GET /vault/documents/" + none + "/versions/1/pages/1/words", "GET /vault/tags", "GET /vault/audit", "GET /vault/invitations", "GET /vault/invitations/blocked",
	}
	free := []string{"GET /core/jobs/{job_id}", "GET /core/jobs/{job_id}/events", "GET /core/formats", "GET /vault/me", "GET /vault/usage", "GET /vault/documents/{id}.{ext}", "GET /vault/documents/{id}/content", "GET /vault/documents/{id}/versions/{version}/content",
		"GET /core/openapi.yaml", "GET /vault/openapi.yaml"}
	for _, route := range routesOf(t, s.server) {
		known := slices.ContainsFunc(charged, func(request string) bool { return routeOf(request) == route })
		services := strings.Contains(route, " /core/") || strings.Contains(route, " /vault/")
		if services && !changes(route) && !known && !slices.Contains(free, route) {
			t.Errorf("%s reads and is charged to nobody: meter it in http/routes.go and add it to charged in http/reads_test.go, or add it to free there", route)
		}
	}
	for _, route := range charged {
		method, path, _ := strings.Cut(route, " ")
		question := `{"query":"notice"}`
		if strings.HasSuffix(path, "/batch") {
			question = `{"ids":["` + none + `"]}`
		}
		resp, body := s.do(method, path, question)
		after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if resp.StatusCode != 429 || err != nil || after < 1 || !strings.Contains(body, "10ms of time") ||
			!strings.Contains(body, fmt.Sprintf(`"rate_limit":{"limit":"search","retry_after":%d}`, after)) {
			t.Errorf("%s = %d %s, Retry-After %q", route, resp.StatusCode, body, resp.Header.Get("Retry-After"))
		}
		if vault := strings.Contains(path, "/vault/"); vault != strings.Contains(body, `"statusCode":429`) || vault == strings.Contains(body, `{"detail":"`) {
			t.Errorf("%s = %s, which is not in the service's dialect", route, body)
		}
		if resp, _ := s.do(method, path, `{"query":"notice","ids":["`+none+`"]}`, "Authorization", "Bearer admin"); resp.StatusCode == 429 {
			t.Errorf("%s by an administrator = 429", route)
		}
	}
	for path, want := range map[string]int{"/core/jobs/" + none: 404, "/vault/documents/" + none + "/content": 404, "/readyz": 200} {
		if resp, body := s.do("GET", path, ""); resp.StatusCode != want {
			t.Errorf("%s = %d %s", path, resp.StatusCode, body)
		}
	}
	_, body := s.do("GET", "/metrics", "")
	if want := "annals_quota_refusals_total{limit=\"search\"} " + strconv.Itoa(len(charged)); !slices.Contains(strings.Split(body, "\n"), want) {
		t.Errorf("the metrics have no %s", want)
	}
}

// The length of a question is limited.
func TestQuestionLengthIsLimited(t *testing.T) {
	s := startStack(t)
	for _, n := range []int{100_001, 1_000_000} {
		for _, path := range []string{"/core/search", "/core/ask"} {
			if resp, body := s.do("POST", path, `{"query":"`+strings.Repeat("a", n)+`"}`); resp.StatusCode != 422 || !strings.Contains(body, "at most 100000 characters") {
				t.Errorf("question of %d characters to %s = %d %.300s", n, path, resp.StatusCode, body)
			}
		}
	}
}

func TestRepeatedRefusalsAreDelayed(t *testing.T) {
	s := startStack(t, func(h *httpd.Server) { h.Reads, h.Brake = spent(nil), new(ratelimit.Brake) })
	began := time.Now()
	refused := 0
	for refused < 22 {
		if resp, _ := s.do("GET", "/vault/tags", ""); resp.StatusCode == 429 {
			refused++
		}
		if refused < 20 && time.Since(began) > 20*time.Second {
			t.Skip("this machine is too slow to measure the delay")
		}
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("22 refusals took %s, want at least 1 s", took)
	}
	quickest := time.Hour // of several, since this machine may be busy
	for range 5 {
		began = time.Now()
		if resp, _ := s.do("GET", "/vault/tags", "", "Authorization", "Bearer admin"); resp.StatusCode != 200 {
			t.Errorf("GET by another user = %d", resp.StatusCode)
		}
		quickest = min(quickest, time.Since(began))
	}
	if quickest > 900*time.Millisecond {
		t.Errorf("GET by another user takes %s, want no delay", quickest)
	}
}
