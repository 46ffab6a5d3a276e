package s3

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func init() {
	firstPause = time.Millisecond
	partBytes = 5 << 20 // the minimum part size in S3
}

func TestStalledConnectionFails(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half of it")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: newTransport(100 * time.Millisecond)}
	reply, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	got, err := io.ReadAll(reply.Body)
	if string(got) != "half of it" || !errors.Is(err, os.ErrDeadlineExceeded) || !isTransient(err) {
		t.Errorf("ReadAll: got %q, %v, want %q and a transient error", got, err, "half of it")
	}
}

func TestSlowUploadIsNotStalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		c := &movingConn{near, time.Minute}
		defer c.Close()
		read := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 1))
			read <- err
		}()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		for range 5 {
			time.Sleep(50 * time.Second)
			if _, err := c.Write([]byte("more")); err != nil {
				t.Fatalf("Write: %v", err)
			}
		}
		select {
		case err := <-read:
			t.Errorf("Read during writes: got error %v, want that it waits", err)
		default:
		}
		if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read of a stalled connection: got error %v, want os.ErrDeadlineExceeded", err)
		}
	})
}

func TestPartSizeBoundsParts(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{partBytes + 1, maxParts * partBytes, maxParts*partBytes + 1, 5 << 40} {
		step := partSize(size)
		if n := (size + step - 1) / step; n > maxParts || step < partBytes || step > 5<<30 {
			t.Errorf("partSize(%d): got %d parts of %d bytes", size, n, step)
		}
	}
}
