package http

import (
	"context"
	"io"

	"annals/commands"
	"annals/commands/quota"
	"annals/events"
	"annals/queries"

	"github.com/google/uuid"
)

// Queries answers every read: queries.Queries does.
type Queries interface {
	Ready(ctx context.Context) error
	Status(ctx context.Context) ([]queries.Model, error)
	WaitJob(ctx context.Context, after events.Position) error
	WaitVault(ctx context.Context, after events.Position) error

	Folders(ctx context.Context, user events.User, parent *uuid.UUID) ([]queries.Folder, error)
	Folder(ctx context.Context, user events.User, id uuid.UUID) (queries.Folder, error)
	FolderAt(ctx context.Context, user events.User, path string) (f queries.Folder, found bool, err error)
	FolderDetail(ctx context.Context, user events.User, id uuid.UUID) (queries.FolderDetail, error)
	Permissions(ctx context.Context, user events.User, folder uuid.UUID) (queries.Permissions, error)
	Invitations(ctx context.Context, user events.User) ([]queries.Invitation, error)
	BlockedInviters(ctx context.Context, user events.User) ([]queries.Blocked, error)
	Documents(ctx context.Context, user events.User, f queries.DocumentFilter) (docs []queries.Document, next string, err error)
	Document(ctx context.Context, user events.User, id uuid.UUID) (queries.Document, error)
	DocumentBatch(ctx context.Context, user events.User, ids []uuid.UUID) ([]queries.Document, error)
	Describe(ctx context.Context, user events.User, id uuid.UUID) (queries.Document, error)
	Markdown(ctx context.Context, user events.User, id uuid.UUID) (write func(io.Writer) error, err error)
	Versions(ctx context.Context, user events.User, document uuid.UUID) ([]queries.Version, error)
	DocumentVersion(ctx context.Context, user events.User, document uuid.UUID, version int, content bool) (queries.Document, error)
	VisibleTags(ctx context.Context, user events.User) ([]string, error)
	Audit(ctx context.Context, user events.User, f queries.AuditFilter) (entries []queries.AuditEntry, next string, err error)

	Usage(ctx context.Context, user events.Principal) (queries.Usage, error)

	Job(ctx context.Context, user events.User, id string) (queries.Job, error)
	FollowJob(ctx context.Context, user events.User, id string, each func(queries.JobUpdate) error) error

	SearchPage(ctx context.Context, user events.User, s queries.Search) (sources []queries.Source, next string, err error)
	Ask(ctx context.Context, user events.User, s queries.Search) (queries.Answer, error)
	FolderSummary(ctx context.Context, user events.User, path string) (queries.FolderSummary, error)
}

// Importer accepts files to import.
type Importer interface {
	CheckImport(ctx context.Context, user events.User, folders []string) error
	HoldImport(ctx context.Context, user events.User) (*quota.Hold, error)
	AdmitImport(ctx context.Context, user events.User, hold *quota.Hold, uploads []commands.Upload) error
	// StartKeyedImport makes one job of all requests of a user with the same key;
	// without a key each makes its own.
	StartKeyedImport(ctx context.Context, user events.User, correlation, key string, uploads []commands.Upload) (commands.Started, error)
}

// Commands carries out every write: *commands.Handler does. The positions are
// those that readers wait for to see what was done.
type Commands interface {
	Importer

	HoldRepeat(ctx context.Context, user events.User) (*quota.Hold, error)
	KeyedImport(ctx context.Context, user events.User, key string) (*commands.KeyedImport, error)

	CreateFolder(ctx context.Context, user events.User, correlation string, c commands.CreateFolder) (id uuid.UUID, at events.Position, err error)
	ChangeFolder(ctx context.Context, user events.User, correlation string, c commands.ChangeFolder) (events.Position, error)
	ShareFolder(ctx context.Context, user events.User, correlation string, c commands.ShareFolder) (events.Position, error)
	AcceptInvitation(ctx context.Context, user events.User, correlation string, c commands.AcceptInvitation) (events.Position, error)
	DeclineInvitation(ctx context.Context, user events.User, correlation string, c commands.DeclineInvitation) (events.Position, error)
	UnblockInviter(ctx context.Context, user events.User, correlation string, c commands.UnblockInviter) (events.Position, error)
	DeleteFolder(ctx context.Context, user events.User, correlation string, c commands.DeleteFolder) (events.Position, error)

	ChangeDocument(ctx context.Context, user events.User, correlation string, c commands.ChangeDocument) (events.Position, error)
	DeleteDocument(ctx context.Context, user events.User, correlation string, c commands.DeleteDocument) (events.Position, error)
	CheckRevision(ctx context.Context, user events.User, document uuid.UUID, version int) error
	HoldRevision(ctx context.Context, user events.User) (*quota.Hold, error)
	AdmitRevision(ctx context.Context, user events.User, hold *quota.Hold, c commands.ReviseDocument) error
	StartRevision(ctx context.Context, user events.User, correlation string, c commands.ReviseDocument) (commands.Started, error)
}
