package conditional

import (
	"io"
	"maps"
	"net/http"
	"time"

	"annals/http/problem"
)

// ServeRanges sends content, or the requested ranges of it, with the headers in w. If none of
// the ranges lies within the content, it resets the headers to base and returns the error to
// send. A malformed Range header is ignored (RFC 9110 §14.2).
func ServeRanges(w http.ResponseWriter, r *http.Request, base http.Header, content io.ReadSeeker) error {
	headers := w.Header().Clone()
	out := &rangeResponse{ResponseWriter: w}
	http.ServeContent(out, r, "", time.Time{}, content)
	if !out.refused {
		return nil
	}
	// net/http sets Content-Range only if it understood the range.
	length := w.Header().Get("Content-Range")
	clear(w.Header())
	if length == "" {
		maps.Copy(w.Header(), headers)
		whole := r.Clone(r.Context())
		whole.Header.Del("Range")
		http.ServeContent(w, whole, "", time.Time{}, content)
		return nil
	}
	maps.Copy(w.Header(), base)
	w.Header().Set("Content-Range", length)
	return &problem.Error{Status: http.StatusRequestedRangeNotSatisfiable, Text: problem.RangeNotSatisfiable}
}

// rangeResponse suppresses the 416 that net/http writes as plain text.
type rangeResponse struct {
	http.ResponseWriter
	refused bool
}

func (w *rangeResponse) WriteHeader(status int) {
	if w.refused = status == http.StatusRequestedRangeNotSatisfiable; !w.refused {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *rangeResponse) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets an http.ResponseController find the connection.
func (w *rangeResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }
