package form

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"annals/http/problem"
)

// ReadBody reads a body of at most limit bytes into memory.
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, &problem.Error{Status: http.StatusRequestEntityTooLarge, Text: "the body is longer than " + strconv.FormatInt(limit, 10) + " bytes"}
	case err != nil:
		return nil, &problem.Error{Status: http.StatusBadRequest, Text: "There was an error parsing the body"}
	}
	return text, nil
}

// IsJSON reports whether a Content-Type is application/json or ends with +json.
func IsJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	kind, sub, _ := strings.Cut(media, "/")
	return err == nil && kind == "application" && (sub == "json" || strings.HasSuffix(sub, "+json"))
}
