package meilisearch

import "time"

type (
	// Server is a Meilisearch server.
	Server = server
	// Index is an index on a server.
	Index = index
)

// Open opens the server at a URL.
var Open = open

// Index returns the index of a generation.
func (s *server) Index(generation string) *index { return s.index(generation) }

// SetTimeouts sets the timeouts of all requests.
func (s *server) SetTimeouts(to time.Duration) {
	s.limits.search, s.limits.request, s.limits.send, s.limits.settle = to, to, to, to
}

// AwaitUnreachable waits until the breaker is open.
func (s *server) AwaitUnreachable() { <-s.breaker.state().Done() }

// AwaitReachable waits until the server is no longer probed.
func (s *server) AwaitReachable() {
	s.breaker.mu.Lock()
	probing := s.breaker.probing
	s.breaker.mu.Unlock()
	if probing != nil {
		<-probing
	}
}

// SetTask sets the size in bytes of the tasks that Fill sends.
func (s *server) SetTask(bytes int) { s.limits.task = bytes }
