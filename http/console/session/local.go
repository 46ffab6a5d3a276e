package session

import (
	"bytes"
	"io"
	"net/http"
)

// browserKey is the context key of the request of the browser for which the issuer is called.
type browserKey struct{}

// inProcess sends requests to a handler in this process. The handler sees the address of the
// browser, so that its limits for each address hold.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	request := r.Clone(r.Context())
	request.RequestURI, request.Host = r.URL.RequestURI(), r.URL.Host
	if request.Body == nil {
		request.Body = http.NoBody
	}
	if browser, ok := r.Context().Value(browserKey{}).(*http.Request); ok {
		request.RemoteAddr = browser.RemoteAddr
		request.Header["X-Forwarded-For"] = browser.Header["X-Forwarded-For"]
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(w, request)
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorder keeps the response of a handler.
type recorder struct {
	header  http.Header
	status  int
	written bool
	body    bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if !w.written {
		w.status, w.written = status, true
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}
