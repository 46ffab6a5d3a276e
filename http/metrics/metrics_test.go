package metrics_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"annals/commands/importer"
	"annals/events"
	"annals/events/memory"
	httpd "annals/http"
	"annals/http/metrics"
	"annals/http/signin/accounts"
	"annals/queries"
)

// lines scrapes m and returns the lines that are not comments.
func lines(t *testing.T, m *metrics.Metrics) map[string]bool {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("metrics = %d %s", w.Code, w.Body)
	}
	all := map[string]bool{}
	for line := range strings.Lines(w.Body.String()) {
		all[strings.TrimSpace(line)] = true
	}
	return all
}

func want(t *testing.T, got map[string]bool, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !got[line] {
			t.Errorf("the scrape has no %s: %v", line, got)
		}
	}
}

func TestAppendsAreMeasured(t *testing.T) {
	m := metrics.New("1.2", slog.New(slog.DiscardHandler))
	log := events.NewLog(m.Driver(memory.New()))
	defer log.Close()
	tag := events.New{Data: events.DocumentTagged{Tags: []string{"secret"}, Version: 2}}
	if _, err := log.Append(t.Context(), "document-a", events.NoStream, events.Cause{}, tag, tag, tag); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), "document-a", 2, events.Cause{}, tag); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), "document-a", events.NoStream, events.Cause{}, tag); err == nil {
		t.Fatal("an append to an existing stream succeeded")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Append(ended, "document-a", 3, events.Cause{}, tag); err == nil {
		t.Fatal("an append with a canceled context succeeded")
	}
	want(t, lines(t, m),
		`annals_log_append_seconds_count 2`, `annals_log_events_appended_total 4`, `annals_info{version="1.2"} 1`,
		`annals_log_append_failures_total{kind="conflict"} 1`, `annals_log_append_failures_total{kind="canceled"} 1`)
}

// reads is a fake of the queries; its fields are the errors to return.
type reads struct{ models, backlog error }

func (r reads) Status(context.Context) ([]queries.Model, error) {
	return []queries.Model{{Name: "vault", Position: 7, Head: 9, Lag: 1500 * time.Millisecond, Parked: 3}, {Name: "passages", Position: 9, Head: 9, Waiting: 20}}, r.models
}

func (r reads) Backlog(context.Context) (queries.Backlog, error) {
	return queries.Backlog{Files: 4, Age: time.Minute}, r.backlog
}

// A scrape omits and logs values that cannot be read, and reports all other values.
func TestScrapeOmitsUnreadableValues(t *testing.T) {
	models := []string{
		`annals_projection_position{projection="vault"} 7`, `annals_projection_head{projection="vault"} 9`, `annals_projection_lag_events{projection="vault"} 2`,
		`annals_projection_lag_seconds{projection="vault"} 1.5`, `annals_projection_parked_events{projection="vault"} 3`,
		`annals_projection_lag_events{projection="passages"} 0`,
	}
	const deferred, files, oldest = "annals_search_documents_waiting 20", "annals_import_files_waiting 4", "annals_import_oldest_file_seconds 60"
	for _, test := range []struct {
		reads reads
		has   []string
		not   []string
	}{
		{reads{}, []string{deferred, files, oldest}, nil},
		{reads{models: errors.New("disk failed")}, []string{files, oldest}, []string{deferred}},
		{reads{backlog: errors.New("disk failed")}, []string{deferred}, []string{files, oldest}},
	} {
		var log strings.Builder
		m := metrics.New("1.2", slog.New(slog.NewTextHandler(&log, nil)))
		m.Follow(test.reads, nil)
		got := lines(t, m)
		want(t, got, models...)
		want(t, got, test.has...)
		for _, line := range test.not {
			if got[line] {
				t.Errorf("the scrape of %+v has %s", test.reads, line)
			}
		}
		if faulty := test.reads != (reads{}); faulty != strings.Contains(log.String(), "disk failed") {
			t.Errorf("logged %q with %+v", log.String(), test.reads)
		}
	}
}

// Steps with unknown names are counted in the series "other". Reader processes could otherwise
// create any number of series.
func TestUnknownStepsShareASeries(t *testing.T) {
	m := metrics.New("1.2", slog.New(slog.DiscardHandler))
	for _, step := range []string{"reading", "page 1", "page 2"} {
		m.Step(step, time.Second)
	}
	m.Request(httpd.Answered{Route: "/vault/documents/{id}", Method: "GET", Status: 404, Took: time.Second})
	want(t, lines(t, m),
		`annals_import_step_seconds_count{step="reading"} 1`, `annals_import_step_seconds_count{step="other"} 2`,
		`annals_http_request_seconds_count{method="GET",route="/vault/documents/{id}",status="404"} 1`,
		`annals_http_request_seconds_sum{method="GET",route="/vault/documents/{id}",status="404"} 1`)
}

// The outcomes of imports and sign-ins are counted. Their series exist from the start with the
// value 0.
func TestOutcomesAreCounted(t *testing.T) {
	m := metrics.New("1.2", slog.New(slog.DiscardHandler))
	want(t, lines(t, m), `annals_import_files_total{outcome="fault"} 0`, `annals_signins_total{outcome="failed"} 0`,
		`annals_log_append_failures_total{kind="unavailable"} 0`, `annals_readers_up 0`)
	for _, o := range []importer.Outcome{importer.Imported, importer.Failed, importer.Faulted, importer.Requeued, "else"} {
		m.FileEnded(string(o))
	}
	for _, k := range []accounts.EventKind{accounts.SignedIn, accounts.SignInFailed, accounts.SignInFailed, accounts.SignInRefused, accounts.ProgramMisused, accounts.SignedOut} {
		m.SignIn(string(k))
	}
	m.ReaderDied()
	m.Readers(true, 2)
	got := lines(t, m)
	want(t, got, `annals_import_files_total{outcome="imported"} 1`, `annals_import_files_total{outcome="failed"} 1`, `annals_import_files_total{outcome="fault"} 1`,
		`annals_import_files_total{outcome="given_back"} 1`, `annals_signins_total{outcome="signed_in"} 1`, `annals_signins_total{outcome="failed"} 2`,
		`annals_signins_total{outcome="refused"} 1`, `annals_signins_total{outcome="program_misused"} 1`, `annals_readers_died_total 1`, `annals_readers_up 1`, `annals_readers_lacking 2`)
	for line := range got {
		if strings.Contains(line, "else") || strings.Contains(line, "signed out") {
			t.Errorf("the scrape has %s, which is not an outcome", line)
		}
	}
}
