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

// Hurry sets all timeouts.
func (s *server) Hurry(to time.Duration) {
	s.limits.search, s.limits.ask, s.limits.send, s.limits.settle = to, to, to, to
}

// AwaitUnreachable returns once the breaker is open.
func (s *server) AwaitUnreachable() { <-s.breaker.state().Done() }

// AwaitReachable returns once the server is not probed any more.
func (s *server) AwaitReachable() {
	s.breaker.mu.Lock()
	probing := s.breaker.probing
	s.breaker.mu.Unlock()
	if probing != nil {
		<-probing
	}
}

// SetTask sets how many bytes Fill sends at once.
func (s *server) SetTask(bytes int) { s.limits.task = bytes }
