package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestMetricsListen(t *testing.T) {
	server, err := startServer(t.TempDir(), nil, "--metrics-listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	}()
	_, at, _ := strings.Cut(server.welcome, "  metrics ")
	at, _, _ = strings.Cut(at, "\n")
	for path, want := range map[string]int{"": 200, "/more": 404, "/../vault/folders": 404} {
		resp, err := http.Get(at + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s%s = %d (%v), want %d", at, path, resp.StatusCode, err, want)
		}
		if path == "" && strings.Count(string(body), "\nannals_projection_position{") < 5 {
			t.Errorf("metrics %s", body)
		}
	}
}
