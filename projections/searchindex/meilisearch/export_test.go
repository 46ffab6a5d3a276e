package meilisearch

import "time"

// Hurry bounds all waiting.
func (s *Server) Hurry(to time.Duration) {
	s.limits.search, s.limits.ask, s.limits.send, s.limits.settle = to, to, to, to
}

// AwaitAway returns once the server is known to be away; AwaitThere once it is
// not asked any more whether it is.
func (s *Server) AwaitAway() { <-s.door.state().Done() }

func (s *Server) AwaitThere() {
	s.door.mu.Lock()
	asking := s.door.asking
	s.door.mu.Unlock()
	if asking != nil {
		<-asking
	}
}

// SetTask sets how many bytes Fill sends at once.
func (s *Server) SetTask(bytes int) { s.limits.task = bytes }
