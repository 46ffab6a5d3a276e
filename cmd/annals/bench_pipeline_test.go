package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// BenchmarkPipeline measures the import of PDFs until a search finds them. The baseline
// reads the same files with pdftotext, one process for each CPU. Both are run in turns.
func BenchmarkPipeline(b *testing.B) {
	originals, _ := filepath.Glob(filepath.Join(benchCorpora(b), "pdf", "ordinary", "*.pdf"))
	if _, err := exec.LookPath("pdftotext"); err != nil {
		b.Skip("pdftotext is not installed (package poppler-utils)")
	}
	s := serveBench(b, nil)
	s.importFiles(copies(b, originals[:min(len(originals), 2*runtime.NumCPU())], "warm"), "warm", len(originals), 1) // makes the server compile PDFium and start its reader processes
	var ours, theirs struct{ wall, cpu time.Duration }
	files := 0
	for round := 0; b.Loop(); round++ {
		dir := copies(b, originals, fmt.Sprint("round ", round))
		cpu, begun := s.cpu(), time.Now()
		files += s.importFiles(dir, fmt.Sprint("round ", round), len(originals), 1)
		ours.wall += time.Since(begun)
		ours.cpu += s.cpu() - cpu
		begun = time.Now()
		theirs.cpu += pdftotext(b, dir)
		theirs.wall += time.Since(begun)
	}
	b.ReportMetric(theirs.wall.Seconds()/ours.wall.Seconds(), "ratio")
	b.ReportMetric(theirs.cpu.Seconds()/ours.cpu.Seconds(), "cpu-ratio")
	b.ReportMetric(float64(files)/ours.wall.Seconds(), "files/s")
	b.ReportMetric(float64(files)/theirs.wall.Seconds(), "pdftotext-files/s")
}

// copies copies files and appends the word mark to each copy as a PDF comment.
// Otherwise the server would not import the same bytes a second time.
func copies(b *testing.B, paths []string, mark string) (dir string) {
	dir = b.TempDir()
	for _, path := range paths {
		bytes, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		bytes = append(bytes, "\n% "+mark+"\n"...) // a PDF comment
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), bytes, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// pdftotext reads every file of a folder and returns the CPU time that it took.
func pdftotext(b *testing.B, dir string) (cpu time.Duration) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.pdf"))
	took := make([]time.Duration, len(paths))
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i, path := range paths {
		g.Go(func() error {
			c := exec.CommandContext(b.Context(), "pdftotext", "-enc", "UTF-8", path, os.DevNull)
			_ = c.Run() // the time for files that pdftotext cannot read counts as well
			took[i] = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			return nil
		})
	}
	_ = g.Wait()
	for _, t := range took {
		cpu += t
	}
	return cpu
}
