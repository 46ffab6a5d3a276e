package metrics

import (
	"context"
	"fmt"
	"time"

	"annals/events/disk"
	"annals/queries"

	"github.com/prometheus/client_golang/prometheus"
)

// Reads are the queries that a scrape needs. *queries.Queries implements it.
type Reads interface {
	Status(ctx context.Context) ([]queries.Model, error)
	Backlog(ctx context.Context) (queries.Backlog, error)
}

// Follow adds the state of the read models, the import backlog and the free disk space to
// every scrape. It must be called only once.
func (m *Metrics) Follow(reads Reads, disks disk.Folders) {
	m.registry.MustRegister(state{reads, disks})
}

// state collects the metrics that are read during a scrape.
type state struct {
	Reads
	disks disk.Folders
}

// readTimeout is the maximum duration of the queries of a scrape.
const readTimeout = 5 * time.Second

func byModel(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("annals_projection_"+name, help, []string{"projection"}, nil)
}

var (
	position   = byModel("position", "Position in the log up to which a read model has applied all events.")
	head       = byModel("head", "Position of the last event in the log.")
	lagEvents  = byModel("lag_events", "Positions in the log that a read model has not passed; these are events if the log has no gaps.")
	lagSeconds = byModel("lag_seconds", "Age of the first event that a read model has not applied.")
	parked     = byModel("parked_events", "Parked events of a read model: events that could not be applied, and the later ones in their streams.")
	deferred   = prometheus.NewDesc("annals_search_documents_waiting", "Documents that are indexed after everything else: very large ones, and those in folders that were moved.", nil, nil)
	unembedded = prometheus.NewDesc("annals_embeddings_documents_waiting", "Documents some of whose passages have no vectors yet. Only if the service makes vectors.", nil, nil)
	queued     = prometheus.NewDesc("annals_import_files_waiting", "Accepted files whose import has not ended, including those in progress.", nil, nil)
	freeBytes  = prometheus.NewDesc("annals_disk_free_bytes", "Free space on the disk of a folder that the service writes to.", []string{"folder"}, nil)
	oldest     = prometheus.NewDesc("annals_import_oldest_file_seconds", "Time since the oldest file whose import has not ended was accepted.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s state) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{position, head, lagEvents, lagSeconds, parked, deferred, unembedded, queued, oldest, freeBytes} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s state) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, space := range s.disks.Space() {
		gauge(freeBytes, float64(space.Free), space.Folder)
	}
	models, err := s.Status(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(position, fmt.Errorf("read the state of the read models: %w", err))
	}
	waiting := 0
	for _, m := range models {
		if m.Name == "vectors" {
			gauge(unembedded, float64(m.Waiting))
			m.Waiting = 0
		}
		gauge(position, float64(m.Position), m.Name)
		gauge(parked, float64(m.Parked), m.Name)
		waiting += m.Waiting
		if m.HeadUnknown {
			continue
		}
		gauge(head, float64(m.Head), m.Name)
		gauge(lagEvents, float64(max(0, m.Head-m.Position)), m.Name)
		gauge(lagSeconds, m.Lag.Seconds(), m.Name)
	}
	if err == nil {
		gauge(deferred, float64(waiting))
	}
	backlog, err := s.Backlog(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(queued, fmt.Errorf("read the import backlog: %w", err))
		return
	}
	gauge(queued, float64(backlog.Files))
	gauge(oldest, backlog.Age.Seconds())
}
