package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"annals/projections/searchindex/meilisearch/meilisearchtest"

	"golang.org/x/sync/errgroup"
)

// BenchmarkThreeNodes imports small files into one node and into three nodes (see
// compareNodes).
func BenchmarkThreeNodes(b *testing.B) {
	compareNodes(b, func(b *testing.B, s *nodes) func() int {
		s.importEverywhere("warm", 100)
		return func() (files int) {
			for round := 0; b.Loop(); round++ {
				files += s.importEverywhere(fmt.Sprint("round ", round), 900)
			}
			return files
		}
	})
}

// BenchmarkThreeNodesCorpora is like BenchmarkThreeNodes, but imports typical files of
// users: PDF, DOCX, and directories of Markdown and HTML. Each file is imported one
// time.
func BenchmarkThreeNodesCorpora(b *testing.B) {
	dir := unpackCorpora(b, benchCorpora(b))
	compareNodes(b, func(_ *testing.B, s *nodes) func() int {
		s.importEverywhere("warm", 99)
		s.importTree(filepath.Join(dir, "pdf"), "warm pdf") // the first PDF makes each node compile its PDF reader, which is not to be measured
		return func() (files int) {
			for _, from := range []string{"pdf", "docx", "trees"} {
				files += s.importTree(filepath.Join(dir, from), from)
			}
			return files
		}
	})
}

// compareNodes compares the CPU time that one node and three nodes need for a file. The
// nodes share a log in EventStoreDB on this machine and read models in PostgreSQL. warm
// prepares the nodes and returns the function to measure, which imports files and
// returns their number. The comparison is made twice. With index "shared" the nodes
// share one search index: Meilisearch at ANNALS_TEST_MEILISEARCH, or else a small
// server in the process of the benchmark, whose CPU time does not count. With index
// "bleve" each node indexes all passages itself, so three nodes spend that CPU time
// three times.
func compareNodes(b *testing.B, warm func(b *testing.B, s *nodes) (measured func() (files int))) {
	for _, index := range []string{"shared", "bleve"} {
		var perFile []float64 // the first with one node, the second with three
		for _, n := range []int{1, 3} {
			b.Run(fmt.Sprintf("index=%s/nodes=%d", index, n), func(b *testing.B) {
				args := []string{"--log-level", "warn"}
				if index == "shared" {
					args = append(args, "--search", sharedIndex(b))
				}
				s := startNodes(b, n, args...)
				measured := warm(b, s)
				before, begun := s.cpu(), time.Now()
				files := float64(measured())
				cpu, took := s.cpu()-before, time.Since(begun)
				perFile = append(perFile, cpu.Seconds()*1e3/files)
				b.ReportMetric(files/took.Seconds(), "files/s")
				b.ReportMetric(cpu.Seconds(), "cpu-s")
				b.ReportMetric(perFile[len(perFile)-1], "cpu-ms/file")
				if len(perFile) == 2 {
					b.ReportMetric(perFile[1]/perFile[0], "cpu/one")
				}
			})
		}
	}
}

func sharedIndex(b *testing.B) string {
	if server := os.Getenv("ANNALS_TEST_MEILISEARCH"); server != "" {
		return fmt.Sprintf("%s?prefix=bench-%d", server, time.Now().UnixNano())
	}
	return meilisearchtest.New(b).URL("bench")
}

// importEverywhere imports files, an equal number at each node. It returns their number
// once a search at each node finds all of them.
func (s *nodes) importEverywhere(name string, files int) int {
	s.Helper()
	jobs := make([][]string, len(s.all))
	var clients errgroup.Group
	for i := range s.all {
		clients.Go(func() (err error) {
			jobs[i], err = s.upload(s.Context(), i, fmt.Sprint(name, " at ", i), files/len(s.all), 100)
			return err
		})
	}
	if err := clients.Wait(); err != nil {
		s.Fatal(err)
	}
	for i := range s.all {
		for _, of := range jobs {
			s.wantImported(i, of)
		}
	}
	return files
}

// importTree imports the files of a directory, an equal number at each node. It returns
// their number once a search at each node finds all of them.
func (s *nodes) importTree(dir, folder string) int {
	s.Helper()
	batches, err := uploads(dir, folder, 100)
	if err != nil {
		s.Fatal(err)
	}
	files := 0
	for first, batch := range batches {
		files += len(batch)
		job, _, err := s.core(s.all[first%len(s.all)].base).Upload(s.Context(), batch)
		if err != nil {
			s.Fatal(err)
		}
		for i := range s.all {
			s.await("job "+job.ID+" is done", func() (bool, string) {
				now := s.jobOf(i, job.ID)
				return now.Done, fmt.Sprintf("%d of %d", now.Successful, len(batch))
			})
		}
	}
	return files
}

// cpu returns the CPU time of all nodes and their child processes.
func (s *nodes) cpu() (sum time.Duration) {
	for _, node := range s.all {
		sum += (&benchServer{serverProcess: node}).cpu()
	}
	return sum
}
