package meilisearch

import "time"

// Hurry sets all timeouts.
func (s *Server) Hurry(to time.Duration) {
	s.limits.search, s.limits.ask, s.limits.send, s.limits.settle = to, to, to, to
}

// AwaitUnreachable returns once the breaker is open.
func (s *Server) AwaitUnreachable() { <-s.breaker.state().Done() }

// AwaitReachable returns once the server is not probed any more.
func (s *Server) AwaitReachable() {
	s.breaker.mu.Lock()
	probing := s.breaker.probing
	s.breaker.mu.Unlock()
	if probing != nil {
		<-probing
	}
}

// SetTask sets how many bytes Fill sends at once.
func (s *Server) SetTask(bytes int) { s.limits.task = bytes }
