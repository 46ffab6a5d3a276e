// Package commands is the write side: it executes commands on documents, import jobs and
// the folder tree. Each command has a pure function decide that returns the events for a
// state; commands/aggregate appends them. It imports commands/aggregate,
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

// Handler executes commands on a log. Set its fields before the first call. It is safe
// for concurrent use. Handlers of other processes may append to the same log if all share
// a Gate.
type Handler struct {
	Log        *events.Log
	Duplicates Duplicates       // if nil, duplicates that were moved or renamed are not found
	Names      Names            // if nil, documents may have names that look alike
	Contents   Contents         // if nil, folders can only be deleted recursively
	Quota      *quota.Ledger    // if nil, there are no quotas
	Changes    *quota.Changes   // if nil, changes are not limited
	Gate       Gate             // shared by all processes that append to the log; nil if there is only one
	Logger     *slog.Logger     // slog.Default() if nil
	Rules      foldertree.Rules // restrict sharing and creating top-level folders

	once      sync.Once
	folders   *aggregate.Store[*foldertree.Tree]
	documents *aggregate.Store[*document]
	jobs      *aggregate.Store[*job]
	filing    *filing

	mu        sync.Mutex
	finishing map[uuid.UUID]*outcomes // by job
}

// Duplicates finds documents by their bytes.
type Duplicates interface {
	// DuplicateOf returns a document with these bytes that the user may read. It prefers a
	// document in the given folder.
	DuplicateOf(ctx context.Context, user events.User, folder uuid.UUID, sha256 string) (document uuid.UUID, found bool, err error)
}

// Names finds documents by their names.
type Names interface {
	// AlikeDocuments returns, for each i, the name of a document in folders[i] that differs
	// from names[i] but looks the same, or "". It ignores the document whose id is except.
	AlikeDocuments(ctx context.Context, folders []uuid.UUID, names []string, except uuid.UUID) ([]string, error)

	// DocumentsNamed returns the documents in a folder that have the given name, newest
	// first. It first waits until the read models have applied the log up to the position
	// after.
	DocumentsNamed(ctx context.Context, folder uuid.UUID, name string, after events.Position) ([]uuid.UUID, error)

	// NamesTaken reports, for each i, whether a document in folders[i] is named names[i].
	NamesTaken(ctx context.Context, folders []uuid.UUID, names []string) ([]bool, error)
}

// Contents reports which folders contain documents.
type Contents interface {
	// HoldsDocuments reports whether a folder directly contains documents. It first waits
	// until the read models have applied the log up to the position after.
	HoldsDocuments(ctx context.Context, folder uuid.UUID, after events.Position) (bool, error)
}

// Maximum numbers of documents and of accepted files that are cached between commands.
const (
	cachedDocuments = 4096
	cachedFiles     = 200_000 // in all cached jobs; 300 bytes per file
)

func (h *Handler) init() {
	h.once.Do(func() {
		if h.Logger == nil {
			h.Logger = slog.Default()
		}
		h.folders = &aggregate.Store[*foldertree.Tree]{Log: h.Log, Logger: h.Logger, Charge: h.charge, New: func() *foldertree.Tree { return foldertree.New(h.Rules) }, Limit: 1}
		h.documents = &aggregate.Store[*document]{Log: h.Log, Logger: h.Logger, Charge: h.charge, New: func() *document { return &document{} }, Limit: cachedDocuments}
		h.jobs = &aggregate.Store[*job]{Log: h.Log, Logger: h.Logger, Charge: h.charge, New: func() *job { return &job{} }, Limit: cachedFiles, Weigh: (*job).weight}
		h.filing = newFiling(h.Gate)
		h.finishing = make(map[uuid.UUID]*outcomes)
	})
}

type viaKey struct{}

// Through returns a context whose commands are recorded in the log as sent through the
// given part of the program instead of the REST interface.
func Through(ctx context.Context, part string) context.Context {
	return context.WithValue(ctx, viaKey{}, part)
}

// via returns the Metadata.Via of a user's command: the part of the program that the command
// was sent through, and the user's token, if any. The part is usual, unless Through has set
// another.
func via(ctx context.Context, user events.User, usual string) string {
	if part, ok := ctx.Value(viaKey{}).(string); ok {
		usual = part
	}
	return user.Via(usual)
}

// causedBy returns the cause of a user's change in the vault.
func causedBy(ctx context.Context, user events.User, correlation string) events.Cause {
	return events.Cause{Actor: user.Principal, Via: via(ctx, user, "vault"), Correlation: correlation}
}
