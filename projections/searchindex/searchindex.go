// Package searchindex is the interface to the search engines, which find passages. Engine
// is one index, Store has the indexes of a service, and Kind describes an engine to a
// program that lets users choose one. The engines are in packages below this one, and
// searchindextest is the test suite that each of them passes.
//
// The package also has functions that engines and queries share: Terms and QueryTerms
// split a text into terms. Expand, Rerank and Spread work on the best hits and their
// texts. It may import events and projections/searchindex/bm25.
package searchindex

import (
	"cmp"
	"context"
	"errors"

	"annals/events"
)

// Passage is one piece of a section, as it is indexed.
type Passage struct {
	ID       string   // document, version, section, number
	Document string   // uuid as text
	Folders  []string // ids of the document's folder and of all folders above it
	Tags     []string
	Title    string // title of the document
	Section  string // titles of the section's path, joined by " > "
	Text     string
}

// Batch is a change of the index. It is applied in one step together with the new
// position: first the deletions, then the passages to put. A put passage replaces a
// passage with the same id. Deleting an unknown id is not an error.
type Batch struct {
	Put      []Passage
	Delete   []string // ids
	Position events.Position
}

// Query selects passages. An empty field does not restrict the query, except Granted.
type Query struct {
	Text string
	// More are further terms, which raise the score of passages that Text finds. Engines
	// use the terms with the greatest product of weight and rareness in the passages that
	// the caller may read. Together they have half of the total weight.
	More []Term
	// Beginnings are found, too: a passage with a word that begins so. Meilisearch ignores
	// them: it would treat them as whole words when it chooses candidates.
	Beginnings []Beginning
	All        bool       // the caller may read everything: Granted is ignored
	Granted    []string   // ids of folders granted to the caller; without All and Granted there are no hits
	Folders    []string   // search in or below one of these folders, by id; empty means everywhere
	Inside     bool       // all Folders are in or below Granted ones, so Granted does not restrict the result
	Document   string     // uuid as text
	Tags       []string   // passages must have all of these tags, unless AnyTag is set
	AnyTag     bool       // one of Tags is enough
	Required   [][]string // of each of these lists, a passage has to contain a term, in its text or its heading
	Excluded   []string   // terms that a passage must not contain
	Limit      int        // 0 means 10; at most MaxLimit
	Offset     int        // at most MaxOffset
}

// Maximum Limit and Offset of a Query. Greater values are an error.
const (
	MaxLimit  = 1_000
	MaxOffset = 10_000
)

// Hit is a passage that was found. Scores are positive. They can be compared only within
// the hits of one query.
type Hit struct {
	ID    string
	Score float64
}

// CompareHits orders the hit with the higher score first, and hits with equal scores by
// id.
func CompareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
}

// ErrDamaged is wrapped by errors that mean that an index is corrupt and has to be
// rebuilt.
var ErrDamaged = errors.New("it is corrupt")

// Engine stores passages and finds them.
//
// The hits depend only on the stored passages. Two engines of one kind with the same
// passages, added in any batches, return the same ids in the same order, with scores that
// differ by less than 1e-6.
//
// Filters act before ranking. The statistics behind a score, such as how rare a word is,
// are those of the passages that the caller may read (All or Granted) in the requested
// folders (Folders). So neither scores nor their order depend on other passages. The other
// filters do not change a score.
//
// Methods may be called concurrently, with two exceptions: there is only one call of
// Apply at a time, and no call after Close.
type Engine interface {
	// Apply makes the batch durable before it returns. From then on searches see all of
	// its changes. Before that, and after an error, they see none of them.
	Apply(ctx context.Context, b Batch) error
	// Position returns the position of the last batch, or 0 for a new index.
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
	// Fill is like Apply, but does not set the position. The change is durable after
	// Settle has returned nil, but searches may see it earlier. Like Apply, Fill is not
	// called concurrently.
	Fill(ctx context.Context, b Batch) error
	// Settle makes the changes since its last call durable and sets the position. After
	// an error of Fill or Settle the position is unchanged, and the changes have to be
	// filled again.
	Settle(ctx context.Context, p events.Position) error
}

// Remote is an Engine on a server.
type Remote interface {
	Engine
	// Unreachable returns an error of kind fault.Unavailable while the server does
	// not respond. Searches then fail immediately with that error.
	Unreachable() error
}
