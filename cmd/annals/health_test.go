package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a server says of scanned pages is printed, because the command may find another Tesseract.
func TestHealthAsksTheServerForRecognition(t *testing.T) {
	reply, status := "", http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, reply)
	}))
	c := healthConfig{listen: strings.TrimPrefix(server.URL, "http://")}
	prints := func(want string) {
		t.Helper()
		var out strings.Builder
		c.recognition(t.Context(), &out)
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("reply %s: printed %q, want %q", reply, out.String(), want)
		}
	}
	reply = `{"status":"ready","scans_unread":""}`
	prints("the running server reads scanned pages\n")
	reply = `{"status":"ready"}` // of an older version
	prints("what listens at " + c.listen + " does not say whether it reads scanned pages: it responds 200 OK to /readyz, ")
	reply, status = `{"detail":"not found"}`, http.StatusNotFound
	prints("what listens at " + c.listen + " does not say whether it reads scanned pages: it responds 404 Not Found to /readyz, ")
	reply, status = `{"detail":"stopping","scans_unread":"install Tesseract"}`, http.StatusServiceUnavailable
	prints("the running server does not read scanned pages: install Tesseract\n")
	server.Close()
	prints("no server was asked whether it reads scanned pages, because none responds: ")
}
