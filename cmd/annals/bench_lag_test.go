package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/projections/readmodel"
)

// BenchmarkLag imports small files as fast as possible, and samples the lag of each
// read model from /metrics ten times a second. This lag is a time: the age of the first
// event that the read model has not applied. Samples during which the log received no
// new events do not count. p50-s and p95-s are the percentiles of the read model with
// the largest lag.
func BenchmarkLag(b *testing.B) {
	s := serveBench(b, nil)
	lags := make(map[string][]time.Duration)
	files, begun := 0, time.Now()
	for round := 0; b.Loop(); round++ {
		dir, _ := smallFiles(b, 3000, round)
		stop := s.watchLag(lags)
		files += s.importFiles(dir, fmt.Sprint("round ", round), 3000, 0)
		stop()
	}
	var p50, p95 time.Duration
	for _, name := range readmodel.Names() {
		all := lags[name]
		if len(all) == 0 {
			b.Fatalf("no lag of %s was measured", name)
		}
		median := quantile(all, .5)
		b.ReportMetric(median.Seconds(), name+"-p50-s")
		p50, p95 = max(p50, median), max(p95, quantile(all, .95))
	}
	b.ReportMetric(p50.Seconds(), "p50-s")
	b.ReportMetric(p95.Seconds(), "p95-s")
	b.ReportMetric(float64(files)/time.Since(begun).Seconds(), "files/s")
}

// watchLag appends the lags of each read model to lags until stop is called.
func (s *benchServer) watchLag(lags map[string][]time.Duration) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		var head float64
		for {
			select {
			case <-tick.C:
			case <-done:
				return
			}
			_, text, err := s.request("", "GET", "/metrics", "")
			if err != nil {
				s.Error(err)
				return
			}
			if now := gauges(text, "annals_projection_head")["vault"]; now > head {
				head = now
				for name, seconds := range gauges(text, "annals_projection_lag_seconds") {
					lags[name] = append(lags[name], time.Duration(seconds*float64(time.Second)))
				}
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// gauges returns the values of a metric that has one label, by label value.
func gauges(text []byte, name string) map[string]float64 {
	values := make(map[string]float64)
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), name+`{projection="`); found {
			label, value, _ := strings.Cut(rest, `"} `)
			values[label], _ = strconv.ParseFloat(value, 64)
		}
	}
	return values
}
