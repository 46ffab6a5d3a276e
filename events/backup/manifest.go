package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Names of files and folders of a backup.
const (
	manifestFile = "manifest.json"
	progressFile = "progress.json" // the manifest of a backup in progress
	lockFile     = "backup.lock"
	logDir       = "log"
	originalsDir = "originals"
)

// format is the version of the layout of backups.
const format = 1

// Manifest lists the contents of a backup. It is written last and atomically, after all
// listed files are durable and verified.
type Manifest struct {
	Format  int             `json:"format"`
	Program string          `json:"program"` // version of the program that wrote the manifest
	Time    time.Time       `json:"time"`
	Head    events.Position `json:"head"` // position of the last event
	Events  int64           `json:"events"`
	Digest  Digest          `json:"digest"` // digest of all events
	First   Mark            `json:"first"`
	Last    Mark            `json:"last"`

	Segments  []Segment `json:"segments"`
	Originals Count     `json:"originals"`
	Accounts  *File     `json:"accounts,omitempty"`

	// Lost lists originals that the log needs, but that were missing or corrupt in the
	// store of the service.
	Lost []Named `json:"lost,omitempty"`
}

// Mark is the position and id of an event. A manifest records marks to recognise the
// log.
type Mark struct {
	Position events.Position `json:"position"`
	ID       uuid.UUID       `json:"id"`
}

// Segment is a file of events. The events of a segment follow those of the previous
// segment.
type Segment struct {
	File
	Events  int64           `json:"events"`
	Through events.Position `json:"through"`
	Digest  Digest          `json:"digest"` // digest of all events up to the last event of this segment
}

// File is a file of the backup, by its path.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Count is a number of files and their total size in bytes.
type Count struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// readManifest reads a manifest. The error is fault.NotFound if it does not exist.
func readManifest(ctx context.Context, p Location, name string) (*Manifest, error) {
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
		return nil, fault.Errorf(fault.Invalid, "parse the manifest of %s: %w", p, err)
	}
	if m.Format != format {
		return nil, fault.Errorf(fault.Invalid, "the backup %s has format %d, and this version of Annals reads format %d: use a matching version", p, m.Format, format)
	}
	return m, nil
}

// write writes the manifest to a file of the backup, durably and atomically.
func (m *Manifest) write(ctx context.Context, p Location, name string) error {
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

// matches returns an error unless the log is the one that was backed up: it must have
// the first and the last event of the backup at their positions. at returns the event
// of the log at a position.
func (m *Manifest) matches(at func(events.Position) (Mark, error)) error {
	if m.Events == 0 {
		return nil
	}
	for _, want := range []Mark{m.First, m.Last} {
		got, err := at(want.Position)
		if err != nil {
			return err
		}
		if got != want {
			return fault.Errorf(fault.Conflict, "it is the backup of another log: at position %d this log does not have the event %s; back up to another folder or prefix", want.Position, want.ID)
		}
	}
	return nil
}
