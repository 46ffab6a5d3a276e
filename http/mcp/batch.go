package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"annals/events/fault"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxBatch is the maximum number of calls in a batch. Their results are kept in memory until
// the last one is complete.
const maxBatch = 50

// batch is the lock of an HTTP request with several JSON-RPC calls, which the oldest versions
// of the protocol allow. Each call holds it while it runs, so that the calls of a request
// run one at a time and its cost is bounded.
type batch struct{ sync.Mutex }

// errBatch is the error for a batch that is too large.
var errBatch = fault.Errorf(fault.TooLarge, "the batch has too many calls or bytes")

// bounded checks the size of a request if it is a batch. If the batch is too large, bounded
// replies with one error for all of its calls and returns false.
func (h *Handler) bounded(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost || r.Body == nil {
		return true
	}
	body := r.Body
	head, isBatch, err := firstByte(body)
	if isBatch && err == nil {
		var rest []byte
		rest, err = io.ReadAll(http.MaxBytesReader(w, body, h.Limits.JSONBytes))
		head = append(head, rest...)
	}
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a request may have at most %d bytes: send its calls one by one", h.Limits.JSONBytes))
		return false
	case err != nil && err != io.EOF:
		return false // the client disconnected or stalled
	}
	if isBatch {
		switch n := entries(head, maxBatch+1); {
		case n > maxBatch:
			refuseWith(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a batch may have at most %d calls, and none of these was handled: send fewer at a time", maxBatch))
			return false
		case n == 0:
			refuseWith(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "a batch must have at least one call")
			return false
		}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), body), body}
	return true
}

// maxBlanks is the maximum number of whitespace characters before the JSON of a request.
const maxBlanks = 1024

// firstByte reads up to the first byte that is not whitespace. It returns what it has read,
// and reports whether that byte begins a batch.
func firstByte(r io.Reader) (read []byte, isBatch bool, err error) {
	one := make([]byte, 1)
	for len(read) < maxBlanks {
		n, err := r.Read(one)
		if n > 0 {
			read = append(read, one[0])
			if !bytes.ContainsRune([]byte(" \t\r\n"), rune(one[0])) {
				return read, one[0] == '[', nil
			}
		}
		if err != nil {
			return read, false, err
		}
	}
	// After this much whitespace, check the request as if it were a batch.
	return read, true, nil
}

// entries returns the number of elements of a JSON array, or most if there are more. It
// returns 1 if the text is not an array; the MCP library reports the error.
func entries(text []byte, most int) int {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return 1
	}
	n := 0
	for ; n < most && d.More(); n++ {
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return max(n, 1)
		}
	}
	return n
}
