package meilisearch

import "time"

// Hurry bounds all waiting.
func (s *Server) Hurry(to time.Duration) {
	s.limits.ask, s.limits.send, s.limits.settle = to, to, to
}

// SetTask sets how many bytes Fill sends at once.
func (s *Server) SetTask(bytes int) { s.limits.task = bytes }
