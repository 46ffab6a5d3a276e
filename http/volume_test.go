package http_test

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestThousandFiles(t *testing.T) {
	s := start(t, nil)
	resp, body := s.upload("", func(w *multipart.Writer) {
		for i := range 1000 {
			addFile(w, fmt.Sprintf("%d.md", i), fmt.Sprintf("# File %d", i))
		}
	})
	if resp.StatusCode != 200 {
		t.Fatalf("%d %.300s", resp.StatusCode, body)
	}
	files, jobs := s.accepted()
	if jobs != 1 || len(files) != 1000 || files[999].Name != "999.md" {
		t.Errorf("%d jobs with %d files", jobs, len(files))
	}
	if staged, committed := s.stored(); staged != 0 || committed != 1000 {
		t.Errorf("%d staged, %d committed", staged, committed)
	}
}

func TestConcurrentUploads(t *testing.T) {
	s := start(t, nil)
	const clients = 50
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			body, contentType := form(func(w *multipart.Writer) {
				addFile(w, "same.md", "# Same")
				addFile(w, "own.md", fmt.Sprintf("# Own %d", i))
			})
			r, _ := http.NewRequest("POST", s.url+"/core/ingest", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer alice")
			r.Header.Set("Content-Type", contentType)
			resp, err := s.client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
				t.Errorf("client %d: %d %v", i, resp.StatusCode, err)
			}
		})
	}
	all.Wait()
	files, jobs := s.accepted()
	if staged, committed := s.stored(); jobs != clients || len(files) != 2*clients || staged != 0 || committed != clients+1 {
		t.Errorf("%d jobs, %d files, %d staged, %d committed", jobs, len(files), staged, committed)
	}
}

// lines is a reader of endless text lines.
type lines struct{}

func (lines) Read(p []byte) (int, error) {
	const line = "The quick brown fox jumps over the lazy dog.\n"
	n := 0
	for n < len(p) {
		n += copy(p[n:], line)
	}
	return n, nil
}

// measuringReader records the largest size of the heap while it is read.
type measuringReader struct {
	r     io.Reader
	every int
	since int
	peak  *uint64
}

func (m *measuringReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.since += n; m.since >= m.every {
		m.since = 0
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		*m.peak = max(*m.peak, now.HeapInuse)
	}
	return n, err
}
