package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkStart measures how long a server takes to start until /readyz succeeds, with
// a log of a million events and complete read models. The first run builds the read
// models, which takes minutes, and caches them for later runs.
func BenchmarkStart(b *testing.B) {
	data := benchHistory(b, 1_000_000)
	if made := filepath.Join(data, "read-models-made"); !exists(made) {
		err := run(b.Context(), []string{"rebuild", "--all", "--data", data}, nil, io.Discard, io.Discard)
		if err == nil {
			err = os.WriteFile(made, nil, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	var took []time.Duration
	for b.Loop() {
		begun := time.Now()
		process, err := startServer(b.TempDir(), nil, "--data", data, "--log-level", "warn")
		if err != nil {
			b.Fatal(err)
		}
		s := &benchServer{B: b, serverProcess: process}
		s.awaitReady()
		took = append(took, time.Since(begun))
		if err := s.end(os.Interrupt); err != nil {
			b.Error(err)
		}
	}
	b.ReportMetric(quantile(took, .5).Seconds(), "ready-s")
}
