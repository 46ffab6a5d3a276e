package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// embedded are the metrics of the endpoint that makes vectors.
type embedded struct {
	requests *prometheus.HistogramVec
	texts    *prometheus.CounterVec
}

// The uses of vectors, as values of the label use.
const (
	useQuery     = "query"
	useDocuments = "documents"
)

// measureEmbeddings creates the metrics of the endpoint that makes vectors, with the value 0.
func (m *Metrics) measureEmbeddings() {
	m.embedded = embedded{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "annals_embeddings_request_seconds", Help: "Time of requests to the embeddings endpoint, for queries of searches and for documents, by outcome: ok or failed. A search continues without a failed one.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"use", "outcome"}),
		texts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "annals_embeddings_texts_total", Help: "Texts for which the embeddings endpoint made vectors.",
		}, []string{"use"}),
	}
	for _, use := range []string{useQuery, useDocuments} {
		m.embedded.texts.WithLabelValues(use)
		for _, outcome := range []string{"ok", "failed"} {
			m.embedded.requests.WithLabelValues(use, outcome)
		}
	}
	m.registry.MustRegister(m.embedded.requests, m.embedded.texts)
}

// Embedded measures a request to the embeddings endpoint, for some texts of documents or for a
// query.
func (m *Metrics) Embedded(query bool, texts int, took time.Duration, err error) {
	use, outcome := useDocuments, "failed"
	if query {
		use = useQuery
	}
	if err == nil {
		outcome = "ok"
		m.embedded.texts.WithLabelValues(use).Add(float64(texts))
	}
	m.embedded.requests.WithLabelValues(use, outcome).Observe(took.Seconds())
}
