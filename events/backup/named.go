package backup

import (
	"cmp"
	"context"
	"errors"

	"annals/events"

	"github.com/google/uuid"
)

// Named is an original, with a stream whose events name it.
type Named struct {
	Stream string `json:"stream"` // stream of a document or a job
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// names finds the originals that a log needs: those of all versions of existing
// documents, and those of unfinished jobs. It keeps all folders in memory, but no
// documents.
type names struct {
	log     *events.Log
	known   map[string]bool // event types
	folders map[uuid.UUID]folderState
	next    int64 // next revision of the stream of folders
	through events.Position
	cache   map[string]bool // by stream: whether the originals that the stream names are needed
	upTo    events.Position // position for which the cache is valid
	unread  int             // events that may name originals but cannot be decoded
}

// folderState is the parent of a folder, and the position at which it was deleted.
type folderState struct {
	parent  uuid.UUID
	deleted events.Position // 0 if it exists
}

func newNames(log *events.Log) *names {
	n := &names{log: log, known: make(map[string]bool), folders: make(map[uuid.UUID]folderState), cache: make(map[string]bool)}
	for _, k := range events.Kinds() {
		n.known[k.Type] = true
	}
	return n
}

// in calls each for the originals that the records name, except those that the log up to
// position upTo no longer needs.
func (n *names) in(ctx context.Context, records []events.Record, upTo events.Position, each func(Named) error) error {
	for _, r := range records {
		var err error
		switch r.Type {
		case "DocumentImported", "DocumentRevised", "DocumentReread":
			err = n.ofDocument(ctx, events.Decode(r), upTo, each)
		case "ImportRequested":
			err = n.ofJob(ctx, r.Stream, upTo, each)
		default:
			if !n.known[r.Type] {
				n.unread++
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *names) ofDocument(ctx context.Context, e events.Event, upTo events.Position, each func(Named) error) error {
	content, ok := events.ContentOf(e.Data)
	if !ok { // the payload could not be decoded
		n.unread++
		return nil
	}
	if needed, err := n.needs(ctx, e.Stream, upTo); err != nil || !needed {
		return err
	}
	return each(Named{e.Stream, content.SHA256, content.Size})
}

// ofJob calls each for the files of a job, unless the job is finished.
func (n *names) ofJob(ctx context.Context, stream string, upTo events.Position, each func(Named) error) error {
	if needed, err := n.needs(ctx, stream, upTo); err != nil || !needed {
		return err
	}
	err := n.log.ReadStream(ctx, stream, 0, func(e events.Event) error {
		if d, ok := e.Data.(events.FileAccepted); ok && d.SHA256 != "" {
			return each(Named{stream, d.SHA256, d.Size})
		}
		return nil
	})
	if errors.Is(err, events.ErrUnreadable) {
		n.unread++
		return nil
	}
	return err
}

// maxCache is the maximum number of streams in the cache of needs. Without the cache, a
// backup would read a document's whole stream again for each version.
const maxCache = 10_000

// needs reports whether the log up to a position needs the originals that the events of
// a stream name. The cache is valid for one position.
func (n *names) needs(ctx context.Context, stream string, upTo events.Position) (bool, error) {
	if n.upTo != upTo || len(n.cache) == maxCache {
		clear(n.cache)
		n.upTo = upTo
	}
	if needed, known := n.cache[stream]; known {
		return needed, nil
	}
	needed, err := n.compute(ctx, stream, upTo)
	if err == nil {
		n.cache[stream] = needed
	}
	return needed, err
}

var errBeyond = errors.New("the event is after the position")

// compute is needs without the cache. If an event of the stream cannot be decoded, it
// returns true.
func (n *names) compute(ctx context.Context, stream string, upTo events.Position) (needed bool, err error) {
	var folder uuid.UUID
	ended := false
	fold := func(e events.Event) error {
		if e.Position > upTo {
			return errBeyond
		}
		switch d := e.Data.(type) {
		case events.DocumentImported:
			folder = d.Folder
		case events.DocumentMoved:
			ended = ended || n.deleted(folder, e.Position) // the document was deleted with the folder before this move
			folder = d.Folder
		case events.DocumentDeleted, events.JobFinished:
			ended = true
		}
		return nil
	}
	if err = n.readFolders(ctx, upTo); err == nil {
		err = n.log.ReadStream(ctx, stream, 0, fold)
	}
	switch {
	case errors.Is(err, events.ErrUnreadable):
		return true, nil
	case err != nil && !errors.Is(err, errBeyond):
		return false, err
	}
	return !ended && !n.deleted(folder, upTo), nil
}

// deleted reports whether a folder, or a folder above it, was deleted at position upTo
// or earlier.
func (n *names) deleted(folder uuid.UUID, upTo events.Position) bool {
	for range n.folders { // bounds the loop if folders form a cycle
		f, known := n.folders[folder]
		switch {
		case !known:
			return false
		case f.deleted > 0 && f.deleted <= upTo:
			return true
		}
		folder = f.parent
	}
	return false
}

// readFolders reads the stream of folders at least up to position upTo.
func (n *names) readFolders(ctx context.Context, upTo events.Position) error {
	if n.through >= upTo {
		return nil
	}
	err := n.log.ReadStream(ctx, events.Folders, n.next, func(e events.Event) error {
		switch d := e.Data.(type) {
		case events.FolderCreated:
			n.folders[d.Folder] = folderState{parent: d.Parent}
		case events.FolderMoved:
			n.folders[d.Folder] = folderState{d.Parent, n.folders[d.Folder].deleted}
		case events.FolderDeleted:
			f := n.folders[d.Folder]
			f.deleted = cmp.Or(f.deleted, e.Position)
			n.folders[d.Folder] = f
		}
		n.next = e.Revision + 1
		return nil
	})
	if err == nil {
		n.through = upTo
	}
	return err
}
