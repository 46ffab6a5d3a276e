//go:build !race

package http_test

import (
	"io"
	"mime/multipart"
	"net/http"
	"runtime"
	"testing"
)

// The heap that is needed during an upload does not grow with the size of the file.
func TestLargeUploadUsesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 300 MB")
	}
	const size = 300 << 20
	s := start(t, nil)
	var peak uint64
	measured := &measuringReader{r: io.LimitReader(lines{}, size), every: 16 << 20, peak: &peak}
	body, out := io.Pipe()
	w := multipart.NewWriter(out)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		p, _ := w.CreateFormFile("files", "large.txt")
		io.Copy(p, measured)
		w.Close()
		out.Close()
	}()
	r, _ := http.NewRequest("POST", s.url+"/core/ingest", body)
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", w.FormDataContentType())
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	resp, reply := s.send(r)
	<-sent
	files, _ := s.accepted()
	if resp.StatusCode != 200 || len(files) != 1 || files[0].Size != size {
		t.Fatalf("%d %s", resp.StatusCode, reply)
	}
	if used := int64(peak) - int64(before.HeapInuse); used > 32<<20 {
		t.Errorf("the upload took %d MiB of heap", used>>20)
	} else {
		t.Logf("the upload took %d KiB of heap", used>>10)
	}
}
