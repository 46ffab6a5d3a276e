package passages

import (
	"context"

	"annals/events"
	"annals/events/failpoint"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
)

// Limits of a batch of Advance. The larger the batches are, the less has to be merged, and
// the more memory their terms take.
const (
	advancePassages = 4000
	advanceBytes    = 8 << 20
)

// inWork is a batch that the engine applies while the tables receive further events. The
// tables still list its changes as waiting, so they survive a crash.
type inWork struct {
	batch     searchindex.Batch
	documents []indexedDocument
	row       int64      // documents up to this row of the table unindexed need not be read again
	applied   chan error // receives the result of the engine
}

// Advance gives the changes of the tables to the engine, and returns while the engine
// still applies the last of them: meanwhile the tables can receive further events. The
// next call that needs the index, such as Flush, waits for the engine.
func (p *Projection) Advance(ctx context.Context, tables readmodel.Tables, through events.Position) error {
	if p.Fills() {
		return p.Flush(ctx, tables, through)
	}
	f, err := p.newFlush(ctx, tables)
	if err != nil {
		return err
	}
	f.ahead = true
	if p.working != nil {
		f.row = p.working.row
	}
	for more := true; more; {
		if more, err = f.page(ctx); err != nil {
			return err
		}
	}
	if f.empty() {
		return nil
	}
	f.batch.Position = max(f.batch.Position, through)
	return f.apply(ctx)
}

// begin makes the engine apply the batch after the one that it works on.
func (f *flush) begin(ctx context.Context) error {
	if err := f.wait(ctx, f.tables); err != nil {
		return err
	}
	w := &inWork{batch: f.batch, documents: f.documents, row: f.row, applied: make(chan error, 1)}
	f.working = w
	failpoint.Here(failpoint.IndexBehind)
	go func() { w.applied <- f.Engine.Apply(ctx, w.batch) }()
	f.batch, f.documents, f.bytes = searchindex.Batch{Position: w.batch.Position}, nil, 0
	return nil
}

// wait waits until the engine has applied the batch that it works on, and marks its
// changes as done. After an error they are still waiting.
func (p *Projection) wait(ctx context.Context, tables readmodel.Tables) error {
	w := p.working
	if w == nil {
		return nil
	}
	p.working = nil
	if err := <-w.applied; err != nil {
		return err
	}
	return record(ctx, tables, w.batch.Position, w.batch.Delete, w.documents)
}
