// Package metrics measures a running service for Prometheus. Labels are read models, import
// steps, routes and the like, never users, folders or documents: there are few series, and
// they reveal nothing of the content.
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

// Metrics are the metrics of a node. The embedded http.Handler handles GET /metrics. All
// methods may be called concurrently.
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
	embedded embedded
}

// maxScrapes is the maximum number of concurrent scrapes. A scrape queries the read models,
// and needs no token.
const maxScrapes = 4

// New returns the metrics of a program of the given version. If a value cannot be read, a
// scrape omits it and logs the error.
func New(version string, logger *slog.Logger) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		appends: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "annals_log_append_seconds", Help: "Time until an append to the log was durable, without failed appends.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}),
		appended: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "annals_log_events_appended_total", Help: "Events in successful appends to the log. An append that is retried after it succeeded counts again.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "annals_log_append_failures_total", Help: "Failed appends to the log, by kind of error. After a conflict the command is retried.",
		}, []string{"kind"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "annals_http_request_seconds", Help: "Time from a request to the end of its reply, including uploads and progress streams; status 0 means that the connection was closed before the reply.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
		}, []string{"route", "method", "status"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "annals_import_step_seconds", Help: "Time that one attempt at importing a file spent in a step.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600},
		}, []string{"step"}),
	}
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "annals_quota_refusals_total", Help: "Requests that were refused because a user or a folder had used up a limit, by limit.",
	}, []string{"limit"})
	for _, limit := range limits {
		m.refused.WithLabelValues(limit)
	}
	for _, kind := range []fault.Kind{fault.Internal, fault.Conflict, fault.Unavailable, fault.Canceled} { // the others appear when they happen
		m.failures.WithLabelValues(kind.String())
	}
	m.lost = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "annals_access_records_lost_total", Help: "Records of sign-ins, refusals and reads that were lost because they came faster than they could be written.",
	})
	m.countOutcomes()
	m.measureEmbeddings()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "annals_info", Help: "Always 1; its label is the version of the program.", ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	m.registry.MustRegister(m.lost, m.appends, m.appended, m.failures, m.requests, m.steps, m.refused, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: scrapeLog{logger}, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes,
	})
	return m
}

// outcomes are the names that the importer uses for the end of an attempt at importing a file.
var outcomes = []string{"imported", "failed", "fault", "given_back"}

// signInOutcomes maps the kinds of sign-in events that are outcomes to values of the label
// outcome.
var signInOutcomes = map[string]string{"signed in": "signed_in", "sign-in failed": "failed", "sign-in refused": "refused", "program misused": "program_misused"}

// countOutcomes creates the counters by outcome. It creates all series with the value 0:
// otherwise a rate would miss the first failure.
func (m *Metrics) countOutcomes() {
	m.files = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "annals_import_files_total", Help: "Attempts at importing a file that ended on this node: imported; failed, because of the file; fault, because of the service; given_back, to be tried again.",
	}, []string{"outcome"})
	for _, o := range outcomes {
		m.files.WithLabelValues(o)
	}
	m.signins = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "annals_signins_total", Help: "Attempts to sign in by browser: signed_in; failed, with a wrong password or second factor; refused, without checking it; program_misused, with a code or token that was used before.",
	}, []string{"outcome"})
	for _, o := range signInOutcomes {
		m.signins.WithLabelValues(o)
	}
	m.died = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "annals_readers_died_total", Help: "Reader processes that ended while they read a file.",
	})
	m.readers = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "annals_readers_up", Help: "1 if a reader process could be started when the program started, otherwise 0.",
	})
	m.lacking = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "annals_readers_lacking", Help: "Confinement measures that this machine does not support for reader processes; annals health --readers lists them.",
	})
	m.registry.MustRegister(m.files, m.signins, m.died, m.readers, m.lacking)
}

// FileEnded counts the end of an attempt at importing a file.
func (m *Metrics) FileEnded(outcome string) {
	if slices.Contains(outcomes, outcome) {
		m.files.WithLabelValues(outcome).Inc()
	}
}

// SignIn counts a sign-in event, given its kind, if that kind is the outcome of an attempt to
// sign in.
func (m *Metrics) SignIn(kind string) {
	if o, ok := signInOutcomes[kind]; ok {
		m.signins.WithLabelValues(o).Inc()
	}
}

// ReaderDied counts a reader process that exited while it read a file.
func (m *Metrics) ReaderDied() { m.died.Inc() }

// Readers sets whether reader processes can be started, and how many of the confinement
// measures are missing on this machine.
func (m *Metrics) Readers(up bool, lacking int) {
	m.lacking.Set(float64(lacking))
	if up {
		m.readers.Set(1)
	}
}

// Answers adds the metrics of the language model that writes answers. It must be called only once.
// outcomes are those of both, describing are further ones of descriptions. The functions that it returns add one answer, and
// one description of a document, or one failure to write it.
func (m *Metrics) Answers(outcomes []string, describing ...string) (answer func(outcome string, input, output int, cost float64, dropped int, took time.Duration), description func(outcome string, input, output int, cost float64)) {
	calls := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "annals_answers_seconds", Help: "Time until the language model had written an answer or had failed to, by outcome; all outcomes but composed and canceled mean that the passages were quoted.",
		Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 600},
	}, []string{"outcome"})
	described := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "annals_descriptions_total", Help: "Documents that the language model was asked to describe for the summary of a folder, by outcome; all outcomes but composed mean that the summary quotes the document.",
	}, []string{"outcome"})
	for _, o := range outcomes {
		calls.WithLabelValues(o)
		described.WithLabelValues(o)
	}
	for _, o := range describing {
		described.WithLabelValues(o)
	}
	tokens := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "annals_answers_tokens_total", Help: "Tokens of prompts (input) and replies (output) of the language model.",
	}, []string{"direction"})
	in, out := tokens.WithLabelValues("input"), tokens.WithLabelValues("output")
	spent := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "annals_answers_cost_total", Help: "Cost of these tokens, in the currency of the configured prices.",
	})
	unsupported := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "annals_answers_dropped_sentences_total", Help: "Sentences of the language model that were dropped, because no passage supports them.",
	})
	m.registry.MustRegister(calls, described, tokens, spent, unsupported)
	use := func(input, output int, cost float64) {
		in.Add(float64(input))
		out.Add(float64(output))
		spent.Add(cost)
	}
	answer = func(outcome string, input, output int, cost float64, dropped int, took time.Duration) {
		calls.WithLabelValues(outcome).Observe(took.Seconds())
		unsupported.Add(float64(dropped))
		use(input, output, cost)
	}
	description = func(outcome string, input, output int, cost float64) {
		described.WithLabelValues(outcome).Inc()
		use(input, output, cost)
	}
	return answer, description
}

// Request adds the duration of a finished request to the histogram.
func (m *Metrics) Request(a httpd.Answered) {
	m.requests.WithLabelValues(a.Route, a.Method, strconv.Itoa(a.Status)).Observe(a.Took.Seconds())
}

// Lost counts n entries of the access log that could not be stored.
func (m *Metrics) Lost(n int) { m.lost.Add(float64(n)) }

// steps are the known steps of importing a file.
var steps = []string{"reading", "splitting", "summarising", "filing"}

// Step adds the time that an attempt at importing a file spent in a step.
func (m *Metrics) Step(step string, took time.Duration) {
	if !slices.Contains(steps, step) {
		step = "other" // a reader process may report any step
	}
	m.steps.WithLabelValues(step).Observe(took.Seconds())
}

// limits are the values of the label limit of refusals.
var limits = func() []string {
	all := []string{"searches"} // concurrent reads
	for _, k := range quota.Kinds() {
		all = append(all, k.String())
	}
	return all
}()

// Refuse counts a request that was refused because a limit was reached.
func (m *Metrics) Refuse(limit string) {
	if slices.Contains(limits, limit) {
		m.refused.WithLabelValues(limit).Inc()
	}
}

// Driver returns a driver that measures the duration of d's appends.
func (m *Metrics) Driver(d events.Driver) events.Driver { return measured{d, m} }

type measured struct {
	events.Driver
	to *Metrics
}

// Append appends to the wrapped driver and measures the duration.
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

// scrapeLog logs errors during a scrape.
type scrapeLog struct{ *slog.Logger }

func (l scrapeLog) Println(v ...any) {
	l.Warn("some metrics could not be read", "error", fmt.Sprint(v...))
}
