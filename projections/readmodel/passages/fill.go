package passages

import (
	"context"

	"annals/events/failpoint"
	"annals/projections/searchindex"
)

// settleAfter bounds the documents and deletions that an engine receives before it has to
// settle. After a crash it receives them again.
const settleAfter = 20_000

// filled describes the changes that a searchindex.Filler has received and not
// settled. The tables still list them as not done.
type filled struct {
	engine    searchindex.Filler
	row       int64  // the last row of unindexed that it received
	passage   string // the last row of forgotten
	forgotten []string
	documents []indexedDocument
}

// Fills reports whether the engine is a searchindex.Filler.
func (p *Projection) Fills() bool {
	_, ok := p.Engine.(searchindex.Filler)
	return ok
}

// received returns the last rows of unindexed and forgotten that the engine received.
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

// fill is like apply, but it waits for the engine only after settleAfter changes, or if
// passages of earlier versions can be deleted after the engine has settled.
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

// settle waits for the engine and marks all that it received as done.
func (f *flush) settle(ctx context.Context) error {
	given := f.filled
	if err := given.engine.Settle(ctx, f.batch.Position); err != nil {
		return err
	}
	f.filled = &filled{engine: given.engine}
	return f.done(ctx, given.forgotten, given.documents)
}
