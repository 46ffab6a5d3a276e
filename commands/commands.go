// Package commands is the write side: documents, import jobs, and the commands on
// the folders of commands/foldertree. Each command has a pure function decide that
// returns events for a state; commands/aggregate appends them. It imports commands/aggregate,
// commands/foldertree, commands/naming, commands/quota, events, events/failpoint,
// events/fault and events/lookalike.
package commands

import (
	"context"
	"log/slog"
	"sync"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/commands/quota"
	"annals/events"

	"github.com/google/uuid"
)

// Handler carries out commands on a log. Set its fields before the first
// call. It is safe for use by several goroutines; other handlers, in other
// processes too, may work on the same log if they share a Gate.
type Handler struct {
	Log        *events.Log
	Duplicates Duplicates       // if nil, duplicates in other folders are not found
	Names      Names            // if nil, documents may have names that look alike
	Contents   Contents         // if nil, folders can only be deleted recursively
	Quota      *quota.Ledger    // if nil, nothing is limited
	Changes    *quota.Changes   // if nil, changes are not limited
	Gate       Gate             // shared with other processes on the same log; nil if there are none
	Logger     *slog.Logger     // slog.Default() if nil
	Rules      foldertree.Rules // for sharing, and for folders at the top level

	once      sync.Once
	folders   *aggregate.Store[*foldertree.Tree]
	documents *aggregate.Store[*document]
	jobs      *aggregate.Store[*job]
	filing    *filing

	mu        sync.Mutex
	finishing map[uuid.UUID]*outcomes // by job
}

// Duplicates are the queries that commands make when they file an upload.
type Duplicates interface {
	// DuplicateOf returns a document with these bytes that the user may read,
	// preferring one in the folder.
	DuplicateOf(ctx context.Context, user events.User, folder uuid.UUID, sha256 string) (document uuid.UUID, found bool, err error)
}

// Names are the queries that commands make when documents get names.
type Names interface {
	// AlikeDocuments returns, for each name that a document is to get in a folder,
	// the name of another document in it that looks the same, or "". The document
	// except is ignored.
	AlikeDocuments(ctx context.Context, folders []uuid.UUID, names []string, except uuid.UUID) ([]string, error)

	// DocumentsNamed returns the documents of a name in a folder, the newest first. It
	// waits until the read side has seen the position after.
	DocumentsNamed(ctx context.Context, folder uuid.UUID, name string, after events.Position) ([]uuid.UUID, error)

	// NamesTaken reports for each name whether a document in the folder has it.
	NamesTaken(ctx context.Context, folders []uuid.UUID, names []string) ([]bool, error)
}

// Contents are the queries that commands make when they delete a folder.
type Contents interface {
	// HoldsDocuments reports whether documents are directly in a folder. It waits
	// until the read side has seen the position after.
	HoldsDocuments(ctx context.Context, folder uuid.UUID, after events.Position) (bool, error)
}

// Bounds of the aggregates that are kept in memory between commands.
const (
	keptDocuments = 4096
	keptFiles     = 200_000 // of all jobs; 300 bytes each
)

func (h *Handler) init() {
	h.once.Do(func() {
		if h.Logger == nil {
			h.Logger = slog.Default()
		}
		h.folders = &aggregate.Store[*foldertree.Tree]{Log: h.Log, Logger: h.Logger, Charge: h.charge, New: func() *foldertree.Tree { return foldertree.New(h.Rules) }, Limit: 1}
		h.documents = &aggregate.Store[*document]{Log: h.Log, Logger: h.Logger, Charge: h.charge, New: func() *document { return &document{} }, Limit: keptDocuments}
		h.jobs = &aggregate.Store[*job]{Log: h.Log, Logger: h.Logger, Charge: h.charge, New: func() *job { return &job{} }, Limit: keptFiles, Weigh: (*job).weight}
		h.filing = newFiling(h.Gate)
		h.finishing = make(map[uuid.UUID]*outcomes)
	})
}
