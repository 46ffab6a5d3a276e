package metrics

import (
	"context"
	"time"

	"annals/events"
	"annals/events/fault"
)

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
