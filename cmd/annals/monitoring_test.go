package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// alert is an alerting rule in deploy/alerts.yaml.
type alert struct {
	Alert, Expr string
	For         model.Duration
	Labels      map[string]string
	Annotations map[string]string
}

func deployedAlerts(t *testing.T) []alert {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(deployed(t, "alerts.yaml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatalf("alerts.yaml: %v", err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) < 10 {
		t.Fatalf("alerts.yaml has the groups %+v", file.Groups)
	}
	return file.Groups[0].Rules
}

// dashboardQueries returns the queries of the dashboard by panel title.
func dashboardQueries(t *testing.T) map[string][]string {
	t.Helper()
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int } `json:"gridPos"`
			Targets []struct{ Expr string }
		}
		Annotations struct {
			List []struct{ Name, Expr string }
		}
	}
	if err := json.Unmarshal([]byte(deployed(t, "dashboard.json")), &board); err != nil {
		t.Fatalf("dashboard.json: %v", err)
	}
	queries, ids := map[string][]string{}, map[int]bool{}
	for i, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels of the dashboard have the id %d", p.ID)
		}
		ids[p.ID] = true
		for _, q := range board.Panels[:i] {
			a, b := p.GridPos, q.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("the panels %q and %q overlap", p.Title, q.Title)
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			queries[p.Title] = append(queries[p.Title], target.Expr)
		}
	}
	for _, a := range board.Annotations.List {
		queries[a.Name] = append(queries[a.Name], a.Expr)
	}
	return queries
}

// series lists the values of each label of each metric: metric name, label name,
// values.
type series map[string]map[string]map[string]bool

func parseSeries(t *testing.T, text []byte) series {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all := series{"up": {}} // Prometheus adds this metric
	add := func(name, label, value string) {
		if all[name] == nil {
			all[name] = map[string]map[string]bool{}
		}
		if all[name][label] == nil {
			all[name][label] = map[string]bool{}
		}
		all[name][label][value] = true
	}
	for name, family := range families {
		names := []string{name}
		if family.GetType().String() == "HISTOGRAM" {
			names = []string{name + "_bucket", name + "_sum", name + "_count"}
			add(names[0], "le", "")
		}
		for _, m := range family.Metric {
			for _, n := range names {
				add(n, "", "")
				for _, l := range m.Label {
					add(n, l.GetName(), l.GetValue())
				}
			}
		}
	}
	return all
}

// check fails the test for metrics and labels in the PromQL expression expr that s
// lacks. where names the expression in errors.
func (s series) check(t *testing.T, where, expr string) {
	t.Helper()
	expr = strings.NewReplacer("$__rate_interval", "5m", "$job", "annals").Replace(expr)
	parsed, err := metricsql.Parse(expr)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	var names []string // metrics in the part of the expression that is visited
	label := func(l string) {
		if l == "job" || l == "instance" { // Prometheus adds these
			return
		}
		for _, name := range names {
			if s[name] != nil && s[name][l] == nil {
				t.Errorf("%s: %s has no label %s", where, name, l)
			}
		}
	}
	metrics := 0
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			for _, filters := range e.LabelFilterss {
				metrics++
				names = []string{filters[0].Value}
				if filters[0].Label != "__name__" || s[names[0]] == nil {
					t.Errorf("%s asks for %s, which a running service does not have", where, e.AppendString(nil))
				}
				for _, f := range filters[1:] {
					label(f.Label)
					if !s.some(names[0], f) {
						t.Errorf("%s: nothing that %s has is %s", where, names[0], e.AppendString(nil))
					}
				}
			}
		case *metricsql.AggrFuncExpr: // the walk has already visited its arguments
			for _, l := range e.Modifier.Args {
				label(l)
			}
		}
	})
	if metrics == 0 {
		t.Errorf("%s asks for no metric: %s", where, expr)
	}
}

// some reports whether s has a series that matches a label filter. It returns true if
// that cannot be decided: s lacks some values, such as a status 5xx, because a healthy
// server never has them.
func (s series) some(name string, f metricsql.LabelFilter) bool {
	values := s[name][f.Label]
	if f.Label == "job" || f.IsNegative || values == nil || f.Label == "status" {
		return true
	}
	if !f.IsRegexp {
		return values[f.Value]
	}
	match := regexp.MustCompile("^(?:" + f.Value + ")$")
	for v := range values {
		if match.MatchString(v) {
			return true
		}
	}
	return false
}

// All metrics in alerts and in the dashboard must exist, if possible as soon as a
// server has started. An alert on a metric that does not exist never fires.
func TestAlertsAndDashboardUseKnownMetrics(t *testing.T) {
	server, err := startServer(t.TempDir(), nil, "--data", "d")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	}()
	token, err := issueToken(filepath.Join(server.command.Dir, "d"), "admin")
	if err != nil {
		t.Fatal(err)
	}
	server.importAndSearch(t, token)

	got, err := http.Get(server.base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := parseSeries(t, text)
	for line, want := range map[string]string{
		"one file is imported":   "\nannals_import_files_total{outcome=\"imported\"} 1\n",
		"one file fails":         "\nannals_import_files_total{outcome=\"failed\"} 1\n",
		"readers can be started": "\nannals_readers_up 1\n",
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s, but there is no line %q in\n%s", line, strings.TrimSpace(want), regexp.MustCompile(`(?m)^annals_(import_files|readers).*$`).FindAll(text, -1))
		}
	}

	names := map[string]bool{}
	for _, a := range deployedAlerts(t) {
		if names[a.Alert] || a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Labels["severity"] == "" {
			t.Errorf("the alert %q comes twice, or has no severity, summary or description", a.Alert)
		}
		names[a.Alert] = true
		all.check(t, a.Alert, a.Expr)
	}
	for panel, queries := range dashboardQueries(t) {
		for _, q := range queries {
			all.check(t, "the panel "+panel, q)
		}
	}
}

// importAndSearch imports a valid file and a file that cannot be read, and sends a
// search.
func (p *serverProcess) importAndSearch(t *testing.T, token string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, content := range map[string]string{"a.md": "# Lamps\n\nLamps burn oil.\n", "b.docx": "no archive"} {
		part, err := form.CreateFormFile("files", name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, content)
	}
	form.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", p.base+"/core/ingest?stream=true", &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if stream, err := io.ReadAll(resp.Body); err != nil || !bytes.Contains(stream, []byte(`"complete"`)) {
		t.Fatalf("the import ends with %v: %s", err, stream)
	}
	if status, reply, err := p.request(token, "POST", "/core/search", `{"query": "oil"}`); status != 200 {
		t.Fatalf("search: %d %s %v", status, reply, err)
	}
}

func TestAlertRulesPassPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	if out, err := exec.Command(promtool, "check", "rules", filepath.Join("..", "..", "deploy", "alerts.yaml")).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
