// Package searchindex is the port to the search engines, which find passages. Engine
// is one index, Store keeps the indexes of a service, and Kind describes an engine
// to the programs that offer it. Engines are in packages below it, and
// searchindextest is the test suite that each of them passes.
//
// It also has functions that engines and queries share: Terms and QueryTerms split a
// text into terms, and Expand, Rerank and Spread work on the best hits and their
// texts. It may import events and projections/searchindex/bm25.
package searchindex

import (
	"cmp"
	"context"
	"errors"

	"annals/events"
)

// Passage is one piece of a section, as the index sees it.
type Passage struct {
	ID       string   // document, version, section, number
	Document string   // uuid as text
	Folders  []string // ids of its folder and of all folders above it
	Tags     []string
	Title    string // of the document
	Section  string // titles of the section's path, joined by " > "
	Text     string
}

// Batch is a change of the index, which is applied in one step with the new
// position: first the deletions, then the passages to put. Putting a passage
// replaces one with the same id. Deleting an unknown id is not an error.
type Batch struct {
	Put      []Passage
	Delete   []string // ids
	Position events.Position
}

// Query selects passages. An empty field does not restrict it, except Granted.
type Query struct {
	Text string
	// More are further terms, which raise the score of passages that Text finds.
	// Engines use those with the greatest weight and rareness in the passages that
	// the caller may read. Together they have three tenths of the total weight.
	More     []Term
	All      bool     // the caller may read everything: Granted is ignored
	Granted  []string // ids of folders granted to the caller; empty without All means no hits
	Folders  []string // search in or below one of these folders, by id; empty means everywhere
	Inside   bool     // all Folders are in or below Granted ones, so Granted does not restrict the result
	Document string   // uuid as text
	Tags     []string // all of them are wanted, unless AnyTag
	AnyTag   bool     // one of Tags is enough
	Limit    int      // 0 means 10; at most MaxLimit
	Offset   int      // at most MaxOffset
}

// Maximum Limit and Offset of a Query. Greater values are an error.
const (
	MaxLimit  = 1_000
	MaxOffset = 10_000
)

// Hit is a passage that was found. Scores are positive, and compare within the
// hits of one query only.
type Hit struct {
	ID    string
	Score float64
}

// CompareHits orders the better hit first, and equal ones by id.
func CompareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
}

// ErrDamaged is wrapped by errors that mean that an index is corrupt and has to be
// rebuilt.
var ErrDamaged = errors.New("it is corrupt")

// Engine keeps passages and finds them.
//
// What it finds depends only on its passages: two engines of one kind with the same
// passages, in any batches, return the same ids in the same order, with scores that
// differ by less than 1e-6.
//
// Filters act before ranking. The statistics behind a score, such as how rare a word
// is, are those of passages that the caller may read (All or Granted): neither
// scores nor order depend on others. Document and Tags do not change a score.
// Folders change it only if counting in all granted folders is too expensive for the
// engine.
//
// Methods may be called concurrently, except that there is one call of Apply at a
// time, and no call after Close.
type Engine interface {
	// Apply makes the change durable before it returns. Searches then see all of the
	// change. Before that, and after an error, they see nothing of it.
	Apply(ctx context.Context, b Batch) error
	// Position returns the position of the last batch, 0 for a new index.
	Position(ctx context.Context) (events.Position, error)
	// Count returns the number of passages.
	Count(ctx context.Context) (passages uint64, err error)
	// Each calls fn with the id of every passage, in no particular order. It stops at the
	// first error of fn and returns it.
	Each(ctx context.Context, fn func(id string) error) error
	// Search returns the best passages first; ties are broken by id.
	Search(ctx context.Context, q Query) ([]Hit, error)
	Close() error
}

// Filler is an Engine that is faster with a few large changes than with many batches.
type Filler interface {
	Engine
	// Fill is like Apply, but without a position. The change is durable once Settle
	// has returned nil, though searches may see it before. Like Apply, it is not
	// called concurrently.
	Fill(ctx context.Context, b Batch) error
	// Settle makes the changes since its last call durable and moves the position.
	// After an error of either method the changes have to be filled again, and the
	// position is unchanged.
	Settle(ctx context.Context, p events.Position) error
}

// Remote is an Engine on a server.
type Remote interface {
	Engine
	// Unreachable returns an error of kind fault.Unavailable while the server does
	// not respond. Searches then fail immediately with that error.
	Unreachable() error
}
