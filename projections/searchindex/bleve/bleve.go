// Package bleve is the embedded search engine: a scorch index in a folder.
//
// bleve stores the terms, makes batches durable and merges segments. This package ranks
// by BM25 over bleve's posting lists. It does not use bleve's own scorer, which takes the
// square root of a term's frequency and the square of its rareness, and computes averages
// over segments, including deleted passages. Here all statistics are of existing passages
// that the caller may read. So scores depend neither on the order in which passages were
// added, nor on passages that the caller may not read.
//
// The package may import events, projections/searchindex and
// projections/searchindex/bm25.
package bleve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"annals/events"
	"annals/events/disk"
	"annals/events/fault"
	"annals/projections/searchindex"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	index "github.com/blevesearch/bleve_index_api"
	bbolt "go.etcd.io/bbolt/errors"
)

// engine is a search index in a folder. Only one process may have it open.
type engine struct {
	dir     string
	index   bleve.Index
	columns columns
	scopes  scopeCache
	bases   baseCache
	seed    maphash.Seed // see ranking.steps
	close   func() error
}

var _ searchindex.Engine = (*engine)(nil)

// openWithin is how long to wait for another process to close the folder.
const openWithin = time.Second

// config bounds the memory that scorch uses: small segments are merged early, and
// merged segments do not grow without limit. FloorSegmentSize is about the number of passages of
// a batch during an import. With more, scorch keeps fewer small segments, so each batch
// would make it merge almost all of them again.
func config() map[string]any {
	return map[string]any{
		"bolt_timeout": openWithin.String(),
		"scorchMergePlanOptions": map[string]any{
			"MaxSegmentsPerTier": 4, "MaxSegmentSize": 1_000_000, "TierGrowth": 10.0, "SegmentsPerMergeTask": 6,
			"FloorSegmentSize": 500, "ReclaimDeletesWeight": 2.0, "MaxSegmentFileSize": 1 << 32,
		},
	}
}

// openIndex opens the index in a folder and creates it if there is none. If another
// process has the index open, the error is of kind fault.Unavailable. Errors of the
// operating system are wrapped. Any other error has the kind Internal: the folder may
// then be removed and the index rebuilt. If the index is large, openIndex verifies only
// some segments.
func openIndex(dir string) (*engine, error) {
	isNew, err := missing(dir)
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "open search index %s: %w", dir, err)
	}
	return open(dir, checkedAtStart, func() (bleve.Index, error) {
		if !isNew {
			return reopen(dir, config())
		}
		m := mapping.NewIndexMapping()
		m.ScoringModel = index.BM25Scoring
		return bleve.NewUsing(dir, m, scorch.Name, scorch.Name, config())
	})
}

// openReadOnly verifies the whole index in a folder and opens it for searches, without
// changing anything. While it is open, openIndex fails.
func openReadOnly(dir string) (*engine, error) {
	return open(dir, math.MaxInt, func() (bleve.Index, error) {
		c := config()
		c["read_only"] = true
		return reopen(dir, c)
	})
}

func reopen(dir string, config map[string]any) (bleve.Index, error) {
	store := filepath.Join(dir, "store")
	if err := openable(store); err != nil {
		return nil, err
	}
	if err := checkRoot(filepath.Join(store, "root.bolt")); err != nil {
		return nil, err
	}
	return bleve.OpenUsing(dir, config)
}

// open opens an index and verifies at most limit bytes of its segments.
func open(dir string, limit int, with func() (bleve.Index, error)) (x *engine, err error) {
	// A read past the end of a truncated file, which is mapped to memory, is a fault
	// that would crash the process.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			x, err = nil, damaged(dir, r)
		}
	}()
	opened, err := with()
	if errors.Is(err, bbolt.ErrTimeout) {
		return nil, fault.Errorf(fault.Unavailable, "another process has the search index %s open: stop it first", dir)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "open search index %s: %w", dir, err)
	}
	x = &engine{dir: dir, seed: maphash.MakeSeed(), index: opened, close: sync.OnceValue(opened.Close)}
	if err := x.check(limit); err != nil {
		x.Close()
		return nil, damaged(dir, err)
	}
	return x, nil
}

// missing reports whether there is no index in dir: no folder, or an empty one.
func missing(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return true, os.MkdirAll(filepath.Dir(dir), 0o700)
	}
	return len(entries) == 0, err
}

func damaged(dir string, cause any) error {
	return fault.Errorf(fault.Internal, "search index %s: %w: %v", dir, searchindex.ErrDamaged, cause)
}

// snapshot returns the current state of the index. It must be closed.
func (x *engine) snapshot() (*scorch.IndexSnapshot, error) {
	advanced, err := x.index.Advanced()
	if err != nil {
		return nil, fmt.Errorf("open a snapshot of search index %s: %w", x.dir, err)
	}
	reader, err := advanced.Reader()
	if err != nil {
		return nil, fmt.Errorf("read search index %s: %w", x.dir, err)
	}
	s, ok := reader.(*scorch.IndexSnapshot)
	if !ok || s == nil {
		return nil, fault.Errorf(fault.Internal, "search index %s is closed", x.dir)
	}
	return s, nil
}

var positionKey = []byte("position")

// Apply applies the batch and moves the position in one durable step.
func (x *engine) Apply(ctx context.Context, b searchindex.Batch) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // as in open
	defer func() {
		if r := recover(); r != nil {
			err = damaged(x.dir, r) // bleve panics if files are missing
		}
	}()
	batch := x.index.NewBatch()
	for _, id := range b.Delete {
		batch.Delete(id)
	}
	for _, p := range b.Put {
		if err := batch.IndexAdvanced(document(p)); err != nil {
			return fmt.Errorf("index passage %s: %w", p.ID, err)
		}
	}
	batch.SetInternal(positionKey, binary.BigEndian.AppendUint64(nil, uint64(b.Position)))
	err = disk.Restore(x.index.Batch(batch))
	if err == nil {
		return nil
	}
	if !errors.As(err, new(syscall.Errno)) && x.check(math.MaxInt) != nil { // errors of bleve do not tell whether the index is corrupt
		return damaged(x.dir, err)
	}
	return fmt.Errorf("apply %d passages to search index %s: %w", len(b.Put), x.dir, err)
}

// Position returns the position of the last batch, or 0 for a new index.
func (x *engine) Position(ctx context.Context) (events.Position, error) {
	s, err := x.snapshot()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	value, err := s.GetInternal(positionKey)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the position of search index %s: %w", x.dir, err)
	case len(value) == 0:
		return 0, nil
	case len(value) != 8:
		return 0, damaged(x.dir, "its position is not a number")
	}
	return events.Position(binary.BigEndian.Uint64(value)), nil
}

// Count returns the number of passages.
func (x *engine) Count(ctx context.Context) (uint64, error) {
	s, err := x.snapshot()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	return s.DocCount()
}

// Each calls fn with the id of every passage, in no particular order. It stops at the
// first error of fn and returns it.
func (x *engine) Each(ctx context.Context, fn func(id string) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = damaged(x.dir, r)
		}
	}()
	s, err := x.snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.DocIDReaderAll()
	if err != nil {
		return fmt.Errorf("list the passages of search index %s: %w", x.dir, err)
	}
	defer all.Close()
	for ctx.Err() == nil {
		number, err := all.Next()
		if err != nil || number == nil {
			return err
		}
		id, err := s.ExternalID(number)
		if err == nil {
			err = fn(id)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Close waits for writes and closes the index. Further calls do nothing.
func (x *engine) Close() error { return x.close() }
