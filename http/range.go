package http

import (
	"io"
	"maps"
	"net/http"
	"time"
)

// rangeNotSatisfiable is the reason of a 416 in RFC 9110; net/http has an older
// one.
const rangeNotSatisfiable = "Range Not Satisfiable"

// serveRanges sends content, or the ranges of it that were asked for, under
// the headers that w has; where there is none of them in it, it returns the
// fault to send, under the headers given. A Range header that cannot be
// understood is gone over, as RFC 9110 14.2 has it.
func serveRanges(w http.ResponseWriter, r *http.Request, given http.Header, content io.ReadSeeker) error {
	headers := w.Header().Clone()
	out := &rangeResponse{ResponseWriter: w}
	http.ServeContent(out, r, "", time.Time{}, content)
	if !out.refused {
		return nil
	}
	// Only of ranges that it understood does net/http tell the whole length.
	length := w.Header().Get("Content-Range")
	clear(w.Header())
	if length == "" {
		maps.Copy(w.Header(), headers)
		whole := r.Clone(r.Context())
		whole.Header.Del("Range")
		http.ServeContent(w, whole, "", time.Time{}, content)
		return nil
	}
	maps.Copy(w.Header(), given)
	w.Header().Set("Content-Range", length)
	return &statusError{http.StatusRequestedRangeNotSatisfiable, rangeNotSatisfiable}
}

// rangeResponse keeps back the refusal that net/http writes as plain text.
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
