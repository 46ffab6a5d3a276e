// Package searchindex is the port to the engines that find passages: what
// they are given, what they are asked, and what they promise. Engines live in
// folders below it, and searchindextest holds the one suite that each of them
// passes. It also holds what engines and those who ask them share: how a text
// becomes terms (Terms, QueryTerms), and what is done with the best hits once
// their texts are at hand (Expand, Rerank, Spread). It may import events.
package searchindex

import (
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

// Batch is a change of the index. It is applied in one step, together with
// the position in the log that it brings the index to: first the deletions,
// then the passages to put. A passage whose id the index holds is replaced;
// an id that it does not hold is deleted without complaint.
type Batch struct {
	Put      []Passage
	Delete   []string // ids
	Position events.Position
}

// Query asks for passages. Fields that are empty do not limit, except
// Granted.
type Query struct {
	Text string
	// More are further terms, which raise a passage that Text finds, in
	// engines that can weigh terms. Those count that are strongest by their
	// weight and their rareness in what the caller may read, and together for
	// MoreShare of all that is looked for.
	More     []Term
	All      bool     // the caller may read everything: Granted is ignored
	Granted  []string // ids of folders granted to the caller; none and !All: no hits
	Folders  []string // ids of folders: in or below one of these; none: everywhere
	Inside   bool     // Folders are all in or below Granted ones: an engine need not filter by these too
	Document string   // uuid as text
	Tags     []string // all of them are wanted, unless AnyTag
	AnyTag   bool     // one of Tags is enough
	Limit    int      // 0 means 10; at most MaxLimit
	Offset   int      // at most MaxOffset
}

// Bounds of a query. A greater limit or offset is an error.
const (
	MaxLimit  = 1_000
	MaxOffset = 10_000
)

// MoreShare is how much the terms of Query.More weigh, of all terms.
const MoreShare = 0.3

// Hit is a passage that was found. Scores are positive and compare within
// the answer to one query only.
type Hit struct {
	ID    string
	Score float64
}

// ErrDamaged is in the tree of an error of an index that is not as it was
// written, and has to be built again.
var ErrDamaged = errors.New("it is damaged")

// Engine keeps passages and finds them.
//
// What it finds depends on the passages it holds alone: two engines of one
// kind that were brought to the same passages, in whatever batches, give the
// same ids in the same order, with scores that differ by less than 1e-6.
//
// Filters act before ranking. What a score is made of, such as how rare a word
// is, is counted among the passages that the caller may read (All or Granted), or
// some of them, and no others: neither scores nor order depend on what he may
// not. Document and Tags do not change a score; Folders do so only where an
// engine finds it too dear to count in all that is granted.
//
// All methods may be called at the same time, except that calls of Apply are
// made one after another and Close is the last.
type Engine interface {
	// Apply makes the change durable before it returns: searches see all of
	// it from then on, and none of it before or after an error.
	Apply(ctx context.Context, b Batch) error
	// Position returns the position of the last batch, 0 for a new index.
	Position(ctx context.Context) (events.Position, error)
	// Count returns the number of passages.
	Count(ctx context.Context) (passages uint64, err error)
	// Each calls fn with the id of every passage, in no order, until an error
	// of fn's, which it returns.
	Each(ctx context.Context, fn func(id string) error) error
	// Search returns the best passages first; ties are broken by id.
	Search(ctx context.Context, q Query) ([]Hit, error)
	Close() error
}

// Filler is an Engine that takes much at once faster than batch after batch.
type Filler interface {
	Engine
	// Fill is Apply without a position, of a change that counts once Settle has
	// returned nil: searches may see it before. It is called as Apply is.
	Fill(ctx context.Context, b Batch) error
	// Settle makes all durable that Fill was given since the last call, and moves
	// the position. After an error of either all of that is to be given again,
	// and the position is as it was.
	Settle(ctx context.Context, p events.Position) error
}

// Remote is an Engine on a server that may be away.
type Remote interface {
	Engine
	// Away returns an error of kind fault.Unavailable while the server is known
	// not to answer. A search is that error at once then.
	Away() error
}
