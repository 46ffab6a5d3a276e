// Package sse writes server-sent events. It imports no other package of this module.
package sse

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// Stream writes events, and flushes each of them immediately. After an error it writes
// nothing more. Its methods are safe for concurrent use.
type Stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	started bool
	err     error
}

// New returns a stream that writes to w. Until Start, Send or Comment is called, w can still be
// used for another reply.
func New(w http.ResponseWriter) *Stream { return &Stream{w: w} }

// Start sends the headers.
func (s *Stream) Start() { s.write("") }

// Started reports whether the headers were sent.
func (s *Stream) Started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// Err returns the first error.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Send writes an event as JSON. One line suffices because encoded JSON contains no line breaks.
func (s *Stream) Send(event any) error {
	b, err := json.Marshal(event)
	if err != nil {
		return err
	}
	return s.write("data: " + string(b) + "\n\n")
}

// Comment writes a comment line. Clients ignore it, but it keeps the connection alive.
func (s *Stream) Comment(text string) error { return s.write(": " + text + "\n\n") }

func (s *Stream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.started = true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // proxies must not buffer the stream
		h.Set("X-Content-Type-Options", "nosniff")
		s.w.WriteHeader(http.StatusOK)
	}
	if s.err == nil && text != "" {
		_, s.err = io.WriteString(s.w, text)
	}
	if s.err == nil {
		s.err = http.NewResponseController(s.w).Flush()
	}
	return s.err
}
