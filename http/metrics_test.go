package http_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"annals/events"
	httpd "annals/http"
	"annals/projections/readmodel"
	"annals/queries"

	"github.com/google/uuid"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// tally counts the requests that a client sent, and waits until the server has observed them.
type tally struct {
	http.RoundTripper
	mu       sync.Mutex
	sent     map[string]float64 // keyed by method and status
	answered chan struct{}
}

func (c *tally) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sent[fmt.Sprint(r.Method, " ", resp.StatusCode)]++
	}
	return resp, err
}

// settle waits until the server has observed every request.
func (c *tally) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.sent {
		for range int(n) {
			<-c.answered
		}
	}
}

// startTallied is startStack with a client that counts its requests.
func startTallied(t *testing.T) (*service, *tally) {
	c := &tally{sent: map[string]float64{}, answered: make(chan struct{}, 100_000)}
	s := startStack(t, func(h *httpd.Server) {
		observe := h.Observe
		h.Observe = func(a httpd.Answered) {
			observe(a)
			c.answered <- struct{}{}
		}
	})
	c.RoundTripper, s.client.Transport = s.client.Transport, c
	return s, c
}

// scraped is the result of one scrape.
type scraped map[string]*dto.MetricFamily

// scrape reads the metrics. The tally does not count this request.
func (s *service) scrape() (text string, all scraped) {
	s.Helper()
	resp, err := http.Get(s.url + "/metrics")
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		s.Fatalf("metrics = %d %s (%v)", resp.StatusCode, b, err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	if all, err = parser.TextToMetricFamilies(bytes.NewReader(b)); err != nil {
		s.Fatalf("metrics cannot be parsed: %v\n%s", err, b)
	}
	return string(b), all
}

// sum groups the series of a metric by the values of the given labels. It returns the sum of
// the values of each group; for a histogram, the sum of the counts.
func (m scraped) sum(name string, labels ...string) map[string]float64 {
	sums := map[string]float64{}
	for _, one := range m[name].GetMetric() {
		of := map[string]string{}
		for _, l := range one.GetLabel() {
			of[l.GetName()] = l.GetValue()
		}
		var key []string
		for _, l := range labels {
			key = append(key, of[l])
		}
		sums[strings.Join(key, " ")] += one.GetGauge().GetValue() + one.GetCounter().GetValue() + float64(one.GetHistogram().GetSampleCount())
	}
	return sums
}

func (m scraped) value(name string) float64 { return m.sum(name)[""] }

// The metrics of requests, imports and refusals match the requests that the client sent.
func TestMetricsCountRequests(t *testing.T) {
	s, client := startTallied(t)
	resp, body := s.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"Staff"},{"folder_name":"Staff"},{"folder_name":"Staff"}]`)
		addFile(w, "handbook.md", handbook)
		addFile(w, "note.txt", "The office closes at noon on Fridays.\n")
		addFile(w, "broken.docx", "no archive")
	})
	if resp.StatusCode != 200 {
		t.Fatalf("import = %d %s", resp.StatusCode, body)
	}
	job := s.finish(decode[jobReply](t, body).JobID)
	for range 3 {
		s.do("GET", "/vault/documents/"+uuid.NewString(), "")
	}
	s.do("GET", "/vault/documents/"+job.Results[0].DocumentID, "")
	s.do("GET", "/documents/"+job.Results[0].DocumentID+".md", "")
	for range 2 {
		s.do("POST", "/core/search", `{"query":"notice period"}`)
	}
	s.do("GET", "/secret/"+uuid.NewString(), "")
	s.do("BREW", "/vault/folders", "")
	client.settle()
	head := s.settleModels()

	_, got := s.scrape()
	if requests := got.sum("annals_http_request_seconds", "method", "status"); !maps.Equal(renamed(client.sent, "BREW", "other"), requests) {
		t.Errorf("requests %v, sent %v", requests, client.sent)
	}
	wantAll(t, got.sum("annals_http_request_seconds", "route", "method", "status"), map[string]float64{
		"/vault/documents/{id} GET 404": 3, "/vault/documents/{id} GET 200": 1, "/documents/{id}.{ext} GET 200": 1,
		"/core/search POST 200": 2, "/core/ingest POST 200": 1, "none GET 404": 1, "none other 405": 1,
	})
	wantAll(t, got.sum("annals_import_step_seconds", "step"), map[string]float64{"reading": 3, "splitting": 2, "summarising": 2, "filing": 2})
	if n := float64(len(s.events())); got.value("annals_log_events_appended_total") != n || got.value("annals_log_append_seconds") < 5 || got.value("annals_log_append_seconds") > n {
		t.Errorf("%v events in %v appends, want %v events", got.value("annals_log_events_appended_total"), got.value("annals_log_append_seconds"), n)
	}
	for _, m := range readmodel.Names() {
		for name, want := range map[string]float64{"position": head, "head": head, "lag_events": 0, "lag_seconds": 0, "parked_events": 0} {
			if value, ok := got.sum("annals_projection_"+name, "projection")[m]; !ok || value != want {
				t.Errorf("%s of %s = %v (%v), want %v", name, m, value, ok, want)
			}
		}
	}
	for name, least := range map[string]float64{
		"annals_search_documents_waiting": 0, "annals_import_files_waiting": 0, "annals_import_oldest_file_seconds": 0,
		"go_goroutines": 5, "process_start_time_seconds": 1e9, "annals_info": 1,
	} {
		if value, ok := got.sum(name)[""]; !ok || value < least || least == 0 && value > 0 {
			t.Errorf("%s = %v (%v), want %v", name, value, ok, least)
		}
	}
}

// Metrics contain no names or ids of users, folders and documents, and have few series.
func TestMetricsRevealNoContent(t *testing.T) {
	s, client := startTallied(t)
	id := s.file("Staff/Payroll", "handbook.md", handbook, "hr")
	folder := s.folderOf(id)
	for _, path := range []string{
		"/vault/documents/" + id, "/vault/folders/" + folder, "/vault/documents/" + id + "/versions/1", "/vault/documents/" + id + "/content",
		"/documents/" + id + ".md", "/vault/documents?folderId=" + folder, "/core/folders/summary?folder_name=Staff/Payroll", "/nowhere/" + id,
	} {
		for range 2 {
			s.do("GET", path, "")
			s.do("GET", path, "", "Authorization", "Bearer bob")
		}
	}
	client.settle()
	text, all := s.scrape()
	for _, secret := range []string{id, folder, "Staff", "Payroll", "handbook", "hr\"", "alice", "bob", "user:", "nowhere"} {
		if strings.Contains(text, secret) {
			t.Errorf("metrics reveal %q:\n%s", secret, text)
		}
	}
	anID := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}|[0-9a-f]{32}`)
	known := []string{"projection", "step", "limit", "route", "method", "status", "kind", "version", "quantile", "outcome", "direction", "use"}
	series := 0
	for name, family := range all {
		for _, m := range family.GetMetric() {
			series++
			for _, l := range m.GetLabel() {
				if !slices.Contains(known, l.GetName()) || anID.MatchString(l.GetValue()) {
					t.Errorf("%s has the label %s=%q", name, l.GetName(), l.GetValue())
				}
			}
		}
	}
	if series > 200 {
		t.Errorf("%d series", series)
	}
}

// settleModels waits until every read model has applied the whole log. It returns the head of
// the log.
func (s *service) settleModels() float64 {
	s.Helper()
	head, err := s.log.Head(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, m := range s.server.Queries.(*queries.Queries).Models.All() {
		if err := m.Wait(s.Context(), head); err != nil {
			s.Fatal(err)
		}
	}
	return float64(head)
}

// events returns all events in the log.
func (s *service) events() (all []events.Event) {
	s.Helper()
	for at := events.Position(0); ; {
		batch, through, err := s.log.Read(context.Background(), at, 1000)
		if err != nil {
			s.Fatal(err)
		}
		if through == at {
			return all
		}
		all, at = append(all, batch...), through
	}
}

// renamed returns counts with a word replaced in each key.
func renamed(counts map[string]float64, word, by string) map[string]float64 {
	out := map[string]float64{}
	for key, n := range counts {
		out[strings.Replace(key, word, by, 1)] += n
	}
	return out
}

// wantAll checks that got contains all entries of want. It may contain more.
func wantAll(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for key, n := range want {
		if got[key] != n {
			t.Errorf("%s: %v, want %v, among %v", key, got[key], n, got)
		}
	}
}
