package metrics

import (
	"context"
	"fmt"
	"time"

	"annals/events/disk"
	"annals/queries"

	"github.com/prometheus/client_golang/prometheus"
)

// Reads measures the read side: *queries.Queries does.
type Reads interface {
	Status(ctx context.Context) ([]queries.Model, error)
	Backlog(ctx context.Context) (queries.Backlog, error)
}

// Follow has every scrape ask how the read side does, and how much room there
// is for folders. It is called once.
func (m *Metrics) Follow(reads Reads, disks disk.Folders) {
	m.registry.MustRegister(state{reads, disks})
}

// state is what is looked up at a scrape.
type state struct {
	Reads
	disks disk.Folders
}

// patience is for how long a scrape waits for a busy store.
const patience = 5 * time.Second

func byModel(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("annals_projection_"+name, help, []string{"projection"}, nil)
}

var (
	position   = byModel("position", "Position in the log up to where a read model holds everything.")
	head       = byModel("head", "Position of the log's last event, which a read model is on its way to.")
	lagEvents  = byModel("lag_events", "Positions of the log that a read model has not passed: events, where the log has no gaps.")
	lagSeconds = byModel("lag_seconds", "For how long the first event that a read model has not passed is in the log.")
	parked     = byModel("parked_events", "Events that could not be applied to a read model, and those that wait behind them in their streams.")
	deferred   = prometheus.NewDesc("annals_search_documents_waiting", "Documents that the search index takes behind everything else: very large ones, and those in folders that were moved.", nil, nil)
	queued     = prometheus.NewDesc("annals_import_files_waiting", "Accepted files whose import has not ended, those in work among them.", nil, nil)
	freeBytes  = prometheus.NewDesc("annals_disk_free_bytes", "Room that is left on the disk of a folder that the service writes to.", []string{"folder"}, nil)
	oldest     = prometheus.NewDesc("annals_import_oldest_file_seconds", "For how long the oldest file whose import has not ended has been accepted.", nil, nil)
)

// Describe is that of prometheus.Collector.
func (s state) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{position, head, lagEvents, lagSeconds, parked, deferred, queued, oldest, freeBytes} {
		to <- d
	}
}

// Collect is that of prometheus.Collector.
func (s state) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, space := range s.disks.Space() {
		gauge(freeBytes, float64(space.Free), space.Folder)
	}
	models, err := s.Status(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(position, fmt.Errorf("state of the read models: %w", err))
	}
	waiting := 0
	for _, m := range models {
		gauge(position, float64(m.Position), m.Name)
		gauge(parked, float64(m.Parked), m.Name)
		waiting += m.Waiting
		if m.Unheard {
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
		to <- prometheus.NewInvalidMetric(queued, fmt.Errorf("files that wait to be imported: %w", err))
		return
	}
	gauge(queued, float64(backlog.Files))
	gauge(oldest, backlog.Age.Seconds())
}
