package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"annals/events"
	"annals/events/fault"
)

// Names in the place of a backup.
const (
	manifestFile = "manifest.json"
	progressFile = "progress.json" // the manifest so far of a backup under way
	lockFile     = "backup.lock"
	logDir       = "log"
	originalsDir = "originals"
)

// format is the version of how a backup is laid out.
const format = 1

// Manifest says what a backup holds. It is written last, whole or not at all,
// when all that it names is durable and was read back.
type Manifest struct {
	Format  int             `json:"format"`
	Program string          `json:"program"` // version of the program that wrote it
	Time    time.Time       `json:"time"`
	Head    events.Position `json:"head"` // the log up to and including it
	Events  int64           `json:"events"`
	Digest  Digest          `json:"digest"` // of all events
	First   Mark            `json:"first"`
	Last    Mark            `json:"last"`

	Segments  []Segment `json:"segments"`
	Originals Count     `json:"originals"`
	Accounts  *File     `json:"accounts,omitempty"`

	// Lost are originals that the log names, and that the service itself no
	// longer had as they came.
	Lost []Named `json:"lost,omitempty"`
}

// Mark is an event by which a log is known again.
type Mark struct {
	Position events.Position `json:"position"`
	ID       uuid.UUID       `json:"id"`
}

// Segment is a file with events that follow those of the segment before.
type Segment struct {
	File
	Events  int64           `json:"events"`
	Through events.Position `json:"through"`
	Digest  Digest          `json:"digest"` // of all events up to its last
}

// File is a file of the backup, by its path in the place.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Count is how many files there are, and of how many bytes together.
type Count struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// readManifest reads a manifest; an error of kind fault.NotFound says that
// there is none.
func readManifest(ctx context.Context, p Place, name string) (*Manifest, error) {
	f, err := p.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	m := new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fault.Errorf(fault.Invalid, "the manifest of %s cannot be read: %w", p, err)
	}
	if m.Format != format {
		return nil, fault.Errorf(fault.Invalid, "the backup %s has format %d; this version of Annals reads format %d", p, m.Format, format)
	}
	return m, nil
}

// write replaces a file of the place, durably and in one step.
func (m *Manifest) write(ctx context.Context, p Place, name string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	err = p.Write(ctx, name, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// fits returns an error unless the log is the one that was backed up, as it has
// gone on since: at gives its event at a position, and the first and the last
// of the backup must be in their places.
func (m *Manifest) fits(at func(events.Position) (Mark, error)) error {
	if m.Events == 0 {
		return nil
	}
	for _, want := range []Mark{m.First, m.Last} {
		got, err := at(want.Position)
		if err != nil {
			return err
		}
		if got != want {
			return fault.Errorf(fault.Conflict, "it is the backup of another log, or of one that went another way: at position %d this log does not hold the event %s; name another place", want.Position, want.ID)
		}
	}
	return nil
}
