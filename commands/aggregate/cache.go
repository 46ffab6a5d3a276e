package aggregate

// The cache only saves reading streams again; correctness does not depend on it. If an
// aggregate is dropped while one command uses it, and another command folds its stream
// again, the log accepts the append of only one of these commands.

// get returns the aggregate of a stream. The aggregate is not locked, and may be out of
// date.
func (s *Store[S]) get(stream string) *folded[S] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = make(map[string]*folded[S])
	}
	if f, ok := s.entries[stream]; ok {
		s.order.MoveToFront(f.element)
		return f
	}
	f := &folded[S]{stream: stream, writing: make(lock, 1), use: make(lock, 1), state: s.New()}
	f.element = s.order.PushFront(f)
	s.entries[stream] = f
	return f
}

// weigh updates the weight of f after use, and drops the least recently used aggregates
// until the total is within the limit. It never drops the most recently used one.
func (s *Store[S]) weigh(f *folded[S]) {
	select {
	case f.use <- struct{}{}:
	default:
		return // another caller uses f, and will call weigh for it
	}
	weight := 1
	if s.Weigh != nil {
		weight = s.Weigh(f.state)
	}
	f.use.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.element == nil {
		return
	}
	s.total += weight - f.weight
	f.weight = weight
	for s.total > s.Limit && s.order.Len() > 1 {
		last := s.order.Remove(s.order.Back()).(*folded[S])
		delete(s.entries, last.stream)
		s.total -= last.weight
		last.element = nil
	}
}
