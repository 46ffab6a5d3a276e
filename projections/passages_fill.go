package projections

import (
	"context"

	"annals/events/failpoint"
	"annals/projections/searchindex"
)

// settleAfter is how many documents and passages to forget an engine may be
// given before it has to settle: what was not is given again after a crash.
const settleAfter = 20_000

// filled is what an engine that takes much at once was given and has not
// settled. All of it still waits in the tables.
type filled struct {
	engine    searchindex.Filler
	row       int64  // of unindexed: it was given those up to here
	passage   string // of forgotten: likewise
	forgotten []string
	documents []indexedDocument
}

// fills reports whether the engine takes much at once.
func (p *Passages) fills() bool {
	_, ok := p.Engine.(searchindex.Filler)
	return ok
}

func (f *filled) taken() (row int64, passage string) {
	if f == nil {
		return 0, ""
	}
	return f.row, f.passage
}

func (f *filled) take(waiting []waitingDocument, gone []string) {
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

// fill is apply without waiting for the engine, unless it was given very much or
// other passages are forgotten once it has this.
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

// settle waits for the engine and strikes off all that it was given.
func (f *flush) settle(ctx context.Context) error {
	given := f.filled
	if err := given.engine.Settle(ctx, f.batch.Position); err != nil {
		return err
	}
	f.filled = &filled{engine: given.engine}
	return f.strike(ctx, given.forgotten, given.documents)
}
