package projections

import (
	"context"
	"slices"

	"annals/events"

	"github.com/google/uuid"
)

// Lenient is a Projection to which the events of a stream can be applied late:
// after others that stand behind them in the log, and with the same tables in
// the end. That holds unless a barrier came in between: an event of the types
// that Barriers returns, in the stream of folders, or in another stream of the
// same id. Streams of other ids must have nothing to do with each other.
//
// To a Projection that is not Lenient nothing is applied late.
type Lenient interface {
	Projection
	Barriers() []string
}

// Barriers are the deletions of folders: a document that was to be moved in or
// out before is gone, or stays, by where it was. Every other change of a
// document is written down beside the folders, and judged by them on reading.
func (Vault) Barriers() []string { return []string{"FolderDeleted"} }

// Barriers are those of the vault, for the same reason.
func (Summaries) Barriers() []string { return []string{"FolderDeleted"} }

// Barriers are those of the vault, for the same reason.
func (Usage) Barriers() []string { return []string{"FolderDeleted"} }

// Barriers are the deletions of folders, and what a document's text and the
// document have to do with each other: sections count until the document names
// them, and naming one text drops the others.
func (*Passages) Barriers() []string {
	return []string{"FolderDeleted", "SectionExtracted", "DocumentImported", "DocumentRevised", "DocumentReread", "DocumentDeleted"}
}

// Barriers are none: every row is of one job.
func (Jobs) Barriers() []string { return nil }

// Barriers are none: every row is of one job.
func (Work) Barriers() []string { return nil }

// Barriers are none: a row tells of one event, and of earlier ones of the same
// stream.
func (Audit) Barriers() []string { return nil }

// lateness tells of which parked streams the events can be applied late.
type lateness struct {
	log      *events.Log
	barriers []string
	lenient  bool

	first  map[string]events.Position // of a stream's parked events
	byID   map[uuid.UUID][]string     // streams that are parked
	looked events.Position            // barriers up to here are known
	tree   events.Position            // of the last barrier among the folders
	barred map[string]bool            // by another stream of their ids
}

type parkedStream struct {
	stream string
	first  events.Position
}

// newLateness knows of no barriers yet.
func newLateness(log *events.Log, p Projection, parked []parkedStream) *lateness {
	l := &lateness{log: log, first: make(map[string]events.Position), byID: make(map[uuid.UUID][]string), barred: make(map[string]bool)}
	if lenient, ok := p.(Lenient); ok {
		l.barriers, l.lenient = lenient.Barriers(), true
	}
	for i, s := range parked {
		l.first[s.stream] = s.first
		id := events.StreamID(s.stream)
		l.byID[id] = append(l.byID[id], s.stream)
		if i == 0 || s.first < l.looked {
			l.looked = s.first
		}
	}
	return l
}

// look finds the barriers up to a position.
func (l *lateness) look(ctx context.Context, to events.Position) error {
	for len(l.barriers) > 0 && l.looked < to {
		batch, through, err := l.log.Read(ctx, l.looked, batchSize, l.barriers...)
		if err != nil || through == l.looked {
			return err
		}
		if i := slices.IndexFunc(batch, func(e events.Event) bool { return e.Position > to }); i >= 0 {
			batch = batch[:i]
		}
		for _, e := range batch {
			if slices.Contains(l.barriers, e.Type) { // or nobody knows the type: it was parked too
				l.note(e)
			}
		}
		l.looked = min(through, to)
	}
	return nil
}

func (l *lateness) note(e events.Event) {
	if e.Stream == events.Folders {
		l.tree = e.Position
		return
	}
	for _, stream := range l.byID[events.StreamID(e.Stream)] {
		if stream != e.Stream && l.first[stream] < e.Position {
			l.barred[stream] = true
		}
	}
}

// late reports whether the parked events of a stream can be applied now, as far
// as was looked.
func (l *lateness) late(stream string) bool {
	return l.lenient && l.tree < l.first[stream] && !l.barred[stream]
}
