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

// maxBatch is the most calls that one request may come with. All of their
// results are held until the last is there.
const maxBatch = 50

// batch is the calls of one request, of which the oldest versions of the
// protocol allow several. They are answered one at a time, so that such a request
// costs no more at once than any other.
type batch struct{ sync.Mutex }

// errBatch stands for each reason to refuse a batch.
var errBatch = fault.Errorf(fault.TooLarge, "the batch is refused")

// bounded reads a request that is a batch and reports whether it may be
// answered; one that may not is answered with one error, before any of its
// calls is looked at.
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
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a request has up to %d bytes: send its calls by themselves", h.Limits.JSONBytes))
		return false
	case err != nil && err != io.EOF:
		return false // the client is gone, or sends nothing any more
	}
	if isBatch {
		switch n := entries(head, maxBatch+1); {
		case n > maxBatch:
			refuseWith(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a batch has up to %d calls, and none of these was carried out: send fewer at a time", maxBatch))
			return false
		case n == 0:
			refuseWith(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "a batch has at least one call")
			return false
		}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), body), body}
	return true
}

// maxBlanks is how many blanks may stand before a request's JSON.
const maxBlanks = 1024

// firstByte reads up to the first byte that is no blank, and reports whether it
// begins a batch.
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
	// What has so many blanks is judged as a batch would be.
	return read, true, nil
}

// entries counts the entries of a JSON array, up to most, without keeping them;
// of what is none, 1: the protocol's library words what is wrong with it.
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
