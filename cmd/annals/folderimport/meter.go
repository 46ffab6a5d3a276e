package folderimport

import (
	"io"
	"sync"

	"annals/cmd/annals/terminal"
)

// meter counts the files of an import that have ended, and shows their progress.
type meter struct {
	*terminal.Progress
	total int

	mu      sync.Mutex
	done    int
	visible bool
}

func newMeter(out io.Writer, total int, quiet bool) *meter {
	m := &meter{Progress: terminal.NewProgress(out, "files", terminal.Is(out)), total: total}
	if !quiet {
		m.begin()
	}
	return m
}

// begin starts to show the progress.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.visible = true
	m.Begin("importing", int64(m.done), int64(m.total))
}

// limit sets the number of files.
func (m *meter) limit(files int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total = files
	if m.visible {
		m.Set(int64(m.done), int64(m.total))
	}
}

// add adds to the number of files that have ended. It is called with a negative number
// before files are uploaded again.
func (m *meter) add(files int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += files
	if m.visible {
		m.Set(int64(m.done), int64(m.total))
	}
}
