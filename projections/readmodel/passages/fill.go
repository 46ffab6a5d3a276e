package passages

import (
	"context"

	"annals/events/failpoint"
	"annals/projections/searchindex"
)

// settleAfter is the maximum number of documents and deletions that an engine receives
// between two calls of Settle. After a crash, the engine receives the changes since the
// last Settle again.
const settleAfter = 20_000

// filled describes the changes since the last Settle of a searchindex.Filler. The tables
// still list these changes as waiting.
type filled struct {
	engine    searchindex.Filler
	row       int64  // the last row of the table unindexed that the engine received
	passage   string // the last row of the table forgotten that the engine received
	forgotten []string
	documents []indexedDocument
}

// Fills reports whether the engine is a searchindex.Filler.
func (p *Projection) Fills() bool {
	_, ok := p.Engine.(searchindex.Filler)
	return ok
}

// received returns the last rows of the tables unindexed and forgotten that the engine
// received.
func (f *filled) received() (row int64, passage string) {
	if f == nil {
		return 0, ""
	}
	return f.row, f.passage
}

// receive records rows that the engine has received.
func (f *filled) receive(waiting []waitingDocument, gone []string) {
	if f == nil {
		return
	}
	if n := len(waiting); n > 0 {
		f.row = waiting[n-1].row
	}
	if n := len(gone); n > 0 {
		f.passage = gone[n-1]
	}
}

func (f *filled) empty() bool { return f == nil || len(f.forgotten) == 0 && len(f.documents) == 0 }

// fill is like apply, but does not settle the engine after every batch. It settles after
// settleAfter changes, or if passages of earlier versions have to be deleted, because
// those must stay until the new passages are durable.
func (f *flush) fill(ctx context.Context) error {
	failpoint.Here(failpoint.IndexBehind)
	if err := f.filled.engine.Fill(ctx, f.batch); err != nil {
		return err
	}
	f.filled.forgotten = append(f.filled.forgotten, f.batch.Delete...)
	f.filled.documents = append(f.filled.documents, f.documents...)
	f.batch.Put, f.batch.Delete, f.documents, f.bytes = f.batch.Put[:0], nil, f.documents[:0], 0
	if f.replaces || len(f.filled.forgotten)+len(f.filled.documents) >= settleAfter {
		return f.settle(ctx)
	}
	return nil
}

// settle waits until the engine has made all changes durable, and marks them as done.
func (f *flush) settle(ctx context.Context) error {
	given := f.filled
	if err := given.engine.Settle(ctx, f.batch.Position); err != nil {
		return err
	}
	f.filled = &filled{engine: given.engine}
	return f.done(ctx, given.forgotten, given.documents)
}
