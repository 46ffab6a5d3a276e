package http_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"annals/commands"
	"annals/events"
	"annals/events/memory"
	"annals/events/originals"
	httpd "annals/http"
)

// benchmarkIngest measures uploads over TCP to a server that stores the originals in a folder
// on disk.
func benchmarkIngest(b *testing.B, files int, size int64) {
	store, err := originals.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	log := events.NewLog(memory.New())
	b.Cleanup(func() { log.Close() })
	s := &httpd.Server{
		Verify: verify, Queries: &library{log: log}, Commands: &commands.Handler{Log: log}, Originals: store,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	live := httptest.NewServer(s.Handler())
	b.Cleanup(live.Close)
	b.SetBytes(int64(files) * size)
	for round := 0; b.Loop(); round++ {
		body, out := io.Pipe()
		w := multipart.NewWriter(out)
		go func() {
			for i := range files {
				p, _ := w.CreateFormFile("files", fmt.Sprint(i, ".txt"))
				fmt.Fprintln(p, round, i)
				io.Copy(p, io.LimitReader(lines{}, size))
			}
			w.Close()
			out.Close()
		}()
		r, _ := http.NewRequest("POST", live.URL+"/core/ingest", body)
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", w.FormDataContentType())
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		if resp.Body.Close(); resp.StatusCode != 200 {
			b.Fatal(resp.Status)
		}
	}
	b.ReportMetric(float64(files)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

func BenchmarkIngestLargeFile(b *testing.B)  { benchmarkIngest(b, 1, 64<<20) }
func BenchmarkIngestSmallFiles(b *testing.B) { benchmarkIngest(b, 1000, 1<<10) }

// The baseline is the minimum work of an upload: hashing a file while it is written and
// synced.
func BenchmarkIngestLargeFileBaseline(b *testing.B) {
	path := filepath.Join(b.TempDir(), "file")
	b.SetBytes(64 << 20)
	for b.Loop() {
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		buffer := make([]byte, 128<<10)
		if _, err := io.CopyBuffer(io.MultiWriter(f, sha256.New()), io.LimitReader(lines{}, 64<<20), buffer); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
