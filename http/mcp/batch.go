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

// maxBatch is the maximum number of calls in one request. All results are held in memory
// until the last is complete.
const maxBatch = 50

// batch is a lock that each call of a request holds: the oldest versions of the protocol
// allow several calls. They are handled one at a time to bound the cost of a request.
type batch struct{ sync.Mutex }

// errBatch is returned for every refused batch.
var errBatch = fault.Errorf(fault.TooLarge, "the batch has too many calls or bytes")

// bounded checks the size of a request that is a batch. If it is too large, it replies with
// one error before any call is handled, and returns false.
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

// maxBlanks is the maximum number of blanks before the JSON of a request.
const maxBlanks = 1024

// firstByte skips blanks and reports whether the next byte begins a batch.
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
	// Too many blanks: treat the request like a batch.
	return read, true, nil
}

// entries counts the entries of a JSON array, up to most, without keeping them. It
// returns 1 for anything else: the protocol's library reports what is wrong with it.
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
