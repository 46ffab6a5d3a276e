package terminal

import "io"

// Steps shows the progress of consecutive steps as bars. If Out is not a terminal, it
// shows nothing.
type Steps struct {
	Out io.Writer

	step     string
	progress *Progress // nil if no bar is shown
}

// Set shows the progress of a step. If the previous call had another step, a new bar
// replaces the old one.
func (s *Steps) Set(step string, done, total int64) {
	if total <= 0 || !Is(s.Out) {
		return
	}
	if s.progress == nil || s.step != step {
		s.End()
		s.step, s.progress = step, NewProgress(s.Out, "", true)
		s.progress.Begin(step, done, total)
	}
	s.progress.Set(done, total)
}

// End removes the bar. If Set is called later, it shows a new bar.
func (s *Steps) End() {
	if s.progress != nil {
		s.progress.End()
		s.progress = nil
	}
}
