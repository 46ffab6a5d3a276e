package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/client"
)

// BenchmarkImportSmallFiles imports small Markdown files, first all in one request,
// then in requests of a hundred files. The baseline writes and syncs each file to disk.
func BenchmarkImportSmallFiles(b *testing.B) {
	for _, c := range []struct{ files, perRequest int }{{1000, 1000}, {2000, 100}} {
		b.Run(fmt.Sprintf("requests=%d", c.files/c.perRequest), func(b *testing.B) {
			s := serveBench(b, nil)
			files, round := 0, 0
			var took, yardstick, cpu time.Duration
			for b.Loop() {
				dir, written := smallFiles(b, c.files, round)
				yardstick += written
				before, begun := s.cpu(), time.Now()
				files += s.importFiles(dir, fmt.Sprint("round ", round), c.perRequest, 0)
				took += time.Since(begun)
				cpu += s.cpu() - before
				round++
			}
			b.ReportMetric(float64(files)/took.Seconds(), "files/s")
			b.ReportMetric(yardstick.Seconds()/took.Seconds(), "ratio")
			b.ReportMetric(cpu.Seconds()*1e3/float64(files), "cpu-ms/file")
		})
	}
}

// smallFiles writes files of about 200 words to twenty folders, and returns how long
// the writing took.
func smallFiles(b *testing.B, files, round int) (dir string, took time.Duration) {
	dir = b.TempDir()
	for i := range files {
		random := rand.New(rand.NewPCG(uint64(round), uint64(i)))
		var text strings.Builder
		fmt.Fprintf(&text, "# %s %s\n\n", zipfWord(random), zipfWord(random))
		for word := range 200 {
			text.WriteString(zipfWord(random))
			if word%12 == 11 {
				text.WriteString(".")
			}
			text.WriteString(" ")
		}
		path := filepath.Join(dir, fmt.Sprint("folder ", i%20), fmt.Sprintf("%d.md", i))
		begun := time.Now()
		if err := writeSynced(path, text.String()); err != nil {
			b.Fatal(err)
		}
		took += time.Since(begun)
	}
	return dir, took
}

func writeSynced(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// BenchmarkMemory imports the corpora, and then waits one minute. It reports the
// anonymous memory of the server and its child processes: the peak, and the value at
// the end.
func BenchmarkMemory(b *testing.B) {
	dir := unpackCorpora(b, benchCorpora(b))
	s := serveBench(b, nil)
	for b.Loop() {
		stop := s.watchMemory()
		for _, c := range []struct {
			folder     string
			perRequest int
		}{{"pdf", 8}, {"docx", 100}, {"ir", 100}, {"trees", 500}, {"gutenberg", 1}} {
			begun := time.Now()
			files := s.importFiles(filepath.Join(dir, c.folder), c.folder, c.perRequest, 20)
			server, children := s.anonymous()
			b.Logf("%s: %d files in %s; the server holds %.0f MB, its children %.0f MB", c.folder, files, time.Since(begun).Round(time.Second/10), server, children)
		}
		all, alone := stop()
		b.ReportMetric(all, "peak-MB")
		b.ReportMetric(alone, "server-peak-MB")
		select {
		case <-time.After(time.Minute):
		case <-b.Context().Done():
		}
		server, children := s.anonymous()
		b.ReportMetric(server+children, "idle-MB")
	}
}

// unpackCorpora unpacks the corpora to files, in one folder for each corpus.
func unpackCorpora(b *testing.B, corpora string) (dir string) {
	if _, err := exec.LookPath("zstd"); err != nil {
		b.Skip("zstd is not installed")
	}
	dir = b.TempDir()
	link := func(to, pattern string) error {
		paths, err := filepath.Glob(filepath.Join(corpora, pattern))
		if err := errors.Join(err, os.MkdirAll(filepath.Join(dir, to), 0o700)); err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.Link(path, filepath.Join(dir, to, filepath.Base(path))); err != nil {
				err = copyFile(path, filepath.Join(dir, to, filepath.Base(path)))
				if err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := errors.Join(link("pdf", "pdf/ordinary/*.pdf"), link("pdf", "pdf/long/*.pdf"), link("docx", "docx/ordinary/*.docx"))
	for _, path := range glob(corpora, "ir/*/corpus.jsonl.gz") {
		err = errors.Join(err, unpackAbstracts(path, filepath.Join(dir, "ir", filepath.Base(filepath.Dir(path)))))
	}
	for _, path := range glob(corpora, "trees/*.tar.zst") {
		to := filepath.Join(dir, "trees")
		err = errors.Join(err, os.MkdirAll(to, 0o700), exec.CommandContext(b.Context(), "tar", "--zstd", "-xf", path, "-C", to).Run())
	}
	for _, path := range glob(corpora, "gutenberg/*.zst") {
		to := filepath.Join(dir, "gutenberg")
		err = errors.Join(err, os.MkdirAll(to, 0o700), exec.CommandContext(b.Context(), "zstd", "-dq", path, "-o", filepath.Join(to, strings.TrimSuffix(filepath.Base(path), ".zst"))).Run())
	}
	// Skip files that cannot be imported, and empty ones, which would fail.
	err = errors.Join(err, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil && info.Size() == 0 {
				return os.Remove(path)
			}
		}
		return err
	}))
	if err != nil {
		b.Fatal(err)
	}
	return dir
}

func glob(dir, pattern string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, pattern)) // the patterns are well formed
	return paths
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// unpackAbstracts writes one file for each line of the corpus of abstracts.
func unpackAbstracts(path, dir string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	d := json.NewDecoder(lines)
	for {
		var one struct {
			ID          string `json:"_id"`
			Title, Text string
		}
		if err := d.Decode(&one); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		name, text := one.ID+".txt", one.Text+"\n"
		if one.Title != "" {
			name, text = one.ID+".md", "# "+one.Title+"\n\n"+text
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
}

const largeText = 300 << 20

// BenchmarkLargeText imports one text of 300 MB, searches in it and reads it.
func BenchmarkLargeText(b *testing.B) {
	dir := b.TempDir()
	if err := writeLargeText(filepath.Join(dir, "large.txt")); err != nil {
		b.Fatal(err)
	}
	s := serveBench(b, nil)
	token, err := issueToken(s.data, "admin")
	if err != nil {
		b.Fatal(err)
	}
	for round := 0; b.Loop(); round++ {
		stop, begun := s.watchMemory(), time.Now()
		job := s.importBatch([]client.File{{Path: filepath.Join(dir, "large.txt"), Folder: fmt.Sprint("round ", round)}})
		b.ReportMetric(time.Since(begun).Seconds(), "done-s")
		b.ReportMetric(largeText/1e6/time.Since(begun).Seconds(), "MB/s")
		all, _ := stop()
		b.ReportMetric(all, "peak-MB")
		if job.Successful != 1 {
			b.Fatalf("the text was not imported: %+v", firstFailure(job))
		}
		begun = time.Now()
		if n, err := s.search(b.Context(), token, zipfQuestion(rand.New(rand.NewPCG(7, 7)))); err != nil || n == 0 {
			b.Fatalf("a search found %d passages of the text: %v", n, err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "search-s")
		stop = s.watchMemory()
		document := "/vault/documents/" + job.Results[0].Document
		b.ReportMetric(s.readAll(token, document, 1<<20).Seconds(), "document-s") // the reply is truncated to the maximum size of a reply
		b.ReportMetric(s.readAll(token, document+"/markdown", largeText*9/10).Seconds(), "markdown-s")
		all, _ = stop()
		b.ReportMetric(all, "read-peak-MB")
	}
}

func writeLargeText(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	random := rand.New(rand.NewPCG(3, 3))
	for size, word := 0, 0; size < largeText; word++ {
		text := zipfWord(random)
		switch {
		case word%120 == 119:
			text += ".\n\n"
		case word%12 == 11:
			text += ".\n"
		default:
			text += " "
		}
		size += len(text)
		_, _ = w.WriteString(text) // Flush returns the error of earlier writes
	}
	return errors.Join(w.Flush(), f.Close())
}

// readAll reads the reply to a GET of path and returns how long the reading took. The
// benchmark fails if the reply has fewer than atLeast bytes.
func (s *benchServer) readAll(token, path string, atLeast int64) time.Duration {
	s.Helper()
	begun := time.Now()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.base+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	reply, err := s.core.HTTP.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer reply.Body.Close()
	size, err := io.Copy(io.Discard, reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK || size < atLeast {
		s.Fatalf("GET %s: %s, %d bytes of at least %d: %v", path, reply.Status, size, atLeast, err)
	}
	return time.Since(begun)
}
