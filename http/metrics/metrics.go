// Package metrics measures a running service for Prometheus. Its labels are read
// models, steps and templates of routes, never users, folders or documents: series
// stay few, and metrics reveal nothing of what is stored.
//
// It imports http, commands/quota, queries, events and events/fault.
package metrics

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	httpd "annals/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts and measures. It is the http.Handler of GET /metrics, and safe
// for use by several goroutines.
type Metrics struct {
	http.Handler
	registry *prometheus.Registry

	appends  prometheus.Histogram
	appended prometheus.Counter
	failures *prometheus.CounterVec
	requests *prometheus.HistogramVec
	steps    *prometheus.HistogramVec
	lost     prometheus.Counter
	refused  *prometheus.CounterVec
	files    *prometheus.CounterVec
	signins  *prometheus.CounterVec
	died     prometheus.Counter
	readers  prometheus.Gauge
	lacking  prometheus.Gauge
}

// Most scrapes at the same time: the state of the read models is looked up for
// each, and anyone may ask.
const scrapes = 4

// New returns the metrics of a program of this version. What cannot be measured
// is left out of a scrape and logged.
func New(version string, logger *slog.Logger) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		appends: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "annals_log_append_seconds", Help: "Time of an append to the log until it was durable; appends that failed are left out.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}),
		appended: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "annals_log_events_appended_total", Help: "Events in appends to the log; those that were found to be there since an earlier try count again.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "annals_log_append_failures_total", Help: "Appends to the log that failed, by kind. A conflict is tried again.",
		}, []string{"kind"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "annals_http_request_seconds", Help: "Time of a request until it was answered, progress streams and uploads in full; status 0 is a connection cut before a reply began.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
		}, []string{"route", "method", "status"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "annals_import_step_seconds", Help: "Time that one try at importing a file spent on a step.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600},
		}, []string{"step"}),
	}
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "annals_quota_refusals_total", Help: "Requests that were refused because a user or a folder had used up a limit, by the limit.",
	}, []string{"limit"})
	for _, limit := range limits {
		m.refused.WithLabelValues(limit)
	}
	for _, kind := range []fault.Kind{fault.Internal, fault.Conflict, fault.Unavailable, fault.Canceled} { // others are shown once they happen
		m.failures.WithLabelValues(kind.String())
	}
	m.lost = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "annals_access_records_lost_total", Help: "Records of sign-ins, refusals and reads that were lost, since more came than could be written.",
	})
	m.countOutcomes()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "annals_info", Help: "Always 1; its label is the version of the program.", ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	m.registry.MustRegister(m.lost, m.appends, m.appended, m.failures, m.requests, m.steps, m.refused, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: scrapeLog{logger}, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapes,
	})
	return m
}

// outcomes are how the work on a file ends, as the importer names them.
var outcomes = []string{"imported", "failed", "fault", "given_back"}

// signInOutcomes are the outcomes of signing in, by what the sign-in calls them.
var signInOutcomes = map[string]string{"signed in": "signed_in", "sign-in failed": "failed", "sign-in refused": "refused", "program misused": "program_misused"}

// countOutcomes makes the metrics of what succeeds or fails. All series are there
// from the start, so that a rate shows the first failure.
func (m *Metrics) countOutcomes() {
	m.files = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "annals_import_files_total", Help: "Files whose import came to an end here: imported; failed, for a reason of the file's own; fault, of the service; given_back, to be taken up again.",
	}, []string{"outcome"})
	for _, o := range outcomes {
		m.files.WithLabelValues(o)
	}
	m.signins = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "annals_signins_total", Help: "Tries to sign in by browser: signed_in; failed, by a wrong password or factor; refused, without judging it; program_misused, a code or token that came twice.",
	}, []string{"outcome"})
	for _, o := range signInOutcomes {
		m.signins.WithLabelValues(o)
	}
	m.died = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "annals_readers_died_total", Help: "Processes that ended while they read a file.",
	})
	m.readers = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "annals_readers_up", Help: "Whether a process that reads files could be started when the program was.",
	})
	m.lacking = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "annals_readers_lacking", Help: "Measures of confinement that this machine does not give the processes that read files; annals health --readers names them.",
	})
	m.registry.MustRegister(m.files, m.signins, m.died, m.readers, m.lacking)
}

// FileEnded counts a file whose import came to an end.
func (m *Metrics) FileEnded(outcome string) {
	if slices.Contains(outcomes, outcome) {
		m.files.WithLabelValues(outcome).Inc()
	}
}

// SignIn counts what happened at the sign-in, if that was a try.
func (m *Metrics) SignIn(kind string) {
	if o, ok := signInOutcomes[kind]; ok {
		m.signins.WithLabelValues(o).Inc()
	}
}

// ReaderDied counts a process that ended while it read a file.
func (m *Metrics) ReaderDied() { m.died.Inc() }

// Readers notes whether readers can be started, and how many measures of their
// confinement they lack.
func (m *Metrics) Readers(up bool, lacking int) {
	m.lacking.Set(float64(lacking))
	if up {
		m.readers.Set(1)
	}
}

// Request counts a request that was answered.
func (m *Metrics) Request(a httpd.Answered) {
	m.requests.WithLabelValues(a.Route, a.Method, strconv.Itoa(a.Status)).Observe(a.Took.Seconds())
}

// Lost counts records of access that were lost.
func (m *Metrics) Lost(n int) { m.lost.Add(float64(n)) }

// steps are those of importing a file.
var steps = []string{"reading", "splitting", "summarising", "filing"}

// Step notes for how long a try at importing a file was at a step.
func (m *Metrics) Step(step string, took time.Duration) {
	if !slices.Contains(steps, step) {
		step = "other" // readers of files are processes of their own
	}
	m.steps.WithLabelValues(step).Observe(took.Seconds())
}

// limits are those that users meet.
var limits = func() []string {
	all := []string{"searches"} // that run at once
	for _, k := range quota.Kinds() {
		all = append(all, k.String())
	}
	return all
}()

// Refuse counts a request that was refused by a limit.
func (m *Metrics) Refuse(limit string) {
	if slices.Contains(limits, limit) {
		m.refused.WithLabelValues(limit).Inc()
	}
}

// Driver returns a driver whose appends are measured.
func (m *Metrics) Driver(d events.Driver) events.Driver { return measured{d, m} }

type measured struct {
	events.Driver
	to *Metrics
}

// Append is that of the driver below.
func (d measured) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	began := time.Now()
	at, err := d.Driver.Append(ctx, stream, expected, records)
	if err != nil {
		d.to.failures.WithLabelValues(fault.KindOf(err).String()).Inc()
		return at, err
	}
	d.to.appends.Observe(time.Since(began).Seconds())
	d.to.appended.Add(float64(len(records)))
	return at, nil
}

// scrapeLog logs what a scrape had to leave out.
type scrapeLog struct{ *slog.Logger }

func (l scrapeLog) Println(v ...any) {
	l.Warn("metrics are incomplete", "error", fmt.Sprint(v...))
}
